//! Beside Go's plugin: either undoes what the other has made, and both say and make the same.

use plugin_attach::testing::{Pair, normal};
use plugin_support::testing::TestNetns;
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

/// What is in the container, without what differs each time.
fn state(container: &TestNetns) -> String {
    let netlink = container.netlink().unwrap();
    let eth0 = netlink.link("eth0").unwrap();
    let mut lines = vec![format!("{:?} {:?} {:?} up {}", eth0.kind, eth0.mac, eth0.alias, eth0.is_up())];
    for address in netlink.addresses(&eth0).unwrap() {
        if !address.network.to_string().starts_with("fe80") {
            lines.push(format!("{} {:?} {:?}", address.network, address.broadcast, address.scope));
        }
    }
    lines.push(container.ip("route show"));
    lines.join("\n")
}

#[test]
fn both_say_and_make_the_same() {
    let Some((pair, data)) = pair() else { return };
    for config in configs(&data) {
        let mut seen = Vec::new();
        for (whose, binary) in pair.both() {
            let Some((node, _machine, a)) = scene() else { return };
            let result = node.call(&binary, "ADD", "c1", a.path(), &config).result();
            let state = state(&a);
            assert!(node.call(&binary, "DEL", "c1", a.path(), &config).success, "{whose}");
            assert!(node.links().contains(&"ens5".to_owned()), "{whose}");
            std::fs::remove_dir_all(data.path().join("n1")).unwrap_or_default();
            seen.push((normal(result), state));
        }
        let [go, ours] = seen.as_slice() else { panic!("two") };
        assert_eq!(ours.0, go.0, "{config}");
        assert_eq!(ours.1, go.1, "{config}");
    }
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

#[test]
fn errors_begin_as_gos_do() {
    let Some((pair, _data)) = pair() else { return };
    for (keys, start) in [
        (json!({}), "specify either \"device\", \"hwaddr\", \"kernelpath\" or \"pciBusID\""),
        (json!({"device": "gone"}), "failed to find host device: "),
        (
            json!({"hwaddr": "02:00:00:00:00:77"}),
            "failed to find host device: failed to find physical interface",
        ),
        (
            json!({"kernelpath": "/sys/devices/nope"}),
            "failed to find host device: failed to find network devices at \"/sys/devices/nope/net\"",
        ),
        (json!({"pciBusID": "0000:99:00.0"}), "error with host device: lstat "),
    ] {
        let mut config = json!({"cniVersion": "1.0.0", "name": "n1", "type": "host-device"});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        for (whose, binary) in pair.both() {
            let Some((node, _machine, a)) = scene() else { return };
            let answer = node.call(&binary, "ADD", "c1", a.path(), &config);
            let msg = answer.stdout["msg"].as_str().unwrap_or_default();
            assert!(msg.starts_with(start), "{whose}: {msg:?} does not start with {start:?}");
        }
    }
}
