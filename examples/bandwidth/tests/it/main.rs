//! The plugin as a whole: on a made-up kernel, which needs no root, on the real one, and beside Go's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod go;
mod kernel;
mod made_up;

use plugin_support::netlink::{Handle, LinkChange, LinkKind, NewLink, Peer};
use plugin_support::netns::NetNs;
use serde_json::{Value, json};

/// A configuration with these keys, after a plugin that has made `eth0` and `veth0`.
pub(crate) fn config(version: &str, keys: &Value) -> Value {
    chained(version, keys, "eth0", "veth0")
}

/// The same with these links.
pub(crate) fn chained(version: &str, keys: &Value, ifname: &str, end: &str) -> Value {
    let mut config = json!({"cniVersion": version, "name": "n1", "type": "bandwidth"});
    config["prevResult"] = json!({
        "cniVersion": version,
        "interfaces": [{"name": end}, {"name": ifname, "sandbox": "/run/netns/c1"}],
        "ips": [{"address": "10.1.0.5/24", "interface": 1}],
    });
    if version < "1.0.0" {
        config["prevResult"]["ips"][0]["version"] = json!("4");
    }
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// Limits both ways: a megabit a second, and 10 kB at once.
pub(crate) fn both_ways() -> Value {
    json!({"ingressRate": 1_000_000, "ingressBurst": 80_000, "egressRate": 2_000_000, "egressBurst": 160_000})
}

/// A pair as an earlier plugin makes it.
pub(crate) fn pair(host: &NetNs, container: &NetNs, ifname: &str, end: &str) {
    let inside = container.netlink().unwrap();
    let peer = Peer::new(end).netns(host);
    inside.create(&NewLink::new(ifname, LinkKind::Veth(peer)).mtu(1400)).unwrap();
    let outside = host.netlink().unwrap();
    for (netlink, name) in [(&inside, ifname), (&outside, end)] {
        netlink.change(&netlink.link(name).unwrap(), &LinkChange::new().mtu(1400).up()).unwrap();
    }
}

/// The links that traffic is sent through.
pub(crate) fn ifbs(host: &Handle) -> Vec<String> {
    let links = host.links().unwrap().into_iter();
    links.filter(|link| link.is_kind("ifb")).map(|link| link.name).collect()
}

/// What is on the host's end of a pair.
pub(crate) fn on_end(host: &Handle, end: &str) -> (usize, usize, usize) {
    let end = host.link(end).unwrap();
    let qdiscs = host.qdiscs(&end).unwrap();
    (
        qdiscs.iter().filter(|qdisc| qdisc.is_rate_limit()).count(),
        qdiscs.iter().filter(|qdisc| qdisc.is_ingress()).count(),
        host.redirects(&end).unwrap().len(),
    )
}
