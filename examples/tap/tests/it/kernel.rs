//! On the real kernel. Needs root.

use cni_skel::testing::Invocation;
use plugin_attach::testing::{Node, has_tools};
use plugin_support::netlink::LinkDetails;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};
use tap::Tap;

use crate::config;

fn scene() -> Option<(Node<Tap>, TestNetns, TestNetns)> {
    if !has_tools(&["ip"]) {
        return None;
    }
    Some((Node::new()?, TestNetns::new()?, TestNetns::new()?))
}

fn dual(host: u8) -> Value {
    json!({
        "ips": [
            {"address": format!("10.1.0.{host}/24"), "gateway": "10.1.0.1"},
            {"address": format!("fd00:1::{host}/64"), "gateway": "fd00:1::1"},
        ],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    })
}

#[test]
fn every_setting_arrives_and_is_looked_at() {
    let Some((node, a, _)) = scene() else { return };
    let full =
        config(&json!({"multiQueue": true, "owner": 0, "group": 7, "mtu": 1400, "mac": "02:00:00:00:00:01"}));
    let added = node.add("a", &a, &full, &dual(5));
    let eth0 = a.netlink().unwrap().link("eth0").unwrap();
    assert_eq!(
        eth0.details,
        LinkDetails::Tun { frames: true, multi_queue: true, owner: Some(0), group: Some(7) }
    );
    assert_eq!((eth0.mtu, eth0.mac.unwrap().to_string().as_str()), (1400, "02:00:00:00:00:01"));
    node.check("a", &a, &full, &added).assert_success();
    for (keys, told) in [
        (json!({"multiQueue": false}), "tap eth0: multiQueue is true, expected false"),
        (json!({"owner": 5}), "tap eth0: owner is Some(0), expected Some(5)"),
        (json!({"group": 5}), "tap eth0: group is Some(7), expected Some(5)"),
    ] {
        let mut other = full.clone();
        other.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let outcome = node.check("a", &a, &other, &added);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
    }
    node.del("a", &a, &full);
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
    // Without an owner, nobody is it.
    node.add("a", &a, &config(&json!({})), &dual(5));
    assert_eq!(
        a.netlink().unwrap().link("eth0").unwrap().details,
        LinkDetails::Tun { frames: true, multi_queue: false, owner: None, group: None }
    );
}

#[test]
fn nothing_is_made_on_the_host_and_nothing_waits_for_a_carrier() {
    let Some((node, a, _)) = scene() else { return };
    // Without a program there is no carrier, and so no end of duplicate address detection.
    let added = node.add("a", &a, &config(&json!({})), &dual(5));
    assert_eq!(node.links(), ["lo"]);
    let netlink = a.netlink().unwrap();
    let addresses = netlink.addresses(&netlink.link("eth0").unwrap()).unwrap();
    assert_eq!(addresses.iter().filter(|address| address.is_tentative()).count(), 1, "{addresses:?}");
    node.check("a", &a, &config(&json!({})), &added).assert_success();
}

#[test]
fn it_becomes_a_port_of_the_containers_bridge() {
    let Some((node, a, _)) = scene() else { return };
    let l2 = config(&json!({"bridge": "br0", "ipam": {}}));
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&l2), &json!({}));
    assert_eq!(outcome.assert_error(999).msg, "failed to get bridge br0: Link not found");
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
    a.ip("link add br0 type bridge");
    let added = node.add("a", &a, &l2, &json!({}));
    assert!(a.ip("link show master br0").contains("eth0"));
    node.check("a", &a, &l2, &added).assert_success();
    a.ip("link set eth0 nomaster");
    node.check("a", &a, &l2, &added).assert_error(999);
    node.del("a", &a, &l2);
}

#[test]
fn a_context_that_there_is_not_leaves_nothing() {
    let Some((node, a, _)) = scene() else { return };
    let config = config(&json!({"selinuxContext": "nobody:nothing"}));
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&config), &dual(5));
    assert!(outcome.assert_error(999).msg.starts_with("failed set socket label: \"nobody:nothing\": "));
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
}

#[test]
fn links_that_are_no_taps_are_told() {
    let Some((node, a, _)) = scene() else { return };
    a.ip("tuntap add mode tun name eth0");
    a.ip("link set eth0 up");
    let l2 = config(&json!({"ipam": null}));
    let prev = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "eth0", "sandbox": a.path()}]});
    let call = Invocation::check("a", a.path(), "eth0").config(&l2).prev_result(&prev);
    let outcome = node.run(call, &json!({}));
    assert_eq!(outcome.assert_error(999).msg, "Error: Container interface eth0 not of type tap");
}

#[test]
fn status_says_that_it_works() {
    let Some((node, ..)) = scene() else { return };
    node.run(Invocation::status().config(config(&json!({}))), &json!({})).assert_success();
}
