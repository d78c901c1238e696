//! Beside Go's plugin: either undoes what the other has made, and both say and make the same.

use plugin_attach::testing::{Node, Pair, has_tools, normal};
use plugin_support::netlink::RouteFilter;
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

/// Addresses, routes and rules, without what differs each time.
fn state(node: &Node<Ptp>, container: &TestNetns) -> Vec<String> {
    let mut lines = Vec::new();
    for (netns, side) in [(&node.netns, "host"), (container, "container")] {
        let netlink = netns.netlink().unwrap();
        let links = netlink.links().unwrap();
        let name = |index: Option<u32>| {
            let link = links.iter().find(|link| Some(link.index) == index);
            link.map_or("-".to_owned(), |link| {
                if link.name.starts_with("veth") { "veth*".into() } else { link.name.clone() }
            })
        };
        for link in &links {
            lines.push(format!(
                "{side} {} {:?} mtu {} up {}",
                name(Some(link.index)),
                link.kind,
                link.mtu,
                link.is_up()
            ));
            for address in netlink.addresses(link).unwrap() {
                if !address.network.to_string().starts_with("fe80") {
                    lines.push(format!(
                        "{side}  {} {:?} {:?}",
                        address.network, address.broadcast, address.scope
                    ));
                }
            }
        }
        for filter in [RouteFilter::v4(), RouteFilter::v6()] {
            let routes = netlink.routes(&filter).unwrap();
            let own = routes.iter().filter(|route| !route.destination.to_string().starts_with("fe80"));
            let line = |route: &plugin_support::netlink::Route| {
                let link = name(route.link);
                let route = plugin_support::netlink::Route { link: None, ..route.clone() };
                format!("{side} {route} dev {link} {:?}", route.protocol)
            };
            let mut own: Vec<_> = own.map(line).collect();
            own.sort();
            lines.extend(own);
        }
    }
    for key in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
        lines.push(format!("{key} {:?}", node.netns.sysctl().read_if_present(key).unwrap()));
    }
    for program in ["iptables-save", "ip6tables-save"] {
        let saved = node.netns.command(program, ["-t", "nat"]);
        lines.extend(saved.lines().filter(|line| line.contains("CNI-")).map(str::to_owned));
    }
    lines
}

#[test]
fn both_say_and_make_the_same() {
    let Some((pair, data)) = pair() else { return };
    for config in configs(&data) {
        let mut seen = Vec::new();
        for (whose, binary) in pair.both() {
            let (Some(node), Some(a)) = (Node::<Ptp>::new(), TestNetns::new()) else { return };
            let result = node.call(&binary, "ADD", "c1", a.path(), &config).result();
            let state = state(&node, &a);
            assert!(node.call(&binary, "DEL", "c1", a.path(), &config).success, "{whose}");
            // The next container gets the same address again.
            std::fs::remove_dir_all(data.path().join("n1")).unwrap_or_default();
            seen.push((normal(result), state.join("\n")));
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
