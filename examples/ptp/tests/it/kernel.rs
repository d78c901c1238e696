//! On the real kernel: one namespace plays the host, others the containers. Needs root.

use cni_skel::testing::Invocation;
use plugin_attach::testing::{Node, has_tools, is_cut_off, pings, wire};
use plugin_support::testing::TestNetns;
use ptp::Ptp;
use serde_json::json;

use crate::{config, dual};

fn three() -> Option<(Node<Ptp>, TestNetns, TestNetns)> {
    if !has_tools(&["ping"]) {
        return None;
    }
    Some((Node::new()?, TestNetns::new()?, TestNetns::new()?))
}

#[test]
fn containers_reach_the_host_and_each_other_at_once() {
    let Some((node, a, b)) = three() else { return };
    let config = config(&json!({"mtu": 1400}));
    let added = node.add("a", &a, &config, &dual(5));
    node.add("b", &b, &config, &dual(6));
    for (from, to) in [
        (&a, "fd00:1::1"),
        (&a, "10.1.0.1"),
        (&node.netns, "10.1.0.5"),
        (&node.netns, "fd00:1::6"),
        (&a, "10.1.0.6"),
        (&b, "fd00:1::5"),
    ] {
        assert!(pings(from, to), "{to}");
    }
    node.check("a", &a, &config, &added).assert_success();
    node.del("a", &a, &config);
    assert!(is_cut_off(&b, "10.1.0.5") && pings(&b, "10.1.0.1"));
    node.del("b", &b, &config);
    assert_eq!(node.links(), ["lo"]);
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
}

#[test]
fn ipv6_addresses_are_not_waited_for() {
    let Some((node, a, _)) = three() else { return };
    let added = node.add("a", &a, &config(&json!({})), &dual(5));
    let port = added.result().interfaces[0].name.clone();
    for (netns, link) in [(&a, "eth0"), (&node.netns, port.as_str())] {
        let netlink = netns.netlink().unwrap();
        let found = netlink.addresses(&netlink.link(link).unwrap()).unwrap();
        let global = found.iter().filter(|address| address.network.to_string().starts_with("fd00"));
        assert!(global.into_iter().all(|address| !address.is_tentative()), "{link}: {found:?}");
    }
    // No one looks for duplicates, and so it cannot take time.
    assert_eq!(a.sysctl().read("net/ipv6/conf/eth0/accept_dad").unwrap(), "0");
}

#[test]
fn c69_the_host_takes_no_router_advertisements_from_a_container() {
    let Some((node, a, _)) = three() else { return };
    let added = node.add("a", &a, &config(&json!({})), &dual(5));
    let key = format!("net/ipv6/conf/{}/accept_ra", added.result().interfaces[0].name);
    assert_eq!(node.netns.sysctl().read(&key).unwrap(), "0");
}

#[test]
fn an_address_alone_reaches_the_world_by_a_gateway_elsewhere() {
    let Some((node, a, _)) = three() else { return };
    let addresses = json!({
        "ips": [{"address": "10.1.0.5/32", "gateway": "169.254.1.1"}, {"address": "fd00:1::5/128", "gateway": "fd00:2::1"}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    });
    let config = config(&json!({}));
    let added = node.add("a", &a, &config, &addresses);
    for (from, to) in
        [(&a, "169.254.1.1"), (&a, "fd00:2::1"), (&node.netns, "10.1.0.5"), (&node.netns, "fd00:1::5")]
    {
        assert!(pings(from, to), "{to}");
    }
    node.check("a", &a, &config, &added).assert_success();
}

#[test]
fn a_route_by_another_router_of_the_network_is_possible() {
    let Some((node, a, _)) = three() else { return };
    let addresses = json!({
        "ips": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00:1::5/64", "gateway": "fd00:1::1"}],
        "routes": [{"dst": "192.168.0.0/16", "gw": "10.1.0.9"}, {"dst": "fd00:9::/64", "gw": "fd00:1::9"}],
    });
    let config = config(&json!({}));
    let added = node.add("a", &a, &config, &addresses);
    node.check("a", &a, &config, &added).assert_success();
}

#[test]
fn the_world_is_reached_behind_the_hosts_address() {
    if !has_tools(&["iptables-restore", "ip6tables-restore", "nft"]) {
        return;
    }
    let Some((node, a, world)) = three() else { return };
    wire(&node.netns, &world);
    let plain = config(&json!({}));
    node.add("a", &a, &plain, &dual(5));
    assert!(is_cut_off(&a, "192.0.2.2") && is_cut_off(&a, "2001:db8::2"), "no answer finds the way back");
    node.del("a", &a, &plain);
    for keys in [
        json!({"ipMasq": true}),
        json!({"ipMasq": true, "ipMasqBackend": "iptables"}),
        json!({"ipMasq": true, "ipMasqBackend": "nftables"}),
    ] {
        let config = config(&keys);
        let added = node.add("a", &a, &config, &dual(5));
        assert!(pings(&a, "192.0.2.2") && pings(&a, "2001:db8::2"), "{keys}");
        node.check("a", &a, &config, &added).assert_success();
        // Without the namespace, too.
        node.run(Invocation::del("a", "eth0").config(&config), &json!({})).assert_success();
        assert_eq!(node.links(), ["lo", "up0"], "{keys}");
        let left: Vec<String> = rules(&node);
        assert_eq!(left, [""; 0], "{keys}");
    }
}

/// The rules of containers; the table of nft stays once it is there.
fn rules(node: &Node<Ptp>) -> Vec<String> {
    let save = |program: &str, args: &[&str]| node.netns.command(program, args);
    let text = [
        save("iptables-save", &["-t", "nat"]),
        save("ip6tables-save", &["-t", "nat"]),
        save("nft", &["list", "ruleset"]),
    ];
    text.join("\n")
        .lines()
        .filter(|line| line.contains("CNI-") || line.contains("net: n1"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_container_has_several_interfaces_in_a_network() {
    let Some((node, a, _)) = three() else { return };
    let config = config(&json!({}));
    let added = node.add("a", &a, &config, &dual(5));
    let second = node.run(Invocation::add("a", a.path(), "net1").config(&config), &dual(6));
    second.assert_success();
    let call = Invocation::check("a", a.path(), "net1").config(&config).prev_result(second.json());
    node.run(call, &json!({})).assert_success();
    node.check("a", &a, &config, &added).assert_success();
    for address in ["10.1.0.6", "fd00:1::6"] {
        assert!(pings(&node.netns, address), "{address}");
    }
    node.run(Invocation::del("a", "net1").netns(a.path()).config(&config), &json!({})).assert_success();
    node.check("a", &a, &config, &added).assert_success();
    assert!(pings(&a, "10.1.0.1") && pings(&a, "fd00:1::1"));
}

#[test]
fn gc_removes_what_belongs_to_no_valid_attachment() {
    if !has_tools(&["iptables-restore", "ip6tables-restore", "nft"]) {
        return;
    }
    let Some((node, a, b)) = three() else { return };
    for backend in ["iptables", "nftables"] {
        let config = config(&json!({"ipMasq": true, "ipMasqBackend": backend}));
        let added = node.add("a", &a, &config, &dual(5));
        node.add("b", &b, &config, &dual(6));
        let before = rules(&node).len();
        // Another network's GC concerns nobody here.
        let mut other = config.clone();
        other["name"] = json!("n2");
        node.run(Invocation::gc([]).config(&other), &json!({})).assert_success();
        assert_eq!(rules(&node).len(), before, "{backend}");
        node.run(Invocation::gc([("a", "eth0")]).config(&config), &json!({})).assert_success();
        node.check("a", &a, &config, &added).assert_success();
        assert!(b.netlink().unwrap().link("eth0").is_err());
        assert_eq!(rules(&node).len() * 2, before, "{backend}: {:#?}", rules(&node));
        // Masquerade is no longer asked for; what was made when it was goes all the same.
        let mut changed = config.clone();
        changed["ipMasq"] = json!(false);
        node.add("b", &b, &config, &dual(6));
        assert_eq!(rules(&node).len(), before, "{backend}");
        node.del("b", &b, &changed);
        assert_eq!(rules(&node).len() * 2, before, "{backend}: {:#?}", rules(&node));
        node.run(Invocation::gc([]).config(&changed), &json!({})).assert_success();
        assert_eq!((rules(&node).len(), node.links().len()), (0, 1), "{backend}");
    }
}

#[test]
fn check_sees_rules_that_are_gone() {
    if !has_tools(&["iptables-restore", "ip6tables-restore", "nft"]) {
        return;
    }
    let Some((node, a, _)) = three() else { return };
    for (backend, flush) in
        [("iptables", "flush table ip6 nat"), ("nftables", "flush table inet cni_plugins_masquerade")]
    {
        let config = config(&json!({"ipMasq": true, "ipMasqBackend": backend}));
        let added = node.add("a", &a, &config, &dual(5));
        node.check("a", &a, &config, &added).assert_success();
        node.netns.command("nft", flush.split(' '));
        let outcome = node.check("a", &a, &config, &added);
        assert!(outcome.assert_error(999).msg.starts_with("masquerade "), "{backend}");
        node.del("a", &a, &config);
    }
}
