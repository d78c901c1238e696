//! A node that loses its runtime and the plugins in the middle of an ADD or a DEL: the DEL that follows, which is all that
//! a runtime can do, leaves nothing, and the container can be added again.

use std::time::{Duration, Instant};

use cni_tests::bins::Plugin::Ours;
use cni_tests::netns::Netns;
use cni_tests::private_host::PrivateHost;
use serde_json::json;

/// At how many moments the calls are killed. Which moments these are is nowhere near exact, and need not be: what holds,
/// holds at any.
const MOMENTS: u32 = 8;

/// Kills what it runs after a time, and waits until all of it has ended: it may be in the kernel still. Those that
/// nobody has waited for are dead, too.
const KILL_AFTER: &str = r#"
timeout --signal=KILL "$0" "$@" >/dev/null 2>&1 &
group=$!
wait $group
while pgrep --pgroup $group --runstates D,I,R,S,T >/dev/null; do sleep 0.01; done
"#;

const CAPABILITIES: &str = r#"{"portMappings": [{"hostPort": 8080, "containerPort": 80}, {"hostPort": 53, "containerPort": 53, "protocol": "udp"}]}"#;

/// A node with everything that plugins keep state for.
struct Node(PrivateHost);

impl Node {
    fn start(backend: &str) -> Option<Self> {
        let plugins = ["cnitool", "bridge", "host-local", "tuning", "portmap"].map(Ours);
        let host = PrivateHost::start(&["timeout", "pgrep", "iptables-restore", "nft"], &plugins)?;
        host.add_network(&json!({"cniVersion": "1.1.0", "name": "mynet", "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "macspoofchk": true,
                "ipMasq": true, "ipMasqBackend": backend,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24"}], [{"subnet": "fd00:244:1::/64"}]]},
            },
            {"type": "tuning", "mtu": 1400, "promisc": true},
            {"type": "portmap", "backend": backend, "capabilities": {"portMappings": true}},
        ]}));
        Some(Self(host))
    }

    fn call(&self, command: &str, netns: &Netns) {
        let words = self.words(command, netns);
        self.0.command(&words).env("CAP_ARGS", CAPABILITIES).run();
    }

    fn kill_after(&self, time: Duration, command: &str, netns: &Netns) {
        let seconds = format!("{:.6}", time.as_secs_f64());
        let words = ["bash", "-c", KILL_AFTER, &seconds].map(str::to_owned);
        let words = words.into_iter().chain(self.words(command, netns));
        self.0.command(words).env("CAP_ARGS", CAPABILITIES).run();
    }

    fn words(&self, command: &str, netns: &Netns) -> [String; 4] {
        let path = netns.path();
        ["/opt/cni/bin/cnitool", command, "mynet", path.to_str().unwrap()].map(str::to_owned)
    }

    /// How long a call takes, about.
    fn time(&self, command: &str, netns: &Netns) -> Duration {
        let start = Instant::now();
        self.call(command, netns);
        start.elapsed()
    }
}

#[test]
fn of_add_by_iptables() {
    crash("iptables", "add");
}

#[test]
fn of_add_by_nftables() {
    crash("nftables", "add");
}

#[test]
fn of_del_by_iptables() {
    crash("iptables", "del");
}

#[test]
fn of_del_by_nftables() {
    crash("nftables", "del");
}

fn crash(backend: &str, command: &str) {
    let Some(node) = Node::start(backend) else { return };
    let netns = node.0.netns("c1");
    // The first makes what stays.
    node.call("add", &netns);
    node.call("del", &netns);
    let times = ["add", "del"].map(|command| node.time(command, &netns));
    let time = times[usize::from(command == "del")];
    for moment in 0..=MOMENTS {
        if command == "del" {
            node.call("add", &netns);
        }
        node.kill_after(time * moment / MOMENTS, command, &netns);
        node.call("del", &netns);
        node.0.assert_clean();
        node.call("add", &netns);
        node.call("check", &netns);
        node.call("del", &netns);
        node.0.assert_clean();
    }
    // What a call was writing when it was killed does not pile up.
    for dir in ["/var/lib/cni", "/run/cni"] {
        let files = node.0.run(["find", dir, "-type", "f"]).stdout;
        assert!(files.lines().count() < 8, "{files}");
    }
}
