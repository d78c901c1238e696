//! Beside Go's plugin: either undoes what the other has made, and both say and make the same.

use macvlan::Macvlan;
use plugin_attach::testing::{Node, Pair, normal};
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

/// What is in the container, without what differs each time.
fn state(container: &TestNetns, mac: bool) -> String {
    let netlink = container.netlink().unwrap();
    let eth0 = netlink.link("eth0").unwrap();
    let mut lines = vec![format!("{:?} mtu {} up {} {:?}", eth0.kind, eth0.mtu, eth0.is_up(), eth0.details)];
    if mac {
        lines.push(format!("{:?}", eth0.mac));
    }
    for address in netlink.addresses(&eth0).unwrap() {
        if !address.network.to_string().starts_with("fe80") {
            lines.push(format!("{} {:?} {:?}", address.network, address.broadcast, address.scope));
        }
    }
    lines.push(container.ip("route show"));
    lines.push(container.ip("-6 route show").lines().filter(|line| !line.starts_with("fe80")).collect());
    // Debian's plugin does not know `ndisc_notify` yet.
    lines.push(container.sysctl().read("net/ipv4/conf/eth0/arp_notify").unwrap());
    lines.join("\n")
}

#[test]
fn both_say_and_make_the_same() {
    let Some((pair, data)) = pair() else { return };
    for config in configs(&data) {
        let mut seen = Vec::new();
        for (whose, binary) in pair.both() {
            let (Some(node), Some(a)) = (node(), TestNetns::new()) else { return };
            let result = node.call(&binary, "ADD", "c1", a.path(), &config).result();
            let state = state(&a, config.get("mac").is_some());
            assert!(node.call(&binary, "DEL", "c1", a.path(), &config).success, "{whose}");
            // The next container gets the same address again.
            std::fs::remove_dir_all(data.path().join("n1")).unwrap_or_default();
            seen.push((normal(result), state));
        }
        let [go, ours] = seen.as_slice() else { panic!("two") };
        assert_eq!(ours.0, go.0, "{config}");
        assert_eq!(ours.1, go.1, "{config}\nours:\n{}\nGo's:\n{}", ours.1, go.1);
    }
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

#[test]
fn errors_begin_as_gos_do() {
    let Some((pair, data)) = pair() else { return };
    for keys in
        [json!({"mode": "source"}), json!({"mtu": 9000}), json!({"mac": "bogus"}), json!({"master": "gone"})]
    {
        let mut config = configs(&data)[1].clone();
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let told = pair.both().map(|(_, binary)| {
            let (Some(node), Some(a)) = (node(), TestNetns::new()) else { return String::new() };
            let answer = node.call(&binary, "ADD", "c1", a.path(), &config);
            answer.stdout["msg"].as_str().unwrap_or_default().to_owned()
        });
        let [go, ours] = &told;
        let go = go.split(": address bogus").next().unwrap();
        assert!(ours.contains(go), "{ours:?} is not {go:?}");
    }
}
