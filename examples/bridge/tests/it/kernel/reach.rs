//! Who reaches whom.

use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

use super::node::{Node, has_tools, is_cut_off, pings};

fn config(keys: &Value) -> Value {
    let mut config =
        json!({"cniVersion": "1.1.0", "name": "n1", "type": "bridge", "ipam": {"type": "host-local"}});
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// What the IPAM plugin gives to a container, in both families.
fn dual(host: u8) -> Value {
    json!({
        "ips": [{"address": format!("10.1.0.{host}/24")}, {"address": format!("fd00:1::{host}/64")}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    })
}

fn three() -> Option<(Node, TestNetns, TestNetns)> {
    if !has_tools(&["ping"]) {
        return None;
    }
    Some((Node::new()?, TestNetns::new()?, TestNetns::new()?))
}

#[test]
fn containers_reach_each_other_and_the_host_at_once() {
    let Some((node, a, b)) = three() else { return };
    let config = config(&json!({"isGateway": true, "hairpinMode": true}));
    let added = node.add("a", &a, &config, &dual(5));
    node.add("b", &b, &config, &dual(6));
    for (from, to) in [
        (&a, "10.1.0.6"),
        (&b, "fd00:1::5"),
        (&a, "10.1.0.1"),
        (&a, "fd00:1::1"),
        (&node.netns, "10.1.0.5"),
        (&node.netns, "fd00:1::6"),
    ] {
        assert!(pings(from, to), "{to}");
    }
    node.check("a", &a, &config, &added).assert_success();
    node.del("a", &a, &config);
    assert!(is_cut_off(&b, "10.1.0.5"));
    node.del("b", &b, &config);
    assert_eq!(node.links(), ["lo", "cni0"]);
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
}

#[test]
fn whoever_takes_over_an_address_is_reached_at_once() {
    let (Some((node, a, b)), Some(heir)) = (three(), TestNetns::new()) else { return };
    let config = config(&json!({"isGateway": true}));
    node.add("a", &a, &config, &dual(5));
    node.add("b", &b, &config, &dual(6));
    let ways = [(&node.netns, "10.1.0.5"), (&b, "10.1.0.5"), (&node.netns, "fd00:1::5"), (&b, "fd00:1::5")];
    // Now they know the hardware address of the first, and believe in it for half a minute.
    for (from, to) in ways {
        assert!(pings(from, to), "{to}");
    }
    node.del("a", &a, &config);
    node.add("heir", &heir, &config, &dual(5));
    for (from, to) in ways {
        assert!(pings(from, to), "{to}");
    }
}

#[test]
fn isolated_containers_reach_the_host_alone() {
    let Some((node, a, b)) = three() else { return };
    let config = config(&json!({"isGateway": true, "portIsolation": true}));
    let added = node.add("a", &a, &config, &dual(5));
    node.add("b", &b, &config, &dual(6));
    assert!(pings(&a, "10.1.0.1") && pings(&node.netns, "fd00:1::6"));
    assert!(is_cut_off(&a, "10.1.0.6") && is_cut_off(&b, "fd00:1::5"));
    node.check("a", &a, &config, &added).assert_success();
}

#[test]
fn a_bridge_without_ipam_connects_what_gets_its_addresses_elsewhere() {
    let Some((node, a, b)) = three() else { return };
    let config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "bridge", "ipam": {}});
    let added = node.add("a", &a, &config, &json!({}));
    node.add("b", &b, &config, &json!({}));
    a.ip("addr add 192.0.2.5/24 dev eth0");
    b.ip("addr add 192.0.2.6/24 dev eth0");
    assert!(pings(&a, "192.0.2.6"));
    node.check("a", &a, &config, &added).assert_success();
    node.del("a", &a, &config);
    node.del("b", &b, &config);
    assert_eq!(node.links(), ["lo", "cni0"]);
}

#[test]
fn the_world_is_reached_behind_the_hosts_address() {
    if !has_tools(&["iptables-restore", "ip6tables-restore", "nft"]) {
        return;
    }
    let Some((node, a, world)) = three() else { return };
    // The world knows the host, and no way to the containers.
    let path = world.path().display().to_string();
    node.netns
        .ip(&format!("link add up0 type veth peer name eth0 netns {}", path.split('/').nth(2).unwrap()));
    for (netns, link, host) in [(&node.netns, "up0", 1), (&world, "eth0", 2)] {
        netns.ip(&format!("link set {link} up"));
        netns.ip(&format!("addr add 192.0.2.{host}/24 dev {link}"));
        netns.ip(&format!("addr add 2001:db8::{host}/64 dev {link} nodad"));
    }
    let plain = config(&json!({"isGateway": true}));
    node.add("a", &a, &plain, &dual(5));
    assert!(is_cut_off(&a, "192.0.2.2") && is_cut_off(&a, "2001:db8::2"), "no answer finds the way back");
    node.del("a", &a, &plain);
    for keys in [
        json!({"isGateway": true, "ipMasq": true}),
        json!({"isGateway": true, "ipMasq": true, "ipMasqBackend": "iptables"}),
        json!({"isGateway": true, "ipMasq": true, "ipMasqBackend": "nftables"}),
    ] {
        let config = config(&keys);
        let added = node.add("a", &a, &config, &dual(5));
        assert!(pings(&a, "192.0.2.2") && pings(&a, "2001:db8::2"), "{keys}");
        assert!(pings(&a, "10.1.0.1") && pings(&a, "fd00:1::1"), "{keys}");
        node.check("a", &a, &config, &added).assert_success();
        node.del("a", &a, &config);
        let left = node.rules().lines().filter(|line| !line.contains("cni_plugins_masquerade")).count();
        assert_eq!(left, 0, "{keys}: {}", node.rules());
    }
}

#[test]
fn a_container_with_another_hardware_address_is_cut_off() {
    if !has_tools(&["nft"]) {
        return;
    }
    let Some((node, a, b)) = three() else { return };
    let config = config(&json!({"isGateway": true, "macspoofchk": true}));
    let added = node.add("a", &a, &config, &dual(5));
    node.add("b", &b, &config, &dual(6));
    assert!(pings(&a, "10.1.0.6") && pings(&b, "10.1.0.5"));
    node.check("a", &a, &config, &added).assert_success();
    a.ip("link set eth0 address 02:00:00:00:00:66");
    assert!(is_cut_off(&a, "10.1.0.6") && is_cut_off(&a, "10.1.0.1"));
    assert!(pings(&b, "10.1.0.1"), "the other is not concerned");
    node.del("a", &a, &config);
    node.del("b", &b, &config);
    assert!(!node.netns.command("nft", ["list", "ruleset"]).contains("cni-br-iface"));
    // As if the first container had never been: the address counts from now on.
    node.add("a", &a, &config, &dual(5));
    assert!(pings(&a, "10.1.0.1"));
}
