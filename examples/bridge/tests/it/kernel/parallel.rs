//! Several calls at once.

use std::collections::BTreeSet;
use std::thread;

use cni_skel::testing::Invocation;
use plugin_support::testing::TestNetns;
use serde_json::json;

use super::node::{Node, has_tools};

#[test]
fn c67_twenty_adds_at_once_on_no_bridge_all_succeed() {
    let Some(node) = Node::new() else { return };
    let containers: Option<Vec<_>> = (0..20).map(|_| TestNetns::new()).collect();
    let Some(containers) = containers else { return };
    let config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "bridge", "isGateway": true, "mtu": 1400, "ipam": {"type": "host-local"}});
    let addresses = |n: usize| json!({"ips": [{"address": format!("10.1.0.{}/24", n + 2)}, {"address": format!("fd00:1::{}/64", n + 2)}]});
    let results = thread::scope(|scope| {
        let adds: Vec<_> = containers
            .iter()
            .enumerate()
            .map(|(n, container)| {
                let (node, config) = (&node, &config);
                scope.spawn(move || node.add(&format!("c{n}"), container, config, &addresses(n)))
            })
            .collect();
        adds.into_iter().map(|add| add.join().unwrap()).collect::<Vec<_>>()
    });
    let bridges: BTreeSet<_> = results.iter().map(|added| added.result().interfaces[0].mac.clone()).collect();
    assert_eq!(bridges.len(), 1, "one bridge, whose address does not change");
    for (n, (container, added)) in containers.iter().zip(&results).enumerate() {
        node.check(&format!("c{n}"), container, &config, added).assert_success();
    }
    assert_eq!(node.links().len(), 22);
    thread::scope(|scope| {
        for (n, container) in containers.iter().enumerate() {
            let (node, config) = (&node, &config);
            scope.spawn(move || node.del(&format!("c{n}"), container, config));
        }
    });
    assert_eq!(node.links(), ["lo", "cni0"]);
}

/// A node that comes up again runs GC, while the kubelet has the dead containers deleted.
#[test]
fn gc_and_del_of_the_same_containers_at_once_all_succeed() {
    if !has_tools(&["iptables-restore", "ip6tables-restore", "nft"]) {
        return;
    }
    for backend in ["iptables", "nftables"] {
        let Some(node) = Node::new() else { return };
        let config = json!({
            "cniVersion": "1.1.0", "name": "n1", "type": "bridge", "isGateway": true, "ipMasq": true,
            "ipMasqBackend": backend, "macspoofchk": true, "ipam": {"type": "host-local"},
        });
        let ids: Vec<_> = (0..6).map(|n| format!("c{n}")).collect();
        for (n, id) in ids.iter().enumerate() {
            let Some(container) = TestNetns::new() else { return };
            let addresses = json!({"ips": [{"address": format!("10.1.0.{}/24", n + 2)}, {"address": format!("fd00:1::{}/64", n + 2)}]});
            // Its namespace ends here.
            node.add(id, &container, &config, &addresses);
        }
        let nothing = json!({});
        thread::scope(|scope| {
            for id in &ids {
                let calls = [Invocation::del(id, "eth0"), Invocation::gc([])];
                for call in calls.map(|call| call.config(&config)) {
                    let (node, nothing) = (&node, &nothing);
                    scope.spawn(move || node.run(call, nothing).assert_success());
                }
            }
        });
        let rules = node.rules();
        let left: Vec<_> = rules.lines().filter(|line| !line.contains("table inet")).collect();
        assert_eq!(left, [""; 0], "{backend}");
    }
}
