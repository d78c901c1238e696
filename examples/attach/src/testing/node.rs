//! A namespace that plays a node, and calls of plugins inside it. Needs root.

use std::io::Write as _;
use std::marker::PhantomData;
use std::path::Path;
use std::process::{Command, Stdio};

use cni_skel::Plugin;
use cni_skel::testing::{Conformance, DelegateReply, Invocation, Outcome};
use plugin_support::firewall::SystemTools;
use plugin_support::testing::{TestNetns, skip};
use serde_json::{Value, json};

/// A node, for one plugin.
#[derive(Debug)]
pub struct Node<P> {
    /// Its namespace.
    pub netns: TestNetns,
    plugin: PhantomData<P>,
}

/// A plugin's binary, and where it finds its IPAM plugin.
#[derive(Clone, Copy, Debug)]
pub struct Binary<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Its `CNI_PATH`.
    pub cni_path: &'a str,
}

/// What a plugin's process answered.
#[derive(Debug)]
pub struct Answer {
    /// The document on stdout, `null` if there is none.
    pub stdout: Value,
    /// What it wrote to stderr.
    pub stderr: String,
    /// Whether it exited with 0.
    pub success: bool,
}

/// Whether these programs are here; says so if not.
pub fn has_tools(programs: &[&str]) -> bool {
    let missing = programs.iter().find_map(|program| SystemTools::default().find(program).err());
    missing.inspect(|error| skip(&error.to_string())).is_none()
}

impl<P: Plugin + Default> Node<P> {
    /// A node with nothing but `lo`; `None` after saying that the test is skipped.
    pub fn new() -> Option<Self> {
        let netns = TestNetns::new()?;
        netns.ip("link set lo up");
        Some(Self { netns, plugin: PhantomData })
    }

    /// Runs the plugin in this process, with an IPAM plugin `host-local` that always says the same.
    ///
    /// # Panics
    ///
    /// When the namespace cannot be entered.
    pub fn run(&self, call: Invocation, addresses: &Value) -> Outcome {
        let addresses = addresses.clone();
        let call = call.delegate("host-local", move |call| match call.command() {
            cni_skel::types::Command::Add => call.reply(&addresses),
            _ => DelegateReply::nothing(),
        });
        self.netns.run(|| call.run(&P::default())).unwrap_or_else(|error| panic!("{error}"))
    }

    /// ADD of `eth0`, which must succeed.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn add(&self, id: &str, netns: &TestNetns, config: &Value, addresses: &Value) -> Outcome {
        let outcome = self.run(Invocation::add(id, netns.path(), "eth0").config(config), addresses);
        outcome.assert_success();
        outcome
    }

    /// CHECK after an ADD.
    pub fn check(&self, id: &str, netns: &TestNetns, config: &Value, added: &Outcome) -> Outcome {
        let call = Invocation::check(id, netns.path(), "eth0").config(config).prev_result(added.json());
        self.run(call, &json!({}))
    }

    /// DEL, which must succeed.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn del(&self, id: &str, netns: &TestNetns, config: &Value) {
        let call = Invocation::del(id, "eth0").netns(netns.path()).config(config);
        self.run(call, &json!({})).assert_success();
    }

    /// Asserts that STATUS says of the kernel's driver what an ADD has found.
    ///
    /// # Panics
    ///
    /// When it says something else, or makes a link.
    pub fn assert_status_agrees(&self, config: &Value, is_made: bool) {
        let before = self.links();
        let outcome = self.run(Invocation::status().config(config), &json!({}));
        if is_made {
            outcome.assert_success();
        } else {
            let error = outcome.assert_error(50);
            assert!(error.msg.contains("the kernel lacks the driver, which \"modprobe "), "{error}");
            assert!(error.msg.ends_with("operation not supported"), "{error}");
        }
        assert_eq!(self.links(), before);
    }

    /// Runs a plugin's binary.
    ///
    /// # Panics
    ///
    /// When it cannot be run, or writes something else than a document.
    pub fn call(&self, binary: &Binary<'_>, command: &str, id: &str, netns: &Path, config: &Value) -> Answer {
        let mut process = Command::new(binary.path);
        process
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", id)
            .env("CNI_NETNS", netns)
            .env("CNI_IFNAME", "eth0")
            .env("CNI_PATH", binary.cni_path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let spawned = self.netns.run(|| process.spawn()).unwrap_or_else(|error| panic!("{error}"));
        let mut child = spawned.unwrap_or_else(|error| panic!("{:?}: {error}", binary.path));
        if let Some(mut stdin) = child.stdin.take() {
            // A plugin that does not read has something else to say.
            let _ = stdin.write_all(config.to_string().as_bytes());
        }
        let output = child.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
        let stdout = match output.stdout.as_slice() {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {output:?}")),
        };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Answer { stdout, stderr, success: output.status.success() }
    }

    /// The names of the node's links.
    ///
    /// # Panics
    ///
    /// When they cannot be listed.
    pub fn links(&self) -> Vec<String> {
        let links = self.netns.netlink().and_then(|netlink| netlink.links());
        links.unwrap_or_else(|error| panic!("{error}")).into_iter().map(|link| link.name).collect()
    }

    /// All rules of the firewall that a container has.
    ///
    /// # Panics
    ///
    /// When they cannot be listed.
    pub fn rules(&self) -> String {
        let save = |program: &str, args: &[&str]| self.netns.command(program, args);
        let text = [
            save("iptables-save", &["-t", "nat"]),
            save("ip6tables-save", &["-t", "nat"]),
            save("nft", &["list", "table", "inet", "cni_plugins_masquerade"]),
        ];
        let of_container =
            |line: &&str| line.contains("CNI-") || (line.contains("masquerade") && !line.contains("table"));
        text.join("\n").lines().filter(of_container).collect::<Vec<_>>().join("\n")
    }

    /// Asserts that the plugin does what the spec demands, with two containers.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn assert_conforms(&self, conformance: Conformance<'_>, first: &TestNetns, second: &TestNetns) {
        let kit = conformance.netns(first.path()).second_netns(second.path());
        let kit = kit.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        self.netns.run(|| kit.run()).unwrap_or_else(|error| panic!("{error}")).assert_passes();
    }
}

impl Answer {
    /// The result, if it is none of an error.
    ///
    /// # Panics
    ///
    /// When it is.
    #[track_caller]
    pub fn result(self) -> Value {
        assert!(self.success, "{self:?}");
        self.stdout
    }
}

/// Whether an address can be reached from a namespace, at last: on a busy machine, an answer takes its time.
///
/// # Panics
///
/// When there is no `ping`.
pub fn pings(netns: &TestNetns, address: &str) -> bool {
    answers(netns, &["-c", "1", "-w", "20", address])
}

/// Whether an address cannot be reached from a namespace: nothing answers within a second. Only where something could
/// without what is tested does that tell anything.
///
/// # Panics
///
/// When there is no `ping`.
pub fn is_cut_off(netns: &TestNetns, address: &str) -> bool {
    !answers(netns, &["-c", "1", "-W", "1", address])
}

fn answers(netns: &TestNetns, args: &[&str]) -> bool {
    let mut ping = Command::new("ping");
    ping.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    let status = netns.run(|| ping.status()).unwrap_or_else(|error| panic!("{error}"));
    status.unwrap_or_else(|error| panic!("{error}")).success()
}

/// Connects a node to another machine, as by a cable: the node's end is `up0` with 192.0.2.1 and 2001:db8::1, the other's
/// `eth0` with 192.0.2.2 and 2001:db8::2.
///
/// # Panics
///
/// When that is not possible.
pub fn wire(node: &TestNetns, other: &TestNetns) {
    let path = other.path().display().to_string();
    let pid = path.split('/').nth(2).unwrap_or_else(|| panic!("{path:?} is not below /proc"));
    node.ip(&format!("link add up0 type veth peer name eth0 netns {pid}"));
    for (netns, link, host) in [(node, "up0", 1), (other, "eth0", 2)] {
        netns.ip(&format!("link set {link} up"));
        netns.ip(&format!("addr add 192.0.2.{host}/24 dev {link}"));
        netns.ip(&format!("addr add 2001:db8::{host}/64 dev {link} nodad"));
    }
}
