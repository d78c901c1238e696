//! On the real kernel: one end of a cable to another machine is the device. Needs root.

use cni_skel::testing::Invocation;
use host_device::HostDevice;
use plugin_attach::testing::{Node, has_tools, pings};
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

use crate::{l2, l3};

/// A node with a device `ens5`, and a machine at its other end.
pub(crate) fn scene() -> Option<(Node<HostDevice>, TestNetns, TestNetns)> {
    if !has_tools(&["ping"]) {
        return None;
    }
    let (node, machine, container) = (Node::new()?, TestNetns::new()?, TestNetns::new()?);
    let path = machine.path().display().to_string();
    let pid = path.split('/').nth(2).unwrap().to_owned();
    node.netns.ip(&format!("link add ens5 address 02:00:00:00:00:05 type veth peer name cable netns {pid}"));
    node.netns.ip("addr add 192.0.2.7/24 dev ens5");
    node.netns.ip("link set ens5 up");
    machine.ip("addr add 192.0.2.1/24 dev cable");
    machine.ip("link set cable up");
    Some((node, machine, container))
}

/// Whether an address can be reached, once the kernel has seen that the cable is plugged in again.
fn reaches(from: &TestNetns, address: &str) -> bool {
    (0..10).any(|_| pings(from, address))
}

fn of_ipam() -> Value {
    json!({"ips": [{"address": "192.0.2.5/24", "gateway": "192.0.2.1"}], "routes": [{"dst": "0.0.0.0/0"}]})
}

#[test]
fn a_container_has_the_device_for_itself_and_gives_it_back() {
    let Some((node, machine, a)) = scene() else { return };
    // Names that others have on either side.
    node.netns.ip("link add eth0 type bridge");
    a.ip("link add ens5 type bridge");
    for config in [l3(&json!({})), l3(&json!({"device": "", "hwaddr": "02:00:00:00:00:05"}))] {
        let added = node.add("a", &a, &config, &of_ipam());
        assert!(!node.links().contains(&"ens5".to_owned()));
        assert!(reaches(&a, "192.0.2.1") && reaches(&machine, "192.0.2.5"));
        node.check("a", &a, &config, &added).assert_success();
        for _ in 0..2 {
            node.del("a", &a, &config);
            let ens5 = node.netns.netlink().unwrap().link("ens5").unwrap();
            assert!(ens5.is_kind("veth") && ens5.alias.is_none());
        }
        assert_eq!(a.netlink().unwrap().links().unwrap().len(), 2);
    }
}

#[test]
fn a_failed_add_leaves_the_device_as_it_was() {
    let Some((node, machine, a)) = scene() else { return };
    let before = node.netns.ip("-brief addr show dev ens5");
    // No such router.
    let wrong =
        json!({"ips": [{"address": "192.0.2.5/24"}], "routes": [{"dst": "0.0.0.0/0", "gw": "198.51.100.1"}]});
    let outcome = node.run(Invocation::add("a", a.path(), "eth0").config(l3(&json!({}))), &wrong);
    assert!(outcome.assert_error(999).msg.starts_with("failed to add route"));
    assert_eq!(outcome.delegate_calls().len(), 2, "given back");
    let address =
        |text: &str| text.split_whitespace().find(|word| word.contains("192.0.2")).map(str::to_owned);
    assert_eq!(address(&node.netns.ip("-brief addr show dev ens5")), address(&before));
    assert!(reaches(&machine, "192.0.2.7"));
    assert_eq!(a.netlink().unwrap().links().unwrap().len(), 1);
}

#[test]
fn macvlans_can_be_devices() {
    let Some((node, _machine, a)) = scene() else { return };
    node.netns.ip("link add link ens5 name mv0 type macvlan mode bridge");
    let config = l2(&json!({"device": "mv0"}));
    let added = node.add("a", &a, &config, &json!({}));
    node.check("a", &a, &config, &added).assert_success();
    node.del("a", &a, &config);
    assert!(node.links().contains(&"mv0".to_owned()));
}
