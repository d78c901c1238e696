//! Beside Go's plugin: either checks and undoes what the other has made. That both say and make the same is shown by
//! `side_by_side` in `tests/`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use plugin_attach::testing::{Binary, Pair};
use serde_json::{Value, json};

use crate::config;
use crate::kernel::Scene;

fn both() -> Option<Pair> {
    Pair::new("sbr", env!("CARGO_BIN_EXE_sbr"))
}

/// Runs a plugin's binary for `net1`.
fn call(scene: &Scene, binary: &Binary<'_>, command: &str, config: &Value) -> (bool, Value) {
    let mut process = Command::new(binary.path);
    process
        .env("CNI_COMMAND", command)
        .env("CNI_CONTAINERID", "c1")
        .env("CNI_NETNS", scene.container.path())
        .env("CNI_IFNAME", "net1")
        .env("CNI_PATH", binary.cni_path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = scene.node.netns.run(|| process.spawn()).unwrap().unwrap();
    child.stdin.take().unwrap().write_all(config.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

/// The configurations that both know.
fn configs() -> Vec<Value> {
    ["1.0.0", "0.4.0", "0.3.1"].map(|version| config(version, &json!({}))).into()
}

#[test]
fn either_checks_and_undoes_what_the_other_has_made() {
    let Some(pair) = both() else { return };
    for config in configs() {
        for [(maker, first), (other, second)] in pair.either_way() {
            let Some(scene) = Scene::new() else { return };
            assert!(call(&scene, &first, "ADD", &config).0);
            if config["cniVersion"].as_str().unwrap() >= "0.4.0" {
                let checked = call(&scene, &second, "CHECK", &config);
                assert!(checked.0, "made by {maker}, checked by {other}: {checked:?}");
            }
            let deleted = call(&scene, &second, "DEL", &config);
            assert!(deleted.0, "made by {maker}, deleted by {other}: {deleted:?}");
            let rules = scene.container.netlink().unwrap().rules().unwrap();
            assert!(rules.iter().all(|rule| rule.source.is_none()), "made by {maker}: {rules:?}");
        }
    }
}
