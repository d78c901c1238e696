//! The texts of `--help` that are more than a line: what for, and examples.

pub(crate) const ABOUT: &str = "Run CNI network configurations: attach network namespaces to networks, check and \
                                detach them,\nand see what plugins do.";

pub(crate) const ROOT: &str = "\
Examples:
  A network namespace, attached to a network and detached again:
    ip netns add blue
    cnitool add pod-network /run/netns/blue
    cnitool check pod-network /run/netns/blue
    cnitool del pod-network /run/netns/blue
  What each plugin did, and where the time went:
    cnitool add pod-network /run/netns/blue --trace
  What is wrong with a configuration, before it is used:
    cnitool validate ./10-pod-network.conflist
  What a plugin does, and the keys of its configuration:
    cnitool describe bridge
  A plugin that is being written, far from those of the system:
    cnitool --conf-dir ./net.d --plugin-path ./target/debug --cache-dir /tmp/cni \\
        add my-network /run/netns/blue

Flags win over the environment, which wins over the defaults. The exit status is 0 if all went well, 1 if
something failed, and 2 if the command line or a variable cannot be used, so that nothing was run.";

pub(crate) const ADD: &str = "\
Examples:
  cnitool add pod-network /run/netns/blue
  cnitool add pod-network /run/netns/blue --ifname eth1
  cnitool add pod-network /run/netns/blue --args 'IgnoreUnknown=1;K8S_POD_NAME=web'
  cnitool add pod-network /run/netns/blue \\
      --cap-args '{\"portMappings\":[{\"hostPort\":8080,\"containerPort\":80,\"protocol\":\"tcp\"}]}'

The container ID is cnitool- and the start of the SHA-512 of the absolute path of NETNS, as in Go's cnitool.
If a plugin fails, what the plugins before it made stays for you to look at; 'cnitool del' removes it.
With --trace=json all that plugins are given is told, too. What is secret by its key's name, such as a token or a
password, is hidden, and so is what --redact says.";

pub(crate) const CHECK: &str = "\
Examples:
  cnitool check pod-network /run/netns/blue
  cnitool check pod-network /run/netns/blue --ifname eth1

Give the same NETNS, --ifname, --args and --cap-args as to 'add'. CHECK exists from version 0.4.0 on.";

pub(crate) const DEL: &str = "\
Examples:
  cnitool del pod-network /run/netns/blue
  cnitool del pod-network /run/netns/blue --ifname eth1

Give the same NETNS, --ifname, --args and --cap-args as to 'add'. The network namespace may be gone already,
and an attachment that is not there is no error.";

pub(crate) const GC: &str = "\
Examples:
  Everything that is left over, but for two network namespaces:
    cnitool gc pod-network /run/netns/blue /run/netns/green
  The same, but of 'green' only eth1 stays:
    cnitool gc pod-network /run/netns/blue /run/netns/green:eth1
  Everything goes:
    cnitool gc pod-network

Cached attachments that are not named get their DEL; then, from version 1.1.0 on, each plugin is told what is
valid. 'cnitool attachments' shows what there is. Only what cnitool attached can be named: on a node in use,
where a runtime shares the cache directory, its containers would lose their network.";

pub(crate) const STATUS: &str = "\
Examples:
  cnitool status pod-network && echo ready

STATUS exists from version 1.1.0 on; the plugins of older networks are not called, and count as ready.";

pub(crate) const LIST: &str = "\
Examples:
  cnitool list
  cnitool list --conf-dir ./net.d
  cnitool list --json | jq -r '.networks[].name'

Files whose names end in .conflist come first, then .conf and .json; within each group the names decide. Of
several files for one network the first counts.";

pub(crate) const ATTACHMENTS: &str = "\
Examples:
  cnitool attachments
  cnitool attachments pod-network
  cnitool attachments --json | jq -r '.[] | select(.netnsGone) | .containerID'

Those of other runtimes are shown, too, if they use the same cache directory.";

pub(crate) const PLUGIN_VERSIONS: &str = "\
Examples:
  What all plugins of a network can do, those for addresses included:
    cnitool version pod-network
  One plugin, by name or path:
    cnitool version bridge
    cnitool version ./target/debug/my-plugin
  A directory:
    cnitool version /opt/cni/bin

With a '/' in it the argument is a path; otherwise a network of the name is preferred to a plugin. The exit
status is 1 if one of the plugins is missing or does not answer.";

pub(crate) const DESCRIBE: &str = "\
Examples:
  cnitool describe bridge
  cnitool describe ./target/debug/my-plugin
  cnitool describe bridge --json | jq .description.configSchema

A plugin of this SDK tells what it does for each command, the capabilities and arguments that it takes, and
the keys of its configuration; everything comes from its code. Others, such as Go's, tell their versions alone.
A plugin is asked for its versions first, and only one that answers is run with --describe, which is outside of
the protocol. The exit status is 1 if it does not answer VERSION.";

pub(crate) const VALIDATE: &str = "\
Examples:
  cnitool validate
  cnitool validate ./10-pod-network.conflist ./20-storage.conf
  cnitool validate pod-network --cap-args '{\"portMappings\":[]}'
  cnitool validate --strict --json

With a '/' in it, or the ending of a configuration file, an argument is a path, otherwise a network's name.

It tells mistakes in the files with line and column, plugins that are missing, and versions that do not fit. Of
plugins that describe themselves it also tells keys that they do not know, values that they could not read,
capabilities that they do not take, and commands for which they do nothing. An error is what would surely fail;
a warning is what surely has no effect, or looks misspelt. Each plugin is asked for its versions and what it
is, and nothing else is run. The exit status is 1 for errors; with --strict also for warnings.";

pub(crate) const CONFORMANCE: &str = "\
Examples:
  Without root and without a network namespace, what can be told so:
    cnitool conformance ./target/debug/my-plugin --config ./my-plugin.json
  On the kernel, with a namespace for the host's side as well, so that this machine is left alone:
    ip netns add container
    unshare --net cnitool conformance bridge --config ./bridge.json --netns /run/netns/container
  For a machine, and for CI:
    cnitool conformance bridge --config ./bridge.json --json --junit report.xml

The configuration must be one with which ADD works. Its version does not count: every version that the plugin
claims is tested. With a prevResult the plugin is tested as a chained one, and finds the interfaces that stand
in it in the network namespace. A scripted IPAM plugin stands in for the one of the configuration; --real-ipam
takes that of the plugin path. Every ADD that succeeds is followed by a DEL.

The exit status is 1 if a check fails. The report tells of each what was sent and received, and where the
clause stands in the spec.";

pub(crate) const NEW: &str = "\
Examples:
  A plugin that makes the container's interface, one that runs after it, and one that gives out addresses:
    cnitool new hello
    cnitool new audit --kind chained
    cnitool new pool --kind ipam --path ./plugins/pool
  With a checkout of the SDK:
    cnitool new hello --sdk-path ~/src/cni-sdk

The crate builds as it is, and its tests pass without root, those against the spec included. Nothing is overwritten:
the directory must not be there.";

pub(crate) const INSTALL: &str = "\
Examples:
  On this machine:
    cnitool install ./target/release/hello --conf ./10-hello.conflist
  From a container that has the node's directories under /host:
    cnitool install /bin/hello --conf /etc/hello/10-hello.conflist \\
        --bin-dir /host/opt/cni/bin --conf-dir /host/etc/cni/net.d
  And away again:
    cnitool install --uninstall ./target/release/hello --conf ./10-hello.conflist

First everything is looked at: the configuration, whether each of its plugins is given or there, and whether those
given answer VERSION in its version. Then the plugins are copied, and the configuration last. Each file is written
beside its place, flushed, compared and renamed, so that it is whole or not there, whenever this ends. What is there
already is left alone; what was there under the name is replaced. Plugins get the mode 0755, the configuration 0600.

--uninstall removes the configuration first. A file that is not the given one stays, and the exit status is 1; a plugin
that another network uses stays, too. Containers that are attached still need their plugin for DEL.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  source <(cnitool completions bash)
  cnitool completions zsh >~/.zfunc/_cnitool
  cnitool completions fish >~/.config/fish/completions/cnitool.fish";

/// What `--version` prints: the program's version, and the spec's.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), "\nCNI spec 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0");

#[cfg(test)]
mod tests {
    use libcni::cni_types::CniVersion;

    #[test]
    fn the_version_tells_every_spec_version() {
        let spec = CniVersion::ALL.map(CniVersion::as_str).join(", ");
        assert_eq!(super::VERSION, format!("{}\nCNI spec {spec}", env!("CARGO_PKG_VERSION")));
    }
}
