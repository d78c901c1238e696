//! The plugin as a runtime calls it, without root and without a network namespace.

use cni_skel::testing::{Invocation, Outcome, conformance};
use my_plugin::MyPlugin;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The configuration of `conformance.json`, with records in a directory of the test's own.
fn config(dir: &TempDir) -> Value {
    let mut config: Value = serde_json::from_str(include_str!("../conformance.json")).unwrap();
    config["cniVersion"] = json!("1.1.0");
    config["dir"] = json!(dir.path());
    config
}

fn add(config: &Value) -> Outcome {
    Invocation::add("c1", "/run/netns/c1", "eth0")
        .config(config)
        .run(&MyPlugin)
}

fn record(dir: &TempDir) -> Option<Value> {
    let json = std::fs::read(dir.path().join("my-plugin-net/c1:eth0.json")).ok()?;
    Some(serde_json::from_slice(&json).unwrap())
}

#[test]
fn keeps_the_spec() {
    let dir = tempfile::tempdir().unwrap();
    conformance(&MyPlugin, config(&dir)).assert_passes();
}

#[test]
fn add_writes_down_the_addresses_and_passes_everything_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    config["prevResult"]["com.example.key"] = json!("of somebody else");
    let outcome = add(&config);
    outcome.assert_success();
    assert_eq!(outcome.json()["com.example.key"], "of somebody else");
    assert_eq!(outcome.json()["ips"], config["prevResult"]["ips"]);
    let expected = json!({"containerId": "c1", "ifname": "eth0", "addresses": ["198.51.100.5/24"]});
    assert_eq!(record(&dir), Some(expected));
}

#[test]
fn add_needs_a_plugin_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    config.as_object_mut().unwrap().remove("prevResult");
    add(&config).assert_error(7);
}

#[test]
fn check_finds_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    let check = || {
        Invocation::check("c1", "/run/netns/c1", "eth0")
            .config(&config)
            .run(&MyPlugin)
    };
    assert!(check().assert_error(999).msg.contains("missing"));
    add(&config).assert_success();
    check().assert_success();
}

#[test]
fn del_succeeds_again_and_without_anything() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    add(&config).assert_success();
    config.as_object_mut().unwrap().remove("prevResult");
    for _ in 0..2 {
        Invocation::del("c1", "eth0")
            .config(&config)
            .run(&MyPlugin)
            .assert_success();
        assert_eq!(record(&dir), None);
    }
}

#[test]
fn gc_removes_what_belongs_to_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    let gc = |valid: Vec<(&str, &str)>| Invocation::gc(valid).config(&config).run(&MyPlugin);
    gc(vec![]).assert_success();
    add(&config).assert_success();
    gc(vec![("c1", "eth0")]).assert_success();
    assert!(record(&dir).is_some());
    gc(vec![("c1", "eth1")]).assert_success();
    assert_eq!(record(&dir), None);
}
