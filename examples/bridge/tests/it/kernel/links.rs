//! Links, and what the kernel and its other users make of them.

use cni_skel::testing::Invocation;
use plugin_support::netlink::LinkDetails;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

use super::node::{Node, has_tools};

const NOTHING: Value = Value::Null;

fn l2(keys: &Value) -> Value {
    let mut config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "bridge"});
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

fn l3(keys: &Value) -> Value {
    let mut config = l2(keys);
    config["ipam"] = json!({"type": "host-local"});
    config
}

fn bridge_mac(node: &Node) -> String {
    node.netns.netlink().unwrap().link("cni0").unwrap().mac.unwrap().to_string()
}

#[test]
fn c64_check_passes_right_after_add_and_while_others_come_and_go() {
    let Some(node) = Node::new() else { return };
    let config = l2(&json!({}));
    let Some(first) = TestNetns::new() else { return };
    let added = node.add("c0", &first, &config, &NOTHING);
    node.check("c0", &first, &config, &added).assert_success();
    let mac = bridge_mac(&node);
    for n in 1..6 {
        let Some(other) = TestNetns::new() else { return };
        let id = format!("c{n}");
        node.add(&id, &other, &config, &NOTHING);
        node.check("c0", &first, &config, &added).assert_success();
        node.del(&id, &other, &config);
    }
    node.del("c0", &first, &config);
    assert_eq!(bridge_mac(&node), mac, "also without a single port");
}

#[test]
fn a_bridge_that_lost_its_address_with_its_last_port_becomes_a_gateway() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    node.netns.ip("link add cni0 type bridge");
    let addresses = json!({"ips": [{"address": "10.1.0.5/24"}]});
    node.add("a", &a, &l3(&json!({})), &addresses);
    node.del("a", &a, &l3(&json!({})));
    // The kernel has left it without an address, which Go's plugin then tries to keep.
    let config = l3(&json!({"isGateway": true}));
    let added = node.add("a", &a, &config, &addresses);
    node.check("a", &a, &config, &added).assert_success();
    let mac = bridge_mac(&node);
    node.del("a", &a, &config);
    assert_eq!(bridge_mac(&node), mac, "containers know the gateway by it");
}

#[test]
fn c69_the_host_takes_no_router_advertisements_from_containers() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let added = node.add("a", &a, &l2(&json!({})), &NOTHING);
    let result = added.result();
    for interface in &result.interfaces[..2] {
        let key = format!("net/ipv6/conf/{}/accept_ra", interface.name);
        assert_eq!(node.netns.sysctl().read(&key).unwrap(), "0", "{key}");
    }
}

#[test]
fn c68_a_link_that_stays_down() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let config = l2(&json!({"disableContainerInterface": true}));
    let added = node.add("a", &a, &config, &NOTHING);
    assert!(!a.netlink().unwrap().link("eth0").unwrap().is_up());
    node.check("a", &a, &config, &added).assert_success();
    node.del("a", &a, &config);
}

#[test]
fn ipv6_addresses_can_be_used_at_once_or_are_waited_for() {
    let (Some(node), Some(a), Some(b)) = (Node::new(), TestNetns::new(), TestNetns::new()) else { return };
    let addresses = json!({"ips": [{"address": "fd00:1::5/64"}], "routes": [{"dst": "::/0"}]});
    let tentative = |netns: &TestNetns| {
        let netlink = netns.netlink().unwrap();
        let found = netlink.addresses(&netlink.link("eth0").unwrap()).unwrap();
        let own = "fd00:1::5/64".parse().unwrap();
        found.iter().find(|address| address.network == own).unwrap().is_tentative()
    };
    let config = l3(&json!({"isGateway": true}));
    node.add("a", &a, &config, &addresses);
    assert!(!tentative(&a));
    node.del("a", &a, &config);

    let config = l3(&json!({"isGateway": true, "enabledad": true, "hairpinMode": true}));
    let added = node.add("a", &a, &config, &addresses);
    assert!(!tentative(&a));
    node.check("a", &a, &config, &added).assert_success();
    // Another container of the same address is found out.
    let call = Invocation::add("b", b.path(), "eth0").config(&config);
    let outcome = node.run(call, &addresses);
    let error = outcome.assert_error(999);
    assert!(error.msg.starts_with("another node has address fd00:1::5/64"), "{error}");
    assert_eq!(outcome.delegate_calls().len(), 2, "given back");
    assert!(b.netlink().unwrap().link("eth0").unwrap_err().is_not_found());
}

#[test]
fn ipv6_that_is_disabled_in_the_container_is_enabled() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    for link in ["all", "default", "lo"] {
        a.sysctl().write(&format!("net/ipv6/conf/{link}/disable_ipv6"), "1").unwrap();
    }
    let config = l3(&json!({"isGateway": true}));
    let addresses = json!({"ips": [{"address": "10.1.0.5/24"}, {"address": "fd00:1::5/64"}], "routes": [{"dst": "::/0"}]});
    let added = node.add("a", &a, &config, &addresses);
    node.check("a", &a, &config, &added).assert_success();
    assert_eq!(a.sysctl().read("net/ipv6/conf/lo/disable_ipv6").unwrap(), "0");
}

#[test]
fn settings_arrive_and_are_looked_at() {
    if !has_tools(&["bridge"]) {
        return;
    }
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let config = l2(&json!({"hairpinMode": true, "portIsolation": true, "mtu": 1400}));
    let call = Invocation::add("a", a.path(), "eth0").config(&config).capability("mac", "0a:58:0a:01:00:05");
    let added = node.run(call, &NOTHING);
    added.assert_success();
    let result = added.result();
    let (port, eth0) = (&result.interfaces[1], &result.interfaces[2]);
    assert_eq!((eth0.mac.as_deref(), eth0.mtu), (Some("0a:58:0a:01:00:05"), Some(1400)));
    let shown = node.netns.command("bridge", ["-d", "link", "show", "dev", &port.name]);
    assert!(shown.contains("hairpin on") && shown.contains("isolated on"), "{shown}");
    let shown = node.netns.ip(&format!("-d link show dev {}", port.name));
    assert!(shown.contains("mtu 1400") && shown.contains("net: n1, if: eth0, id: a"), "{shown}");
    node.check("a", &a, &config, &added).assert_success();
    for (change, told) in [("hairpin off", "hairpinMode"), ("isolated off", "portIsolation")] {
        node.netns.command("bridge", format!("link set dev {} {change}", port.name).split(' '));
        let outcome = node.check("a", &a, &config, &added);
        assert!(outcome.assert_error(999).msg.contains(told));
        node.netns.command(
            "bridge",
            format!("link set dev {} {}", port.name, change.replace("off", "on")).split(' '),
        );
    }
    node.check("a", &a, &config, &added).assert_success();
}

#[test]
fn promiscuous_mode_is_set_on_the_bridge() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let config = l2(&json!({"promiscMode": true}));
    let added = node.add("a", &a, &config, &NOTHING);
    assert!(node.netns.ip("link show cni0").contains("PROMISC"));
    node.check("a", &a, &config, &added).assert_success();
    node.netns.ip("link set cni0 promisc off");
    node.check("a", &a, &config, &added).assert_error(999);
}

#[test]
fn vlans_are_kept_apart_or_the_kernel_says_that_it_cannot() {
    let (Some(node), Some(a), Some(b)) = (Node::new(), TestNetns::new(), TestNetns::new()) else { return };
    let config = l3(&json!({"vlan": 100, "isGateway": true}));
    let addresses = json!({"ips": [{"address": "10.1.0.5/24"}]});
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&config), &addresses);
    if let Some(error) = outcome.error() {
        assert_eq!(
            error.msg,
            r#"failed to create bridge "cni0": could not add "cni0": operation not supported"#
        );
        assert_eq!((node.links(), outcome.delegate_calls().len()), (vec!["lo".to_owned()], 0));
        return;
    }
    let details = node.netns.netlink().unwrap().link("cni0").unwrap().details;
    assert_eq!(details, LinkDetails::Bridge { vlan_filtering: true });
    node.check("a", &a, &config, &outcome).assert_success();
    assert!(super::node::pings(&a, "10.1.0.1"), "by cni0.100");
    let trunk = l3(&json!({"vlanTrunk": [{"minID": 200, "maxID": 300}]}));
    let added = node.add("b", &b, &trunk, &json!({"ips": [{"address": "10.1.0.6/24"}]}));
    node.check("b", &b, &trunk, &added).assert_success();
    assert!(!super::node::pings(&b, "10.1.0.5"));
    node.del("a", &a, &config);
    node.del("b", &b, &trunk);
}

#[test]
fn a_second_add_leaves_the_first_alone() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let config = l3(&json!({"isGateway": true}));
    let addresses = json!({"ips": [{"address": "10.1.0.5/24"}]});
    let added = node.add("a", &a, &config, &addresses);
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&config), &addresses);
    assert!(outcome.assert_error(999).msg.contains("already exists"));
    node.check("a", &a, &config, &added).assert_success();
    assert_eq!(node.links().len(), 3);
}
