//! A host with two bridges, three containers on them, and a machine outside.

use cni_skel::testing::{Invocation, Outcome};
use firewall::Firewall;
use plugin_attach::testing::{Node, has_tools, wire};
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

/// The backends, as configurations name them.
pub(crate) const BACKENDS: [&str; 2] = ["iptables", "nftables"];

/// The table of nftables.
pub(crate) const TABLE: &str = "cni_plugins_firewall";

/// The machine outside.
pub(crate) const OUTSIDE: [&str; 2] = ["192.0.2.2", "2001:db8::2"];

/// A container's addresses, and the bridge that it is on.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) bridge: &'static str,
    pub(crate) v4: &'static str,
    pub(crate) v6: &'static str,
}

pub(crate) const C1: Place = Place { bridge: "br0", v4: "10.2.0.2", v6: "fd00:2::2" };
pub(crate) const C2: Place = Place { bridge: "br0", v4: "10.2.0.3", v6: "fd00:2::3" };
pub(crate) const C3: Place = Place { bridge: "br1", v4: "10.3.0.2", v6: "fd00:3::2" };

pub(crate) struct Lab {
    pub(crate) backend: &'static str,
    pub(crate) node: Node<Firewall>,
    pub(crate) c1: TestNetns,
    pub(crate) c2: TestNetns,
    pub(crate) c3: TestNetns,
    pub(crate) outside: TestNetns,
    dir: tempfile::TempDir,
}

impl Lab {
    /// A host for each backend, unless root or a program is missing. Everything is forwarded that `policy` does not drop.
    pub(crate) fn each(policy: &str) -> impl Iterator<Item = Self> {
        BACKENDS.into_iter().filter_map(move |backend| Self::new(backend, policy))
    }

    /// One for a backend.
    pub(crate) fn new(backend: &'static str, policy: &str) -> Option<Self> {
        if !has_tools(&["iptables-restore", "ip6tables-restore", "nft", "ping"]) {
            return None;
        }
        let (node, outside) = (Node::new()?, TestNetns::new()?);
        let (c1, c2, c3) = (TestNetns::new()?, TestNetns::new()?, TestNetns::new()?);
        for netns in [&node.netns, &outside, &c1, &c2, &c3] {
            netns.sysctl().write("net.ipv6.conf.default.accept_dad", "0").unwrap();
        }
        for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
            node.netns.sysctl().write(key, "1").unwrap();
        }
        for (bridge, net) in [("br0", 2), ("br1", 3)] {
            node.netns.ip(&format!("link add {bridge} type bridge"));
            node.netns.ip(&format!("link set {bridge} up"));
            node.netns.ip(&format!("addr add 10.{net}.0.1/24 dev {bridge}"));
            node.netns.ip(&format!("addr add fd00:{net}::1/64 dev {bridge} nodad"));
        }
        for (netns, place, veth) in [(&c1, C1, "veth1"), (&c2, C2, "veth2"), (&c3, C3, "veth3")] {
            let path = netns.path().display().to_string();
            let pid = path.split('/').nth(2).unwrap();
            node.netns.ip(&format!("link add {veth} type veth peer name eth0 netns {pid}"));
            node.netns.ip(&format!("link set {veth} master {} up", place.bridge));
            netns.ip("link set eth0 up");
            netns.ip(&format!("addr add {}/24 dev eth0", place.v4));
            netns.ip(&format!("addr add {}/64 dev eth0 nodad", place.v6));
            let net = if place.bridge == "br0" { 2 } else { 3 };
            netns.ip(&format!("route add default via 10.{net}.0.1"));
            netns.ip(&format!("-6 route add default via fd00:{net}::1"));
        }
        wire(&node.netns, &outside);
        outside.ip("route add default via 192.0.2.1");
        outside.ip("-6 route add default via 2001:db8::1");
        match backend {
            "iptables" => {
                for program in ["iptables", "ip6tables"] {
                    node.netns.command(program, ["-P", "FORWARD", policy]);
                }
            }
            _ => {
                let hook =
                    format!("{{ type filter hook forward priority 0; policy {}; }}", policy.to_lowercase());
                node.netns.command("nft", ["add", "table", "inet", TABLE]);
                node.netns.command("nft", ["add", "chain", "inet", TABLE, "forward", &hook]);
            }
        }
        Some(Self { backend, node, c1, c2, c3, outside, dir: tempfile::tempdir().unwrap() })
    }

    /// A configuration of the plugin with these keys.
    pub(crate) fn config(&self, keys: &Value) -> Value {
        let mut config = json!({
            "cniVersion": "1.0.0", "name": "n1", "type": "firewall", "backend": self.backend,
            "dataDir": self.dir.path().join("records"),
        });
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    }

    /// The same with what an earlier plugin of the chain has said.
    pub(crate) fn chained(&self, keys: &Value, place: Place) -> Value {
        let mut config = self.config(keys);
        config["prevResult"] = result(place);
        config
    }

    pub(crate) fn run(&self, call: Invocation) -> Outcome {
        self.node.run(call, &Value::Null)
    }

    pub(crate) fn add(&self, id: &str, place: Place, keys: &Value) {
        self.run(Invocation::add(id, self.c1.path(), "eth0").config(self.chained(keys, place)))
            .assert_success();
    }

    pub(crate) fn check(&self, id: &str, place: Place, keys: &Value) -> Outcome {
        self.run(Invocation::check(id, self.c1.path(), "eth0").config(self.chained(keys, place)))
    }

    /// DEL without a result.
    pub(crate) fn del(&self, id: &str, keys: &Value) {
        self.run(Invocation::del(id, "eth0").config(self.config(keys))).assert_success();
    }

    /// The table of both families, without counters and comments.
    pub(crate) fn saved(&self) -> String {
        if self.backend == "nftables" {
            return self.node.netns.command("nft", ["list", "table", "inet", TABLE]);
        }
        let save = |program: &str| self.node.netns.command(program, ["-t", "filter"]);
        let text = [save("iptables-save"), save("ip6tables-save")].join("\n");
        let line = |line: &str| match line.split_once(" [") {
            Some((chain, _)) if line.starts_with(':') => format!("{chain}\n"),
            _ => format!("{line}\n"),
        };
        text.lines().filter(|line| !line.starts_with('#')).map(line).collect()
    }

    /// How many rules or elements of sets there are of an address.
    pub(crate) fn rules_of(&self, address: &str) -> usize {
        let end = if self.backend == "nftables" { " comment" } else { "/" };
        self.saved().matches(&format!(" {address}{end}")).count()
    }

    /// How many there are of one that is let through.
    pub(crate) fn rules_of_one(&self) -> usize {
        if self.backend == "nftables" { 1 } else { 2 }
    }

    /// An administrator's rule in the chain for that, or none any more.
    pub(crate) fn administer(&self, drop_to: Option<&str>) {
        let command = |program, line: &str| self.node.netns.command(program, line.split(' '));
        match (self.backend, drop_to) {
            ("nftables", Some(to)) => {
                command("nft", &format!("add rule inet {TABLE} CNI-ADMIN ip daddr {to} drop"))
            }
            ("nftables", None) => command("nft", &format!("flush chain inet {TABLE} CNI-ADMIN")),
            (_, Some(to)) => command("iptables", &format!("-A CNI-ADMIN -d {to} -j DROP")),
            (_, None) => command("iptables", "-F CNI-ADMIN"),
        };
    }

    /// How many rules or elements of sets keep a bridge's containers apart.
    pub(crate) fn isolating(&self, bridge: &str) -> usize {
        let saved = self.saved();
        match self.backend {
            "nftables" => saved.matches(&format!("\"{bridge}\"")).count(),
            _ => {
                saved.matches(&format!("-o {bridge} ")).count()
                    + saved.matches(&format!("-i {bridge} ")).count()
            }
        }
    }
}

/// What a plugin that has made the interface would say.
pub(crate) fn result(place: Place) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "interfaces": [{"name": place.bridge}, {"name": "eth0", "sandbox": "/run/netns/x"}],
        "ips": [
            {"interface": 1, "address": format!("{}/24", place.v4)},
            {"interface": 1, "address": format!("{}/64", place.v6)},
        ],
    })
}
