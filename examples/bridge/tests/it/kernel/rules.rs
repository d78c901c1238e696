//! What is left of the firewall's rules.

use cni_skel::testing::Invocation;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

use super::node::{Node, has_tools};

fn config(backend: &str) -> Value {
    json!({
        "cniVersion": "1.1.0", "name": "n1", "type": "bridge", "isGateway": true, "ipMasq": true,
        "ipMasqBackend": backend, "macspoofchk": true, "ipam": {"type": "host-local"},
    })
}

fn addresses(host: u8) -> Value {
    json!({"ips": [{"address": format!("10.1.0.{host}/24")}, {"address": format!("fd00:1::{host}/64")}]})
}

/// The rules, without what stays once it is there.
fn rules(node: &Node) -> Vec<String> {
    let text = node.rules();
    text.lines().filter(|line| !line.contains("table inet")).map(str::to_owned).collect()
}

fn node() -> Option<Node> {
    if has_tools(&["iptables-restore", "ip6tables-restore", "nft"]) { Node::new() } else { None }
}

#[test]
fn rules_go_though_the_netns_is_gone_and_nothing_is_known() {
    let Some(node) = node() else { return };
    for backend in ["iptables", "nftables"] {
        for path in [Some(""), None, Some("/run/netns/long-gone")] {
            let Some(a) = TestNetns::new() else { return };
            let config = config(backend);
            node.add("a", &a, &config, &addresses(5));
            assert!(!rules(&node).is_empty());
            drop(a);
            for _ in 0..2 {
                let call = Invocation::del("a", "eth0").config(&config);
                let call = if let Some(path) = path { call.netns(path) } else { call };
                node.run(call, &json!({})).assert_success();
                assert_eq!(rules(&node), [""; 0], "{backend}, {path:?}");
            }
        }
    }
}

#[test]
fn rules_of_another_backend_go_too() {
    let Some(node) = node() else { return };
    for (made_by, deleted_by) in [("iptables", "nftables"), ("nftables", "iptables")] {
        let Some(a) = TestNetns::new() else { return };
        node.add("a", &a, &config(made_by), &addresses(5));
        node.del("a", &a, &config(deleted_by));
        assert_eq!(rules(&node), [""; 0], "{made_by}");
    }
}

#[test]
fn an_add_that_fails_late_leaves_no_rule() {
    let (Some(node), Some(a)) = (node(), TestNetns::new()) else { return };
    node.netns.ip("link add cni0 type bridge");
    node.netns.ip("link set cni0 up");
    for backend in ["iptables", "nftables"] {
        // The second of the gateway's addresses cannot be had: it is that of a group.
        let mut addresses = addresses(5);
        addresses["ips"][1]["gateway"] = json!("ff02::1");
        let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(config(backend)), &addresses);
        outcome.assert_error(999);
        assert_eq!(rules(&node), [""; 0], "{backend}");
        assert_eq!(node.links(), ["lo", "cni0"]);
        assert!(a.netlink().unwrap().link("eth0").is_err());
        let bridge = node.netns.ip("addr show cni0");
        assert!(!bridge.contains("10.1.0.1") && !bridge.contains("fd00:1::1"), "{bridge}");
    }
}

#[test]
fn gc_leaves_the_rules_of_valid_attachments() {
    let (Some(node), Some(a), Some(b)) = (node(), TestNetns::new(), TestNetns::new()) else { return };
    for backend in ["iptables", "nftables"] {
        let config = config(backend);
        let added = node.add("a", &a, &config, &addresses(5));
        node.add("b", &b, &config, &addresses(6));
        let mut other = config.clone();
        other["name"] = json!("n2");
        let before = rules(&node).len();
        // Another network's GC concerns nobody here.
        node.run(Invocation::gc([]).config(&other), &json!({})).assert_success();
        assert_eq!(rules(&node).len(), before);
        node.run(Invocation::gc([("a", "eth0")]).config(&config), &json!({})).assert_success();
        node.check("a", &a, &config, &added).assert_success();
        assert!(b.netlink().unwrap().link("eth0").is_err());
        assert_eq!(rules(&node).len() * 2, before, "{:#?}", rules(&node));
        // Neither is asked for any longer; what was made when it was goes all the same.
        let mut changed = config.clone();
        changed["ipMasq"] = json!(false);
        changed["macspoofchk"] = json!(false);
        node.run(Invocation::gc([]).config(&changed), &json!({})).assert_success();
        assert_eq!((rules(&node).len(), node.links().len()), (0, 2));
    }
}

#[test]
fn del_removes_rules_that_the_configuration_no_longer_asks_for() {
    let (Some(node), Some(a), Some(b)) = (node(), TestNetns::new(), TestNetns::new()) else { return };
    for backend in ["iptables", "nftables"] {
        let config = config(backend);
        node.add("a", &a, &config, &addresses(5));
        let added = node.add("b", &b, &config, &addresses(6));
        let before = rules(&node).len();
        let mut changed = config.clone();
        changed
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !["ipMasq", "ipMasqBackend", "macspoofchk"].contains(&key.as_str()));
        node.del("a", &a, &changed);
        assert_eq!(rules(&node).len() * 2, before, "{backend}: {:#?}", rules(&node));
        node.check("b", &b, &config, &added).assert_success();
        // Nobody gives addresses any longer.
        changed["ipam"] = json!({});
        node.del("b", &b, &changed);
        assert_eq!(rules(&node), [""; 0], "{backend}");
    }
}

#[test]
fn two_interfaces_of_a_container_do_not_share_their_end() {
    let (Some(node), Some(a)) = (node(), TestNetns::new()) else { return };
    for backend in ["iptables", "nftables"] {
        let config = config(backend);
        let added = node.add("a", &a, &config, &addresses(5));
        let call = || Invocation::add("a", a.path(), "net1").config(&config);
        node.run(call(), &addresses(6)).assert_success();
        node.check("a", &a, &config, &added).assert_success();
        for _ in 0..2 {
            let call = Invocation::del("a", "net1").netns(a.path()).config(&config);
            node.run(call, &json!({})).assert_success();
            node.check("a", &a, &config, &added).assert_success();
        }
        node.del("a", &a, &config);
        assert_eq!(rules(&node), [""; 0]);
    }
}

#[test]
fn check_sees_rules_that_are_gone() {
    let (Some(node), Some(a)) = (node(), TestNetns::new()) else { return };
    for (backend, flush) in
        [("iptables", "flush table ip6 nat"), ("nftables", "flush table inet cni_plugins_masquerade")]
    {
        let config = config(backend);
        let added = node.add("a", &a, &config, &addresses(5));
        node.check("a", &a, &config, &added).assert_success();
        node.netns.command("nft", flush.split(' '));
        let outcome = node.check("a", &a, &config, &added);
        assert!(outcome.assert_error(999).msg.starts_with("masquerade "), "{backend}");
        node.del("a", &a, &config);
        let added = node.add("a", &a, &config, &addresses(5));
        node.netns.command("nft", "flush table bridge nat".split(' '));
        let outcome = node.check("a", &a, &config, &added);
        assert!(outcome.assert_error(999).msg.starts_with("macspoofchk: "), "{backend}");
        node.del("a", &a, &config);
    }
}
