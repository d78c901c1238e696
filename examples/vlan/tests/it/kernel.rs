//! On the real kernel, where it has VLANs. Needs root.

use cni_skel::testing::Invocation;
use plugin_attach::testing::{Node, has_tools, pings, wire};
use plugin_support::testing::TestNetns;
use serde_json::json;
use vlan::Vlan;

use crate::config;

#[test]
fn a_vlan_is_reached_or_the_kernel_says_that_it_cannot() {
    if !has_tools(&["ping"]) {
        return;
    }
    let (Some(node), Some(a), Some(b)) = (Node::<Vlan>::new(), TestNetns::new(), TestNetns::new()) else {
        return;
    };
    let Some(machine) = TestNetns::new() else { return };
    wire(&node.netns, &machine);
    let config = config(&json!({"mtu": 1400}));
    let addresses = |host: u8| json!({"ips": [{"address": format!("10.1.0.{host}/24")}, {"address": format!("fd00:1::{host}/64")}]});
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&config), &addresses(5));
    node.assert_status_agrees(&config, outcome.error().is_none());
    if let Some(error) = outcome.error() {
        assert!(error.msg.starts_with("failed to create vlan: "), "{error}");
        assert!(error.msg.ends_with("operation not supported"), "{error}");
        assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
        assert!(outcome.delegate_calls().is_empty(), "nothing to give back");
        // There is nothing to undo, which a runtime asks for all the same.
        node.del("a", &a, &config);
        return;
    }
    machine.ip("link add link eth0 name eth0.100 type vlan id 100");
    machine.ip("addr add 10.1.0.1/24 dev eth0.100");
    machine.ip("link set eth0.100 up");
    assert!(pings(&a, "10.1.0.1"));
    node.check("a", &a, &config, &outcome).assert_success();
    // The kernel has each VLAN once.
    let second = node.run(Invocation::add("b", b.path(), "eth0").config(&config), &addresses(6));
    assert!(second.assert_error(999).msg.ends_with("file exists"));
    node.check("a", &a, &config, &outcome).assert_success();
    node.del("a", &a, &config);
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
}
