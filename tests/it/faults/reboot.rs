//! A node with all plugins that keep state, which loses some of it: with its kernel, as at a reboot, or while it runs.

use std::process::Command;

use cni_tests::bins::Plugin::Ours;
use cni_tests::netns::Netns;
use cni_tests::private_host::{Footprint, HostCommand, PrivateHost};
use serde_json::json;

const PLUGINS: [&str; 6] = ["cnitool", "bridge", "host-local", "tuning", "portmap", "firewall"];

/// The directories of state: what is written below `/run` by plugins, the cache of results, and the addresses.
const RUN: &str = "/run/cni";
const CACHE: &str = "/var/lib/cni/results";
const ADDRESSES: &str = "/var/lib/cni/networks";

/// What is kept.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Links, addresses, rules, namespaces, and the containers in them.
    kernel: bool,
    dirs: &'static [&'static str],
}

/// Rules of firewalls, and files that are not there for all.
const LOOK: &str = r"
iptables-save | grep -v '^#' | sed 's/\[[0-9:]*\]//'
ip6tables-save | grep -v '^#' | sed 's/\[[0-9:]*\]//'
nft list ruleset | sed 's/counter packets [0-9]* bytes [0-9]*/counter/'
find /var/lib/cni /run/cni -type f ! -name 'last_reserved_ip.*' ! -name '.*.idx' ! -name lock ! -path '*/.libcni-locks/*'
";

struct Node {
    host: PrivateHost,
    backend: &'static str,
    version: &'static str,
}

impl Node {
    fn start(backend: &'static str, version: &'static str) -> Option<Self> {
        let host = PrivateHost::start(&["iptables-restore", "nft"], &PLUGINS.map(Ours))?;
        host.add_network(&json!({"cniVersion": version, "name": "mynet", "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "macspoofchk": true,
                "ipMasq": true, "ipMasqBackend": backend,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24"}], [{"subnet": "fd00:244:1::/64"}]]},
            },
            {"type": "tuning", "mtu": 1400, "promisc": true},
            {"type": "portmap", "backend": backend, "capabilities": {"portMappings": true}},
            {"type": "firewall", "backend": backend},
        ]}));
        Some(Self { host, backend, version })
    }

    fn call(&self, command: &str, netns: &[&str]) -> HostCommand {
        let ports = json!({"portMappings": [
            {"hostPort": if netns == [PATHS[0]] { 8080 } else { 8081 }, "containerPort": 80},
        ]});
        let words = ["/opt/cni/bin/cnitool", command, "mynet"];
        self.host.command(words.iter().chain(netns)).env("CAP_ARGS", ports.to_string())
    }

    fn look(&self) -> String {
        self.host.run(["bash", "-c", LOOK]).stdout
    }

    /// The same node, without what is not kept.
    fn lose(self, kept: Kept) -> Self {
        if kept.kernel {
            for dir in [RUN, CACHE, ADDRESSES].iter().filter(|dir| !kept.dirs.contains(dir)) {
                self.host.run(["rm", "-r", dir]);
            }
            return self;
        }
        let new = Self::start(self.backend, self.version).unwrap();
        for dir in kept.dirs {
            new.host.run(["mkdir", "-p", dir]);
            let [from, to] = [&self, &new].map(|node| node.host.from_outside(dir));
            assert!(Command::new("cp").arg("-aT").args([from, to]).status().unwrap().success());
        }
        new
    }
}

const NAMES: [&str; 2] = ["c1", "c2"];
/// Where the namespaces of these are.
const PATHS: [&str; 2] = ["/run/netns/test-c1", "/run/netns/test-c2"];

/// What cleans up, the network's version, and who makes rules. Before 1.1.0 GC has nothing but the cache, if there is one.
type Turn = (&'static str, &'static str, &'static str);

const DEL_BY_IPTABLES: Turn = ("del", "1.0.0", "iptables");
const DEL_BY_NFTABLES: Turn = ("del", "1.0.0", "nftables");
const GC_BY_IPTABLES: Turn = ("gc", "1.1.0", "iptables");
const GC_BY_NFTABLES: Turn = ("gc", "1.1.0", "nftables");
const GC_BY_THE_CACHE: Turn = ("gc", "1.0.0", "iptables");

/// With the kernel rules are gone, whoever made them.
const REBOOT: [Turn; 2] = [DEL_BY_IPTABLES, GC_BY_NFTABLES];
const RUNNING: [Turn; 4] = [DEL_BY_IPTABLES, DEL_BY_NFTABLES, GC_BY_IPTABLES, GC_BY_NFTABLES];

/// A container loses what is not kept, and DEL or GC cleans up after it while a second one is there, that came after the loss and
/// may have been given the address of the first. Then the first comes again.
fn lose(kept: Kept, turns: &[Turn]) {
    // Nobody knows then whose rules are whose, except for those that name the container and its network.
    let may_keep_rules = kept.kernel && !kept.dirs.contains(&RUN) && !kept.dirs.contains(&CACHE);
    for (cleaner, version, backend) in turns.iter().copied() {
        let what = format!("{cleaner} in {version}, by {backend}, {kept:?}");
        let Some(node) = Node::start(backend, version) else { return };
        let mut one = Some(node.host.netns(NAMES[0]));
        node.call("add", &[PATHS[0]]).run();
        let node = node.lose(kept);
        // A namespace does not outlive its kernel.
        one = one.filter(|_| kept.kernel);
        let two = node.host.netns(NAMES[1]);
        node.call("add", &[PATHS[1]]).run();
        if cleaner == "gc" {
            one.take().into_iter().for_each(Netns::remove);
            node.call("gc", &[PATHS[1]]).run();
        } else {
            node.call("del", &[PATHS[0]]).run();
            one.into_iter().for_each(Netns::remove);
        }
        node.call("check", &[PATHS[1]]).run();
        let alone = node.look();

        let again = node.host.netns(NAMES[0]);
        for command in ["add", "check", "del"] {
            node.call(command, &[PATHS[0]]).run();
        }
        assert!(may_keep_rules || node.look() == alone, "{what}: {}, where was {alone}", node.look());
        for command in ["check", "del"] {
            node.call(command, &[PATHS[1]]).run();
        }
        [again, two].into_iter().for_each(Netns::remove);
        let mut footprint = node.host.footprint();
        if may_keep_rules {
            footprint.rules.clear();
        } else {
            let left = node.look();
            let is_ours = |line: &&str| ["10.244.1.", "fd00:244:1:"].iter().any(|start| line.contains(start));
            assert_eq!(left.lines().find(is_ours), None, "{what}: {left}");
        }
        assert_eq!(footprint, Footprint::default(), "{what}");
    }
}

#[test]
fn a_reboot() {
    let turns = [&REBOOT[..], &[GC_BY_THE_CACHE]].concat();
    lose(Kept { kernel: false, dirs: &[CACHE, ADDRESSES] }, &turns);
}

/// As the other way round: the disk was made anew, and `/run` is on another.
#[test]
fn a_reboot_that_keeps_what_is_in_run_alone() {
    lose(Kept { kernel: false, dirs: &[RUN] }, &REBOOT);
}

#[test]
fn a_reboot_that_keeps_everything_on_the_disk() {
    lose(Kept { kernel: false, dirs: &[RUN, CACHE, ADDRESSES] }, &REBOOT);
}

#[test]
fn a_reboot_that_keeps_nothing() {
    lose(Kept { kernel: false, dirs: &[] }, &REBOOT);
}

#[test]
fn while_it_runs_the_cache_is_lost() {
    lose(Kept { kernel: true, dirs: &[RUN, ADDRESSES] }, &RUNNING);
}

#[test]
fn while_it_runs_the_cache_and_the_addresses_are_lost() {
    lose(Kept { kernel: true, dirs: &[RUN] }, &RUNNING);
}

#[test]
fn while_it_runs_what_is_in_run_is_lost() {
    lose(Kept { kernel: true, dirs: &[CACHE, ADDRESSES] }, &RUNNING);
}

#[test]
fn while_it_runs_everything_but_addresses_is_lost() {
    lose(Kept { kernel: true, dirs: &[ADDRESSES] }, &RUNNING);
}
