//! Beside Go's plugin: either checks and undoes what the other has made. That both say and make the same is shown by
//! `side_by_side` in `tests/`.

use macvlan::Macvlan;
use plugin_attach::testing::{Node, Pair};
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};
use tempfile::TempDir;

fn pair() -> Option<(Pair, TempDir)> {
    Some((Pair::new("macvlan", env!("CARGO_BIN_EXE_macvlan"))?, tempfile::tempdir().unwrap()))
}

fn node() -> Option<Node<Macvlan>> {
    let node = Node::new()?;
    for line in [
        "link add up0 type veth peer name cable",
        "link set up0 up",
        "link set cable up",
        "addr add 192.0.2.1/24 dev up0",
        "route add default via 192.0.2.2",
    ] {
        node.netns.ip(line);
    }
    Some(node)
}

/// The configurations that both know.
fn configs(data: &TempDir) -> Vec<Value> {
    let config = |version: &str, keys: Value, ranges: Option<Value>| {
        let mut config = json!({"cniVersion": version, "name": "n1", "type": "macvlan", "master": "up0"});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        if let Some(ranges) = ranges {
            let routes = json!([{"dst": "0.0.0.0/0"}]);
            config["ipam"] =
                json!({"type": "host-local", "dataDir": data.path(), "ranges": ranges, "routes": routes});
        }
        config
    };
    let v4 = || Some(json!([[{"subnet": "10.1.0.0/24"}]]));
    let dual = Some(json!([[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]));
    vec![
        config("1.0.0", json!({}), None),
        config("1.0.0", json!({"master": ""}), v4()),
        config("1.0.0", json!({"mode": "private", "mtu": 1400, "mac": "0a:58:0a:01:00:05"}), v4()),
        config("0.4.0", json!({"mode": "passthru", "dns": {"nameservers": ["10.1.0.1"]}}), v4()),
        config("0.3.1", json!({"mode": "vepa"}), v4()),
        config("0.2.0", json!({}), v4()),
        config("1.0.0", json!({}), dual),
    ]
}

#[test]
fn either_checks_and_undoes_what_the_other_has_made() {
    let Some((pair, data)) = pair() else { return };
    for config in configs(&data) {
        for [(maker, first), (other, second)] in pair.either_way() {
            let (Some(node), Some(a)) = (node(), TestNetns::new()) else { return };
            let result = node.call(&first, "ADD", "c1", a.path(), &config).result();
            let mut request = config.clone();
            request["prevResult"] = result;
            if config["cniVersion"].as_str().unwrap() >= "0.4.0" {
                let checked = node.call(&second, "CHECK", "c1", a.path(), &request);
                assert!(checked.success, "made by {maker}, checked by {other}: {config}: {checked:?}");
            }
            let deleted = node.call(&second, "DEL", "c1", a.path(), &request);
            assert!(deleted.success, "made by {maker}, deleted by {other}: {config}: {deleted:?}");
            assert!(a.netlink().unwrap().link("eth0").is_err(), "made by {maker}: {config}");
            let left = std::fs::read_dir(data.path().join("n1")).into_iter().flatten();
            assert!(
                left.map(|entry| entry.unwrap().file_name())
                    .all(|name| !name.to_string_lossy().starts_with("10."))
            );
            std::fs::remove_dir_all(data.path().join("n1")).unwrap_or_default();
        }
    }
}
