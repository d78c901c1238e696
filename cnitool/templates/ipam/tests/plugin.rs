//! The plugin as another plugin calls it, without root and without a network namespace.

use std::collections::BTreeSet;

use cni_skel::testing::{Invocation, Outcome, conformance};
use my_plugin::MyPlugin;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The configuration of `conformance.json`, with reservations in a directory of the test's own.
fn config(dir: &TempDir) -> Value {
    let mut config: Value = serde_json::from_str(include_str!("../conformance.json")).unwrap();
    config["cniVersion"] = json!("1.1.0");
    config["ipam"]["dataDir"] = json!(dir.path());
    config
}

fn add(config: &Value, container: &str) -> Outcome {
    Invocation::add(container, "/run/netns/x", "eth0")
        .config(config)
        .run(&MyPlugin)
}

fn address(config: &Value, container: &str) -> String {
    let outcome = add(config, container);
    outcome.assert_success();
    outcome.result().ips[0].address.to_string()
}

fn del(config: &Value, container: &str) {
    Invocation::del(container, "eth0")
        .config(config)
        .run(&MyPlugin)
        .assert_success();
}

#[test]
fn keeps_the_spec() {
    let dir = tempfile::tempdir().unwrap();
    conformance(&MyPlugin, config(&dir)).assert_passes();
}

#[test]
fn the_same_attachment_has_the_same_address_until_del() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    let first = address(&config, "c1");
    assert_eq!(first, "10.77.0.2/24", "the first one is the gateway's");
    assert_eq!(address(&config, "c1"), first);
    assert_eq!(address(&config, "c2"), "10.77.0.3/24");
    del(&config, "c1");
    del(&config, "c1");
    assert_eq!(address(&config, "c3"), first);
}

#[test]
fn the_runtime_is_asked_to_try_again_when_all_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    config["ipam"]["subnet"] = json!("10.77.0.0/30");
    let status = || Invocation::status().config(&config).run(&MyPlugin);
    status().assert_success();
    assert_eq!(address(&config, "c1"), "10.77.0.2/30");
    add(&config, "c2").assert_error(11);
    status().assert_error(50);
    del(&config, "c1");
    assert_eq!(address(&config, "c2"), "10.77.0.2/30");
}

#[test]
fn ipv6_is_given_out_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    config["ipam"] = json!({"type": "my-plugin", "subnet": "fd00::/64", "dataDir": dir.path()});
    let result = add(&config, "c1").result();
    assert_eq!(result.ips[0].address.to_string(), "fd00::2/64");
    assert_eq!(result.ips[0].gateway.unwrap().to_string(), "fd00::1");
}

#[test]
fn check_wants_the_reserved_address_in_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    let check = |result: &Value| {
        Invocation::check("c1", "/run/netns/x", "eth0")
            .config(&config)
            .prev_result(result)
            .run(&MyPlugin)
    };
    let result = add(&config, "c1").json();
    check(&result).assert_success();
    check(&json!({"ips": []})).assert_error(999);
    del(&config, "c1");
    check(&result).assert_error(999);
}

#[test]
fn gc_takes_back_what_belongs_to_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    let first = address(&config, "c1");
    let second = address(&config, "c2");
    Invocation::gc([("c2", "eth0")])
        .config(&config)
        .run(&MyPlugin)
        .assert_success();
    assert_eq!(address(&config, "c2"), second);
    assert_eq!(address(&config, "c3"), first);
}

#[test]
fn attachments_that_come_at_once_have_different_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    let addresses: BTreeSet<String> = std::thread::scope(|scope| {
        let config = &config;
        let threads: Vec<_> = (0..8)
            .map(|n| scope.spawn(move || address(config, &format!("c{n}"))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(addresses.len(), 8);
}

#[test]
fn a_gateway_elsewhere_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    config["ipam"]["gateway"] = json!("10.78.0.1");
    assert!(
        add(&config, "c1")
            .assert_error(7)
            .msg
            .contains("ipam.gateway 10.78.0.1")
    );
}
