//! On the real kernel, where it has ipvlan. Needs root.

use cni_skel::testing::Invocation;
use ipvlan::Ipvlan;
use plugin_attach::testing::{Node, has_tools, pings, wire};
use plugin_support::testing::TestNetns;
use serde_json::json;

use crate::config;

#[test]
fn containers_reach_each_other_or_the_kernel_says_that_it_cannot() {
    if !has_tools(&["ping"]) {
        return;
    }
    let (Some(node), Some(a), Some(b)) = (Node::<Ipvlan>::new(), TestNetns::new(), TestNetns::new()) else {
        return;
    };
    let Some(machine) = TestNetns::new() else { return };
    wire(&node.netns, &machine);
    for mode in ["l2", "l3", "l3s"] {
        let config = config(&json!({"mode": mode}));
        let addresses = |host: u8| json!({"ips": [{"address": format!("10.1.0.{host}/24")}, {"address": format!("fd00:1::{host}/64")}]});
        let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(&config), &addresses(5));
        node.assert_status_agrees(&config, outcome.error().is_none());
        if let Some(error) = outcome.error() {
            assert!(error.msg.starts_with("failed to create ipvlan: "), "{error}");
            assert!(error.msg.ends_with("operation not supported"), "{error}");
            assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
            assert!(outcome.delegate_calls().is_empty(), "nothing to give back");
            // There is nothing to undo, which a runtime asks for all the same.
            node.del("a", &a, &config);
            return;
        }
        node.add("b", &b, &config, &addresses(6));
        assert!(pings(&a, "10.1.0.6") && pings(&b, "10.1.0.5"), "{mode}");
        node.check("a", &a, &config, &outcome).assert_success();
        node.del("a", &a, &config);
        node.del("b", &b, &config);
        assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
    }
}
