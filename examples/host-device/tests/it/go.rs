//! Beside Go's plugin: either checks and undoes what the other has made. That both say and make the same is shown by
//! `side_by_side` in `tests/`.

use plugin_attach::testing::Pair;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kernel::scene;

fn pair() -> Option<(Pair, TempDir)> {
    Some((Pair::new("host-device", env!("CARGO_BIN_EXE_host-device"))?, tempfile::tempdir().unwrap()))
}

/// The configurations that both know.
fn configs(data: &TempDir) -> Vec<Value> {
    let config = |version: &str, keys: Value, ipam: bool| {
        let mut config = json!({"cniVersion": version, "name": "n1", "type": "host-device"});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        if ipam {
            let ranges = json!([[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]);
            let routes = json!([{"dst": "0.0.0.0/0"}]);
            config["ipam"] =
                json!({"type": "host-local", "dataDir": data.path(), "ranges": ranges, "routes": routes});
        }
        config
    };
    vec![
        config("1.0.0", json!({"device": "ens5"}), false),
        config("1.0.0", json!({"device": "ens5", "dns": {"nameservers": ["10.1.0.1"]}}), true),
        config("0.4.0", json!({"hwaddr": "02:00:00:00:00:05"}), true),
        config("0.3.1", json!({"device": "ens5"}), true),
    ]
}

#[test]
fn either_checks_and_undoes_what_the_other_has_made() {
    let Some((pair, data)) = pair() else { return };
    for config in configs(&data) {
        for [(maker, first), (other, second)] in pair.either_way() {
            let Some((node, _machine, a)) = scene() else { return };
            let result = node.call(&first, "ADD", "c1", a.path(), &config).result();
            let mut request = config.clone();
            request["prevResult"] = result;
            if config["cniVersion"].as_str().unwrap() >= "0.4.0" {
                let checked = node.call(&second, "CHECK", "c1", a.path(), &request);
                assert!(checked.success, "made by {maker}, checked by {other}: {config}: {checked:?}");
            }
            let deleted = node.call(&second, "DEL", "c1", a.path(), &request);
            assert!(deleted.success, "made by {maker}, deleted by {other}: {config}: {deleted:?}");
            assert!(node.links().contains(&"ens5".to_owned()), "made by {maker}: {config}");
            std::fs::remove_dir_all(data.path().join("n1")).unwrap_or_default();
        }
    }
}
