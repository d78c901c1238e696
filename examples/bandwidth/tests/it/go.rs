//! Beside Go's plugin: either checks and undoes what the other has made. That both say and make the same is shown by
//! `side_by_side` in `tests/`.

use bandwidth::Bandwidth;
use plugin_attach::testing::{Node, Pair};
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
