//! Go's plugin and ours on the same rules: both make the same, and what either makes, the other finds good and takes down.

use plugin_attach::testing::{GO, Pair, normal};
use serde_json::{Value, json};

use super::lab::{C1, C2, Lab};

/// Configurations. Debian's release does not know `isolated` yet.
fn cases() -> Vec<(&'static str, Value)> {
    vec![
        ("the usual", json!({})),
        ("another administrator", json!({"iptablesAdminChainName": "MY-ADMIN"})),
        ("kept apart", json!({"ingressPolicy": "same-bridge"})),
    ]
}

fn pair() -> Option<Pair> {
    Pair::new("firewall", env!("CARGO_BIN_EXE_firewall"))
}

#[test]
fn both_make_the_same_rules() {
    let Some(pair) = pair() else { return };
    for (case, keys) in cases() {
        let mut seen = Vec::new();
        for (_, binary) in pair.both() {
            let Some(lab) = Lab::new("iptables", "DROP") else { return };
            let mut steps = Vec::new();
            // Twice each, and one after the other.
            for (id, place) in [("c1", C1), ("c2", C2), ("c1", C1)] {
                let config = lab.chained(&keys, place);
                let answer = lab.node.call(&binary, "ADD", id, lab.c1.path(), &config).result();
                steps.push((normal(answer), lab.saved()));
            }
            for (id, place) in [("c1", C1), ("c1", C1), ("c2", C2)] {
                let config = lab.chained(&keys, place);
                lab.node.call(&binary, "DEL", id, lab.c1.path(), &config).result();
                steps.push((Value::Null, lab.saved()));
            }
            // Go's keeps bridges apart for ever.
            if let Some((_, saved)) = steps.last_mut() {
                let stays = |line: &&str| !line.contains(" br0 ");
                *saved = saved.lines().filter(stays).collect::<Vec<_>>().join("\n");
            }
            seen.push(steps);
        }
        assert_eq!(seen[0], seen[1], "{case}");
    }
}

#[test]
fn either_finds_good_and_takes_down_what_the_other_made() {
    let Some(pair) = pair() else { return };
    for (case, keys) in cases() {
        for [(who, maker), (other, taker)] in pair.either_way() {
            let Some(lab) = Lab::new("iptables", "DROP") else { return };
            let config = lab.chained(&keys, C1);
            let call = |binary, verb| lab.node.call(binary, verb, "c1", lab.c1.path(), &config).result();
            call(&maker, "ADD");
            let made = lab.saved();
            assert_eq!(lab.rules_of(C1.v4) + lab.rules_of(C1.v6), 4, "{case} {who}");
            call(&taker, "CHECK");
            assert_eq!(lab.saved(), made, "{case}: CHECK by {other}");
            call(&taker, "DEL");
            assert_eq!(
                lab.rules_of(C1.v4) + lab.rules_of(C1.v6),
                0,
                "{case}: made by {who}, taken down by {other}"
            );
            // A second ADD by the first, with what the other has left of the rest.
            call(&maker, "ADD");
            assert_eq!(lab.saved(), made, "{case} {who}");
        }
    }
    assert!(std::path::Path::new(GO).is_dir());
}

#[test]
fn both_refuse_the_same() {
    let Some(pair) = pair() else { return };
    let Some(lab) = Lab::new("iptables", "DROP") else { return };
    let mut told = Vec::new();
    for (_, binary) in pair.both() {
        let bad_policy = lab.chained(&json!({"ingressPolicy": "x"}), C1);
        let mut no_bridge = lab.chained(&json!({"ingressPolicy": "same-bridge"}), C1);
        no_bridge["prevResult"]["interfaces"] = json!([]);
        no_bridge["prevResult"]["ips"] = json!([{"address": "10.2.0.2/24"}]);
        let alone = lab.config(&json!({}));
        let msgs: Vec<_> = [bad_policy, no_bridge, alone]
            .into_iter()
            .map(|config| lab.node.call(&binary, "ADD", "c1", lab.c1.path(), &config).stdout["msg"].clone())
            .collect();
        told.push(msgs);
    }
    assert_eq!(told[0], told[1]);
}
