//! Beside Go's plugin: either checks and undoes what the other has made. That both say and make the same is shown by
//! `side_by_side` in `tests/`.

use plugin_attach::testing::{Node, Pair, has_tools};
use plugin_support::testing::TestNetns;
use ptp::Ptp;
use serde_json::{Value, json};
use tempfile::TempDir;

fn pair() -> Option<(Pair, TempDir)> {
    if !has_tools(&["iptables-save", "ip6tables-save", "nft"]) {
        return None;
    }
    Some((Pair::new("ptp", env!("CARGO_BIN_EXE_ptp"))?, tempfile::tempdir().unwrap()))
}

/// The configurations that both know.
fn configs(data: &TempDir) -> Vec<Value> {
    let v4 = json!([[{"subnet": "10.1.0.0/24"}]]);
    let dual = json!([[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]);
    let routes = json!([{"dst": "0.0.0.0/0"}]);
    let config = |version: &str, keys: Value, ranges: &Value| {
        let ipam = json!({"type": "host-local", "dataDir": data.path(), "ranges": ranges, "routes": routes});
        let mut config = json!({"cniVersion": version, "name": "n1", "type": "ptp", "ipam": ipam});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    };
    vec![
        config("1.0.0", json!({}), &v4),
        config("0.4.0", json!({"mtu": 1400}), &v4),
        config("0.3.1", json!({"ipMasq": true}), &v4),
        config("0.2.0", json!({}), &v4),
        config("1.0.0", json!({"ipMasq": true, "dns": {"nameservers": ["10.1.0.1"]}}), &dual),
    ]
}

#[test]
fn either_checks_and_undoes_what_the_other_has_made() {
    let Some((pair, data)) = pair() else { return };
    for config in configs(&data) {
        for [(maker, first), (other, second)] in pair.either_way() {
            let (Some(node), Some(a)) = (Node::<Ptp>::new(), TestNetns::new()) else { return };
            let result = node.call(&first, "ADD", "c1", a.path(), &config).result();
            let mut request = config.clone();
            request["prevResult"] = result;
            if config["cniVersion"].as_str().unwrap() >= "0.4.0" {
                let checked = node.call(&second, "CHECK", "c1", a.path(), &request);
                assert!(checked.success, "made by {maker}, checked by {other}: {config}: {checked:?}");
            }
            let deleted = node.call(&second, "DEL", "c1", a.path(), &request);
            assert!(deleted.success, "made by {maker}, deleted by {other}: {config}: {deleted:?}");
            assert_eq!(node.links(), ["lo"], "made by {maker}: {config}");
            for program in ["iptables-save", "ip6tables-save"] {
                let saved = node.netns.command(program, ["-t", "nat"]);
                assert!(!saved.contains("CNI-"), "made by {maker}, deleted by {other}: {config}: {saved}");
            }
            let left = std::fs::read_dir(data.path().join("n1")).into_iter().flatten();
            assert!(
                left.map(|entry| entry.unwrap().file_name())
                    .all(|name| !name.to_string_lossy().starts_with("10."))
            );
            std::fs::remove_dir_all(data.path().join("n1")).unwrap_or_default();
        }
    }
}
