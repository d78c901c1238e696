//! Beside Go's plugin, as far as a kernel without such links lets one look.

use ipvlan::Ipvlan;
use plugin_attach::testing::{Node, Pair};
use plugin_support::testing::TestNetns;
use serde_json::json;

use crate::config;

#[test]
fn errors_say_what_gos_do() {
    let Some(pair) = Pair::new("ipvlan", env!("CARGO_BIN_EXE_ipvlan")) else { return };
    for keys in [
        json!({"mode": "l4"}),
        json!({"master": "gone"}),
        json!({"master": ""}),
        json!({"prevResult": {"cniVersion": "1.0.0", "interfaces": []}, "master": ""}),
    ] {
        let mut config = config(&keys);
        config["cniVersion"] = json!("1.0.0");
        let told = pair.both().map(|(_, binary)| {
            let (Some(node), Some(a)) = (Node::<Ipvlan>::new(), TestNetns::new()) else {
                return String::new();
            };
            node.netns.ip("link add up0 type bridge");
            let answer = node.call(&binary, "ADD", "c1", a.path(), &config);
            answer.stdout["msg"].as_str().unwrap_or_default().to_owned()
        });
        let [go, ours] = &told;
        assert!(!go.is_empty() && ours.contains(go.trim_end_matches('.')), "{keys}: {ours:?} is not {go:?}");
    }
}
