//! Beside Go's plugin: either undoes what the other has made, and both say and make the same.

use bandwidth::Bandwidth;
use plugin_attach::testing::{Node, Pair, normal};
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

use crate::{both_ways, config, ifbs, on_end, pair};

fn both() -> Option<Pair> {
    Pair::new("bandwidth", env!("CARGO_BIN_EXE_bandwidth"))
}

fn scene() -> Option<(Node<Bandwidth>, TestNetns)> {
    let (node, container) = (Node::<Bandwidth>::new()?, TestNetns::new()?);
    pair(&node.netns, &container, "eth0", "veth0");
    Some((node, container))
}

/// The configurations that both know.
fn configs() -> Vec<Value> {
    vec![
        config("1.0.0", &both_ways()),
        config("0.4.0", &json!({"ingressRate": 10_000_000, "ingressBurst": 2_000_000_000})),
        config("0.3.1", &json!({"egressRate": 8_001, "egressBurst": 40_007})),
        config("1.0.0", &json!({"runtimeConfig": {"bandwidth": both_ways()}})),
        config(
            "1.0.0",
            &json!({"egressRate": 40_000_000_000_u64, "egressBurst": 80_000_000, "runtimeConfig": {"bandwidth": both_ways()}}),
        ),
        config("1.0.0", &json!({})),
    ]
}

/// What is there, without what differs each time; the second action of Go's filter is left out.
fn state(node: &Node<Bandwidth>) -> String {
    let host = node.netns.netlink().unwrap();
    let mut lines = Vec::new();
    for link in host.links().unwrap() {
        if link.name == "lo" {
            continue;
        }
        lines.push(format!(
            "{} {:?} mtu {} queue {} up {}",
            link.name,
            link.kind,
            link.mtu,
            link.tx_queue,
            link.is_up()
        ));
        for qdisc in host.qdiscs(&link).unwrap() {
            lines.push(format!("{qdisc:?}"));
        }
        let mut redirects = host.redirects(&link).unwrap();
        redirects.dedup();
        lines.push(format!("redirects {}", redirects.len()));
        let filters = node.netns.command("tc", ["filter", "show", "dev", &link.name, "parent", "ffff:"]);
        lines.extend(
            filters.lines().filter(|line| line.contains("u32") || line.contains("match")).map(str::to_owned),
        );
    }
    lines.join("\n")
}

#[test]
fn both_say_and_make_the_same() {
    let Some(pair) = both() else { return };
    for config in configs() {
        let mut seen = Vec::new();
        for (whose, binary) in pair.both() {
            let Some((node, a)) = scene() else { return };
            let result = node.call(&binary, "ADD", "c1", a.path(), &config).result();
            let state = state(&node);
            assert!(node.call(&binary, "DEL", "c1", a.path(), &config).success, "{whose}");
            assert!(ifbs(&node.netns.netlink().unwrap()).is_empty());
            seen.push((normal(result), state));
        }
        let [go, ours] = seen.as_slice() else { panic!("two") };
        assert_eq!(ours.0, go.0, "{config}");
        assert_eq!(ours.1, go.1, "{config}\nours:\n{}\nGo's:\n{}", ours.1, go.1);
    }
}

#[test]
fn either_checks_and_undoes_what_the_other_has_made() {
    let Some(pair) = both() else { return };
    for config in configs() {
        for [(maker, first), (other, second)] in pair.either_way() {
            let Some((node, a)) = scene() else { return };
            let result = node.call(&first, "ADD", "c1", a.path(), &config).result();
            let mut request = config.clone();
            request["prevResult"] = result;
            // Go's panics without limits.
            let go_panics = other == "Go's" && on_end(&node.netns.netlink().unwrap(), "veth0") == (0, 0, 0);
            if config["cniVersion"].as_str().unwrap() >= "0.4.0" && !go_panics {
                let checked = node.call(&second, "CHECK", "c1", a.path(), &request);
                assert!(checked.success, "made by {maker}, checked by {other}: {config}: {checked:?}");
            }
            let deleted = node.call(&second, "DEL", "c1", a.path(), &request);
            assert!(deleted.success, "made by {maker}, deleted by {other}: {config}: {deleted:?}");
            assert!(ifbs(&node.netns.netlink().unwrap()).is_empty(), "made by {maker}: {config}");
        }
    }
}

#[test]
fn errors_begin_as_gos_do() {
    let Some(pair) = both() else { return };
    let with = |change: &dyn Fn(&mut Value)| {
        let mut config = config("1.0.0", &both_ways());
        change(&mut config);
        config
    };
    for config in [
        with(&|config| config["ingressBurst"] = json!(0)),
        with(&|config| config["egressRate"] = json!(0)),
        with(&|config| config["egressBurst"] = json!(34_359_738_360_u64)),
        with(&|config| drop(config.as_object_mut().unwrap().remove("prevResult"))),
        with(&|config| config["prevResult"]["interfaces"] = json!([])),
        with(&|config| config["prevResult"]["interfaces"][0]["name"] = json!("veth7")),
        with(&|config| config["prevResult"]["interfaces"][0]["sandbox"] = json!("eth0")),
    ] {
        let told = pair.both().map(|(_, binary)| {
            let Some((node, a)) = scene() else { return String::new() };
            let mut config = config.clone();
            if config["prevResult"]["interfaces"] == json!([]) {
                config["prevResult"]["ips"] = json!([]);
            }
            let answer = node.call(&binary, "ADD", "c1", a.path(), &config);
            answer.stdout["msg"].as_str().unwrap_or_default().to_owned()
        });
        let [go, ours] = &told;
        assert!(!go.is_empty() && ours.starts_with(go.as_str()), "{ours:?} is not {go:?}");
    }
    // What is there already.
    let told = pair.both().map(|(_, binary)| {
        let Some((node, a)) = scene() else { return String::new() };
        let config = config("1.0.0", &both_ways());
        node.call(&binary, "ADD", "c1", a.path(), &config).result();
        let answer = node.call(&binary, "ADD", "c1", a.path(), &config);
        answer.stdout["msg"].as_str().unwrap_or_default().to_owned()
    });
    assert!(told[1].starts_with(&told[0]), "{told:?}");
}
