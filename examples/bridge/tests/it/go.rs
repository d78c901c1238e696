//! Beside Go's plugin: either undoes what the other has made, and both say the same.
//!
//! Go's binary is that of Debian's `containernetworking-plugins`; what it does not know yet is not compared.

use std::path::{Path, PathBuf};

use plugin_support::testing::{TestNetns, skip};
use serde_json::{Value, json};

use crate::kernel::{Binary, Node, has_tools};

const GO: &str = "/usr/lib/cni";

struct Pair {
    go: PathBuf,
    ours: PathBuf,
    data: tempfile::TempDir,
}

impl Pair {
    fn new() -> Option<Self> {
        let go = Path::new(GO).join("bridge");
        for path in [&go, &Path::new(GO).join("host-local")] {
            if !path.exists() {
                skip(&format!("no Go plugin {path:?}"));
                return None;
            }
        }
        if !has_tools(&["iptables-save", "nft"]) {
            return None;
        }
        Some(Self { go, ours: env!("CARGO_BIN_EXE_bridge").into(), data: tempfile::tempdir().unwrap() })
    }

    fn both(&self) -> [(&str, Binary<'_>); 2] {
        [
            ("Go's", Binary { path: &self.go, cni_path: GO }),
            ("ours", Binary { path: &self.ours, cni_path: GO }),
        ]
    }

    /// The configurations that both know.
    fn configs(&self) -> Vec<Value> {
        let v4 = json!([[{"subnet": "10.1.0.0/24"}]]);
        let dual = json!([[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]);
        let routes = json!([{"dst": "0.0.0.0/0"}]);
        let keys = [
            json!({}),
            json!({"mtu": 1400, "hairpinMode": true}),
            json!({"promiscMode": true, "ranges": v4}),
            json!({"isGateway": true, "ranges": v4, "routes": routes}),
            json!({"isDefaultGateway": true, "ranges": v4}),
            json!({"isGateway": true, "ipMasq": true, "ranges": v4, "routes": routes}),
            json!({"isGateway": true, "ipMasq": true, "macspoofchk": true, "ranges": dual}),
            json!({"isGateway": true, "dns": {"nameservers": ["10.1.0.1"]}, "ranges": dual, "args": {"cni": {"mac": "0a:58:0a:01:00:05"}}}),
        ];
        let config = |version: &str, keys: &Value| {
            let mut config = json!({"cniVersion": version, "name": "n1", "type": "bridge", "bridge": "br0"});
            config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
            if let Some(ranges) = keys.get("ranges") {
                config["ipam"] = json!({"type": "host-local", "dataDir": self.data.path(), "ranges": ranges});
                if let Some(routes) = keys.get("routes") {
                    config["ipam"]["routes"] = routes.clone();
                }
            }
            config
        };
        let newest = keys.iter().map(|keys| config("1.0.0", keys));
        let older = ["0.2.0", "0.3.1", "0.4.0"].map(|version| config(version, &keys[3]));
        newest.chain(older).collect()
    }
}

/// A result without what differs each time, and without the MTU, which Debian's plugin does not know. Go's prints `dns`
/// though there is none.
fn normal(mut result: Value) -> Value {
    result.as_object_mut().unwrap().retain(|key, value| key != "dns" || *value != json!({}));
    let interfaces = result.get_mut("interfaces").and_then(Value::as_array_mut);
    for interface in interfaces.into_iter().flatten() {
        let interface = interface.as_object_mut().unwrap();
        interface.remove("mtu");
        interface.insert("mac".into(), json!("*"));
        for key in ["name", "sandbox"] {
            if interface.get(key).is_some_and(|name| name.as_str().unwrap().starts_with(['v', '/'])) {
                interface.insert(key.into(), json!("*"));
            }
        }
    }
    result
}

/// What is in the kernel, without what differs each time.
fn state(node: &Node, container: &TestNetns) -> Vec<String> {
    let host = node.netns.netlink().unwrap();
    let inside = container.netlink().unwrap();
    let mut lines = Vec::new();
    for (netlink, side) in [(&host, "host"), (&inside, "container")] {
        for link in netlink.links().unwrap() {
            let name = if link.name.starts_with("veth") { "veth*" } else { &link.name };
            lines.push(format!(
                "{side} {name} {:?} mtu {} up {} promisc {} port {:?}",
                link.kind,
                link.mtu,
                link.is_up(),
                link.flags.contains(plugin_support::netlink::LinkFlags::Promisc),
                link.port
            ));
            let addresses = netlink.addresses(&link).unwrap();
            let global = addresses.iter().filter(|address| !address.network.to_string().starts_with("fe80"));
            lines.extend(
                global.map(|a| format!("{side} {name} {} {:?} {:?}", a.network, a.broadcast, a.scope)),
            );
        }
        for filter in [plugin_support::netlink::RouteFilter::v4(), plugin_support::netlink::RouteFilter::v6()]
        {
            let routes = netlink.routes(&filter).unwrap();
            let own = routes.iter().filter(|route| !route.destination.to_string().starts_with("fe80"));
            lines.extend(own.map(|route| {
                format!(
                    "{side} {} {:?} {:?} {:?}",
                    route.destination, route.gateway, route.scope, route.protocol
                )
            }));
        }
    }
    for key in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding", "net/ipv6/conf/br0/accept_ra"] {
        lines.push(format!("{key} {:?}", node.netns.sysctl().read_if_present(key).unwrap()));
    }
    if inside.link("eth0").is_ok() {
        lines.push(container.sysctl().read("net/ipv4/conf/eth0/arp_notify").unwrap());
    }
    for program in ["iptables-save", "ip6tables-save"] {
        let saved = node.netns.command(program, ["-t", "nat"]);
        lines.extend(saved.lines().filter(|line| line.contains("CNI-")).map(str::to_owned));
    }
    let nft = node.netns.command("nft", ["list", "ruleset"]);
    // The table of nat is that of iptables, which was looked at.
    let of_bridge = nft.split("table bridge nat").nth(1).unwrap_or_default().split("\n}").next().unwrap();
    lines.extend(of_bridge.lines().map(str::to_owned));
    lines.iter().map(|line| masked(line)).collect()
}

/// A line without the random names of links and without hardware addresses.
fn masked(line: &str) -> String {
    let word = |word: &str| {
        let plain = word.trim_matches('"');
        let is_mac = plain.len() == 17 && plain.bytes().filter(|byte| *byte == b':').count() == 5;
        if plain.starts_with("veth") || is_mac { "*".to_owned() } else { word.to_owned() }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn both_say_and_make_the_same() {
    let Some(pair) = Pair::new() else { return };
    for config in pair.configs() {
        let mut seen = Vec::new();
        for (whose, binary) in pair.both() {
            let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
            let result = node.call(&binary, "ADD", "c1", a.path(), &config).result();
            let state = state(&node, &a);
            assert!(node.call(&binary, "DEL", "c1", a.path(), &config).success, "{whose}");
            // The next container gets the same address again.
            std::fs::remove_dir_all(pair.data.path().join("n1")).unwrap_or_default();
            seen.push((normal(result), state));
        }
        let [go, ours] = seen.as_slice() else { panic!("two") };
        assert_eq!(ours.0, go.0, "{config}");
        let (ours, go) = (ours.1.join("\n"), go.1.join("\n"));
        assert_eq!(ours, go, "{config}\nours:\n{ours}\nGo's:\n{go}");
    }
}

#[test]
fn either_checks_and_undoes_what_the_other_has_made() {
    let Some(pair) = Pair::new() else { return };
    for config in pair.configs() {
        for swapped in [false, true] {
            let [go, ours] = pair.both();
            let ((maker, first), (other, second)) = if swapped { (ours, go) } else { (go, ours) };
            let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return };
            let result = node.call(&first, "ADD", "c1", a.path(), &config).result();
            let mut request = config.clone();
            request["prevResult"] = result;
            let version = config["cniVersion"].as_str().unwrap();
            // Go's plugin cannot check a bridge without IPAM.
            if version >= "0.4.0" && !(swapped && config.get("ipam").is_none()) {
                let checked = node.call(&second, "CHECK", "c1", a.path(), &request);
                assert!(checked.success, "made by {maker}, checked by {other}: {config}: {checked:?}");
            }
            let deleted = node.call(&second, "DEL", "c1", a.path(), &request);
            assert!(deleted.success, "made by {maker}, deleted by {other}: {config}: {deleted:?}");
            assert_eq!(node.links(), ["lo", "br0"], "made by {maker}: {config}");
            let rules = node.rules();
            assert_eq!(rules, "", "made by {maker}, deleted by {other}: {config}");
            let reserved = pair.data.path().join("n1");
            let left =
                std::fs::read_dir(&reserved).into_iter().flatten().map(|entry| entry.unwrap().file_name());
            assert!(
                left.into_iter().all(|name| name == "lock" || name.to_string_lossy().starts_with("last_"))
            );
            std::fs::remove_dir_all(reserved).unwrap_or_default();
        }
    }
}

#[test]
fn containers_of_both_share_a_bridge() {
    let Some(pair) = Pair::new() else { return };
    if !has_tools(&["ping"]) {
        return;
    }
    for swapped in [false, true] {
        let [go, ours] = pair.both();
        let (first, second) = if swapped { (ours, go) } else { (go, ours) };
        let (Some(node), Some(a), Some(b)) = (Node::new(), TestNetns::new(), TestNetns::new()) else {
            return;
        };
        let config = &pair.configs()[6];
        node.call(&first.1, "ADD", "c1", a.path(), config).result();
        node.call(&second.1, "ADD", "c2", b.path(), config).result();
        a.command("ping", ["-c", "1", "-w", "20", "10.1.0.3"]);
        b.command("ping", ["-c", "1", "-w", "20", "10.1.0.1"]);
        for (id, netns, (_, binary)) in [("c1", &a, &second), ("c2", &b, &first)] {
            assert!(node.call(binary, "DEL", id, netns.path(), config).success);
        }
        assert_eq!((node.rules().as_str(), node.links().len()), ("", 2));
        std::fs::remove_dir_all(pair.data.path().join("n1")).unwrap();
    }
}

#[test]
fn errors_begin_as_gos_do() {
    let Some(pair) = Pair::new() else { return };
    for keys in
        [json!({"bridge": "lo"}), json!({"hairpinMode": true, "promiscMode": true}), json!({"vlan": 5000})]
    {
        let mut config = json!({"cniVersion": "1.0.0", "name": "n1", "type": "bridge"});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let told = pair.both().map(|(_, binary)| {
            let (Some(node), Some(a)) = (Node::new(), TestNetns::new()) else { return String::new() };
            let answer = node.call(&binary, "ADD", "c1", a.path(), &config);
            answer.stdout["msg"].as_str().unwrap_or_default().to_owned()
        });
        let [go, ours] = &told;
        assert!(ours.contains(go.trim_end_matches('.')), "{ours:?} is not {go:?}");
    }
}
