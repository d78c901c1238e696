//! The binary itself: what it prints, and what it leaves.

use std::path::Path;

use plugin_support::testing::{TestNetns, skip};
use serde_json::{Value, json};

use super::node::{Binary, Node};

/// Where Go's plugins are; its `host-local` stands in for any IPAM plugin.
pub(crate) const GO: &str = "/usr/lib/cni";

pub(crate) fn ours() -> Binary<'static> {
    Binary { path: Path::new(env!("CARGO_BIN_EXE_bridge")), cni_path: GO }
}

#[test]
fn a_link_alone_needs_no_other_plugin() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let mut config = json!({"cniVersion": "1.0.0", "name": "n1", "type": "bridge", "ipam": {}});
    let added = node.call(&ours(), "ADD", "a", a.path(), &config);
    assert_eq!(added.stderr, "");
    let result = added.result();
    assert_eq!(result["interfaces"].as_array().unwrap().len(), 3);
    config["prevResult"] = result;
    for command in ["CHECK", "DEL", "DEL"] {
        let answer = node.call(&ours(), command, "a", a.path(), &config);
        assert_eq!((&answer.stdout, answer.success), (&Value::Null, true), "{command}: {answer:?}");
    }
    assert_eq!(node.links(), ["lo", "cni0"]);
}

#[test]
fn c104_the_ipam_plugin_keeps_its_files_where_it_is_told() {
    if !Path::new(GO).join("host-local").exists() {
        return skip("no IPAM plugin \"/usr/lib/cni/host-local\"");
    }
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let dir = tempfile::tempdir().unwrap();
    let config = json!({
        "cniVersion": "1.0.0", "name": "n1", "type": "bridge", "isGateway": true,
        "ipam": {"type": "host-local", "dataDir": dir.path(), "subnet": "10.1.0.0/24"},
    });
    let result = node.call(&ours(), "ADD", "a", a.path(), &config).result();
    assert_eq!(result["ips"][0]["address"], "10.1.0.2/24");
    let file = dir.path().join("n1/10.1.0.2");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\r\neth0");
    // C60: a failure after the lease gives it back.
    let outcome = node.call(&ours(), "ADD", "b", Path::new("/run/netns/nope"), &config);
    assert!(!outcome.success);
    node.netns.ip("addr flush dev cni0");
    node.netns.ip("addr add 10.9.0.1/24 dev cni0");
    let Some(b) = TestNetns::new() else { return };
    let outcome = node.call(&ours(), "ADD", "b", b.path(), &config);
    assert!(
        outcome.stdout["msg"]
            .as_str()
            .unwrap()
            .contains("already has an IP address different from 10.1.0.1/24")
    );
    assert!(!dir.path().join("n1/10.1.0.3").exists());
    assert!(node.call(&ours(), "DEL", "a", Path::new(""), &config).success);
    assert!(!file.exists());
}

#[test]
fn an_mtu_that_the_bridge_does_not_have_is_noticed() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    node.netns.ip("link add cni0 type bridge");
    node.netns.ip("link set cni0 mtu 1280");
    let config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "bridge", "mtu": 1400});
    let added = node.call(&ours(), "ADD", "a", a.path(), &config);
    assert_eq!(added.stderr, "bridge: mtu: \"cni0\" has 1280, less than the 1400 of the configuration\n");
    let mtus: Vec<_> =
        added.result()["interfaces"].as_array().unwrap().iter().map(|i| i["mtu"].clone()).collect();
    assert_eq!(mtus, [1280, 1400, 1400]);
}

#[test]
fn the_nodes_own_namespace_is_refused() {
    let Some(node) = Node::new() else { return };
    let config = json!({"cniVersion": "1.0.0", "name": "n1", "type": "bridge"});
    let answer = node.call(&ours(), "ADD", "a", node.netns.path(), &config);
    assert_eq!(answer.stdout["code"], 8);
    assert_eq!(node.links(), ["lo"]);
}

#[test]
fn c22_a_file_in_the_place_of_the_namespace_does_not_keep_a_container() {
    let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
    let config = json!({"cniVersion": "1.0.0", "name": "n1", "type": "bridge", "ipam": {}});
    node.call(&ours(), "ADD", "a", a.path(), &config).result();
    // What is left of a mounted namespace once it is unmounted.
    let left = tempfile::NamedTempFile::new().unwrap();
    for path in [left.path().to_owned(), left.path().join("below")] {
        let answer = node.call(&ours(), "DEL", "a", &path, &config);
        assert!(answer.success, "{answer:?}");
    }
    assert_eq!(node.links(), ["lo", "cni0"], "the pair is found without the namespace");
}
