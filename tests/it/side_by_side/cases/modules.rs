//! vlan, ipvlan and vrf, whose drivers the kernel of the tests lacks: what is refused, by the plugins and by the kernel, and
//! DEL of what is not there. Nothing can be made.

use serde_json::{Value, json};

use super::super::case::{Scope, Suite, add, case, del};
use super::{protocol, with};

/// A host with a cable, and the default route by it, and a container.
const WITH_CABLE: &str = "
ip link add up0 address 02:00:00:00:00:01 type veth peer name cable address 02:00:00:00:00:02
ip link set up0 up
ip link set cable up
ip addr add 192.0.2.1/24 dev up0
ip route add default via 192.0.2.2
ip netns add c1
";

/// A container with an interface.
const WITH_INTERFACE: &str = "
ip netns add c1
ip -n c1 link add eth0 address 02:00:00:00:00:03 type veth peer name other address 02:00:00:00:00:04
";

pub(in super::super) fn vlan() -> Suite {
    let usual = with(ipam(), json!({"master": "up0", "vlanId": 10}));
    let refused = [
        ("no-master", json!({"master": null})),
        ("no-such-master", json!({"master": "none"})),
        ("no-such-master-in-the-container", json!({"linkInContainer": true})),
        ("number-too-big", json!({"vlanId": 4095})),
        ("number-below-zero", json!({"vlanId": -1})),
        ("number-is-text", json!({"vlanId": "10"})),
        ("mtu-above-the-masters", json!({"mtu": 9000})),
        ("mtu-is-text", json!({"mtu": "1400"})),
    ];
    suite("vlan", WITH_CABLE, &usual, &refused)
}

pub(in super::super) fn ipvlan() -> Suite {
    let usual = with(ipam(), json!({"master": "up0"}));
    let refused = [
        ("mode", json!({"mode": "l4"})),
        ("no-such-master", json!({"master": "none"})),
        ("no-such-master-in-the-container", json!({"linkInContainer": true})),
        ("mtu-is-text", json!({"mtu": "1400"})),
        (
            "result-without-interface",
            json!({"master": null, "prevResult": {"cniVersion": "1.0.0", "interfaces": []}}),
        ),
    ];
    suite("ipvlan", WITH_CABLE, &usual, &refused)
}

pub(in super::super) fn vrf() -> Suite {
    let usual = json!({"vrfname": "blue", "prevResult": {
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "eth0", "mac": "02:00:00:00:00:03", "sandbox": "/run/netns/c1"}],
    }});
    let refused = [
        ("no-name", json!({"vrfname": null})),
        ("empty-name", json!({"vrfname": ""})),
        ("name-of-another-link", json!({"vrfname": "other"})),
        ("table-is-text", json!({"table": "10"})),
        ("without-result", json!({"prevResult": null})),
        ("version-0.2.0", json!({"cniVersion": "0.2.0"})),
    ];
    suite("vrf", WITH_INTERFACE, &usual, &refused)
}

fn ipam() -> Value {
    json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}})
}

fn suite(plugin: &'static str, stage: &'static str, usual: &Value, refused: &[(&str, Value)]) -> Suite {
    let one = |name: &str, keys: &Value| {
        case(&format!("refused/{name}"), with(usual.clone(), keys.clone())).calls([add("c1"), del("c1")])
    };
    let refused = refused.iter().map(|(name, keys)| one(name, keys));
    let always = [
        one("where-the-kernel-has-none", &json!({})),
        one("no-ipam-plugin", &json!({"ipam": {"type": "nothing"}})),
        one("no-such-netns", &json!({})).calls([add("c1").env("CNI_NETNS", "/run/netns/none")]),
        one("netns-is-no-netns", &json!({})).calls([add("c1").env("CNI_NETNS", "/etc/passwd")]),
        one("no-such-interface", &json!({})).calls([del("c1").ifname("eth7")]),
    ];
    let dead = [
        one("del-with-netns-gone", &json!({})).calls([del("c1").env("CNI_NETNS", "/run/netns/none")]),
        one("del-without-result", &json!({"prevResult": null})).calls([del("c1")]),
        one("del-twice", &json!({})).calls([del("c1"), del("c1")]),
    ];
    let cases = refused.chain(always).chain(dead);
    Suite {
        plugin,
        delegates: &["host-local"],
        stage,
        prev_result: None,
        scope: Scope::Both,
        more: "",
        cases: [protocol::refusals(usual), cases.collect()].concat(),
    }
}
