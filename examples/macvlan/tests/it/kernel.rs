//! On the real kernel: one namespace plays the host, others the containers. Needs root.

use cni_skel::testing::Invocation;
use macvlan::Macvlan;
use plugin_attach::testing::{Node, has_tools, is_cut_off, pings, wire};
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

use crate::{l2, l3};

/// A node with another machine at its `up0`, and two containers.
struct Scene {
    node: Node<Macvlan>,
    machine: TestNetns,
    a: TestNetns,
    b: TestNetns,
}

impl Scene {
    fn new() -> Option<Self> {
        if !has_tools(&["ping"]) {
            return None;
        }
        let scene = Self {
            node: Node::new()?,
            machine: TestNetns::new()?,
            a: TestNetns::new()?,
            b: TestNetns::new()?,
        };
        wire(&scene.node.netns, &scene.machine);
        Some(scene)
    }
}

/// What the IPAM plugin gives, of the network of the node's `up0`.
fn dual(host: u8) -> Value {
    json!({
        "ips": [
            {"address": format!("192.0.2.{host}/24"), "gateway": "192.0.2.2"},
            {"address": format!("2001:db8::{host}/64"), "gateway": "2001:db8::2"},
        ],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    })
}

#[test]
fn containers_reach_each_other_and_the_network() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, machine, a, b } = &scene;
    let config = l3(&json!({"mtu": 1400}));
    let added = node.add("a", a, &config, &dual(5));
    node.add("b", b, &config, &dual(6));
    for (from, to) in [(a, "192.0.2.6"), (b, "2001:db8::5"), (a, "192.0.2.2"), (machine, "2001:db8::6")] {
        assert!(pings(from, to), "{to}");
    }
    assert!(is_cut_off(a, "192.0.2.1"), "not the host");
    node.check("a", a, &config, &added).assert_success();
    node.del("a", a, &config);
    assert!(is_cut_off(b, "192.0.2.5"));
    node.del("b", b, &config);
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
}

#[test]
fn private_containers_reach_the_network_alone() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, a, b, .. } = &scene;
    let config = l3(&json!({"mode": "private"}));
    let added = node.add("a", a, &config, &dual(5));
    node.add("b", b, &config, &dual(6));
    assert!(pings(a, "192.0.2.2") && pings(b, "2001:db8::2"));
    assert!(is_cut_off(a, "192.0.2.6"));
    node.check("a", a, &config, &added).assert_success();
}

#[test]
fn every_mode_is_possible() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, a, .. } = &scene;
    for mode in ["bridge", "private", "vepa", "passthru"] {
        let config = l3(&json!({"mode": mode, "bcqueuelen": 2000}));
        let added = node.add("a", a, &config, &dual(5));
        node.check("a", a, &config, &added).assert_success();
        assert!(a.ip("-d link show eth0").contains(&format!("macvlan mode {mode}")), "{mode}");
        node.del("a", a, &config);
    }
}

#[test]
fn the_default_routes_link_is_the_master() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, a, .. } = &scene;
    let config = l3(&json!({"master": ""}));
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&config), &dual(5));
    assert_eq!(outcome.assert_error(999).msg, "no default route interface found");
    // One that forbids leads nowhere.
    node.netns.ip("route add unreachable default metric 1");
    node.netns.ip("route add default via 192.0.2.2 metric 100");
    let added = node.add("a", a, &config, &dual(5));
    assert!(pings(a, "192.0.2.2"));
    // Where it leads later does not matter.
    node.netns.ip("route del default via 192.0.2.2 metric 100");
    node.check("a", a, &config, &added).assert_success();
    node.del("a", a, &config);
}

#[test]
fn a_link_of_the_container_can_be_the_master() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, a, .. } = &scene;
    // The host's link of the same name is another.
    let outer = l3(&json!({"name": "n0"}));
    let added = node.add("a", a, &outer, &dual(5));
    let inner = l2(&json!({"master": "eth0", "linkInContainer": true}));
    let call = Invocation::add("a", a.path(), "net1").config(&inner);
    let second = node.run(call, &json!({}));
    second.assert_success();
    // The kernel puts it on the master's own master.
    let call = Invocation::check("a", a.path(), "net1").config(&inner).prev_result(second.json());
    node.run(call, &json!({})).assert_success();
    node.check("a", a, &outer, &added).assert_success();
    a.ip("link add br0 type bridge");
    let other = l2(&json!({"master": "br0", "linkInContainer": true}));
    let third = node.run(Invocation::add("a", a.path(), "net2").config(&other), &json!({}));
    let call = Invocation::check("a", a.path(), "net2").config(&other).prev_result(third.json());
    node.run(call, &json!({})).assert_success();
    for ifname in ["net2", "net1"] {
        node.run(Invocation::del("a", ifname).netns(a.path()).config(&inner), &json!({})).assert_success();
    }
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 3);
}

#[test]
fn a_link_of_the_same_name_on_the_host_is_no_obstacle() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, a, .. } = &scene;
    node.netns.ip("link add eth0 type bridge");
    let config = l3(&json!({}));
    let added = node.add("a", a, &config, &dual(5));
    node.check("a", a, &config, &added).assert_success();
    node.del("a", a, &config);
    assert!(node.links().contains(&"eth0".to_owned()));
}

#[test]
fn an_address_of_another_machine_is_found_out_and_everything_undone() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, a, .. } = &scene;
    let config = l3(&json!({}));
    // The other machine has it.
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&config), &dual(2));
    assert!(outcome.assert_error(999).msg.starts_with("another node has address 2001:db8::2/64"));
    assert_eq!(outcome.delegate_calls().len(), 2, "given back");
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
}

#[test]
fn addresses_and_settings_arrive() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, a, .. } = &scene;
    let config = l3(&json!({"mtu": 1400}));
    let call = Invocation::add("a", a.path(), "eth0").config(&config).capability("mac", "0a:58:0a:01:00:05");
    let added = node.run(call, &dual(5));
    added.assert_success();
    let interface = &added.result().interfaces[0];
    assert_eq!((interface.mac.as_deref(), interface.mtu), (Some("0a:58:0a:01:00:05"), Some(1400)));
    for key in ["ipv4/conf/eth0/arp_notify", "ipv6/conf/eth0/ndisc_notify"] {
        assert_eq!(a.sysctl().read(&format!("net/{key}")).unwrap(), "1", "{key}");
    }
    node.check("a", a, &config, &added).assert_success();
}
