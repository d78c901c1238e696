//! Beside Go's plugin, as far as a kernel without such links lets one look.

use plugin_attach::testing::{Node, Pair};
use plugin_support::testing::TestNetns;
use serde_json::json;
use vlan::Vlan;

use crate::config;

#[test]
fn errors_say_what_gos_do() {
    let Some(pair) = Pair::new("vlan", env!("CARGO_BIN_EXE_vlan")) else { return };
    for keys in [
        json!({"master": ""}),
        json!({"vlanId": 4095}),
        json!({"vlanId": -1}),
        json!({"mtu": 9000}),
        json!({"master": "gone"}),
        json!({"linkInContainer": true, "master": "gone"}),
    ] {
        let mut config = config(&keys);
        config["cniVersion"] = json!("1.0.0");
        let told = pair.both().map(|(_, binary)| {
            let (Some(node), Some(a)) = (Node::<Vlan>::new(), TestNetns::new()) else { return String::new() };
            node.netns.ip("link add up0 type bridge");
            let answer = node.call(&binary, "ADD", "c1", a.path(), &config);
            answer.stdout["msg"].as_str().unwrap_or_default().to_owned()
        });
        let [go, ours] = &told;
        assert!(!go.is_empty() && ours.contains(go.trim_end_matches('.')), "{keys}: {ours:?} is not {go:?}");
    }
}
