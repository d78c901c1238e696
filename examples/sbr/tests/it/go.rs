//! Beside Go's plugin: either undoes what the other has made, and both say and make the same.

use std::io::Write as _;
use std::process::{Command, Stdio};

use plugin_attach::testing::{Binary, Pair, normal};
use serde_json::{Value, json};

use crate::kernel::Scene;
use crate::{config, state};

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

/// Without routes of the other family, which Go's has in every table.
fn of_family(lines: Vec<String>) -> Vec<String> {
    let strange = |line: &String| {
        line.contains("fd02") && (line.starts_with("table 100") || line.starts_with("table 101"))
    };
    lines.into_iter().filter(|line| !strange(line)).collect()
}

#[test]
fn both_say_and_make_the_same() {
    let Some(pair) = both() else { return };
    for config in configs() {
        let mut seen = Vec::new();
        for (whose, binary) in pair.both() {
            let Some(scene) = Scene::new() else { return };
            let (added, result) = call(&scene, &binary, "ADD", &config);
            assert!(added, "{whose}: {result}");
            // Indexes are the same in either container.
            seen.push((normal(result), of_family(state(&scene.container.netlink().unwrap()))));
        }
        let [go, ours] = seen.as_slice() else { panic!("two") };
        assert_eq!(ours.0, go.0, "{config}");
        assert_eq!(ours.1, go.1, "{config}");
    }
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

#[test]
fn errors_begin_as_gos_do() {
    let Some(pair) = both() else { return };
    let with = |change: &dyn Fn(&mut Value)| {
        let mut config = config("1.0.0", &json!({}));
        change(&mut config);
        config
    };
    for config in [
        with(&|config| drop(config.as_object_mut().unwrap().remove("prevResult"))),
        with(&|config| config["prevResult"]["ips"] = json!([])),
        with(&|config| config["prevResult"]["ips"][0]["gateway"] = json!("192.0.2.77")),
    ] {
        let told = pair.both().map(|(_, binary)| {
            let Some(scene) = Scene::new() else { return String::new() };
            call(&scene, &binary, "ADD", &config).1["msg"].as_str().unwrap_or_default().to_owned()
        });
        let [go, ours] = &told;
        // The kernel's words come last.
        let go = go.rsplit_once(": ").map_or(go.as_str(), |(attempt, _)| attempt);
        assert!(!go.is_empty() && ours.starts_with(go), "{ours:?} is not {go:?}");
    }
}
