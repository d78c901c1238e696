//! The plugin on a real kernel, in a namespace of the test's own. Needs root.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use cni_skel::testing::Invocation;
use loopback::Loopback;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

fn config(version: &str) -> Value {
    json!({"cniVersion": version, "name": "lo", "type": "loopback"})
}

fn is_up(netns: &TestNetns) -> bool {
    netns.ip("-o link show lo").contains("LOOPBACK,UP")
}

#[test]
fn c70_alone_it_reports_lo_and_its_addresses() {
    let Some(netns) = TestNetns::new() else { return };
    assert!(!is_up(&netns), "a fresh namespace has lo down");
    let outcome = Invocation::add("c1", netns.path(), "lo").config(config("1.0.0")).run(&Loopback);
    outcome.assert_success();
    assert!(is_up(&netns));
    let result = outcome.result();
    assert_eq!(result.interfaces.len(), 1);
    let lo = &result.interfaces[0];
    assert_eq!((lo.name.as_str(), lo.mac.as_deref()), ("lo", Some("00:00:00:00:00:00")));
    assert_eq!(lo.sandbox.as_deref(), netns.path().to_str());
    let addresses: Vec<_> = result.ips_of(0).map(|ip| ip.address.to_string()).collect();
    assert_eq!(addresses, ["127.0.0.1/8", "::1/128"]);
}

#[test]
fn c70_in_a_chain_it_passes_the_result_on_unchanged() {
    let Some(netns) = TestNetns::new() else { return };
    let prev_result = json!({
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "eth0", "sandbox": "/run/netns/x", "example.com/x": 1}],
        "ips": [{"interface": 0, "address": "10.1.0.5/24"}],
    });
    let call = Invocation::add("c1", netns.path(), "eth0").config(config("1.0.0")).prev_result(&prev_result);
    let outcome = call.run(&Loopback);
    outcome.assert_success();
    assert_eq!(outcome.json(), prev_result);
    assert!(is_up(&netns));
}

#[test]
fn check_sees_a_link_that_is_down_and_a_lost_address() {
    let Some(netns) = TestNetns::new() else { return };
    let added = Invocation::add("c1", netns.path(), "lo").config(config("1.0.0")).run(&Loopback).json();
    let check = || {
        let call = Invocation::check("c1", netns.path(), "lo").config(config("1.0.0")).prev_result(&added);
        call.run(&Loopback)
    };
    check().assert_success();
    netns.ip("addr del 127.0.0.1/8 dev lo");
    assert!(check().assert_error(999).msg.contains("lost its address 127.0.0.1/8"));
    netns.ip("link set lo down");
    assert!(check().assert_error(999).msg.contains("loopback interface is down"));
}

#[test]
fn an_address_that_is_no_loopback_address_is_refused_with_the_link_left_down() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("addr add 10.1.1.1/24 dev lo");
    let outcome = Invocation::add("c1", netns.path(), "lo").config(config("1.0.0")).run(&Loopback);
    let error = outcome.assert_error(999);
    assert_eq!(error.msg, r#"loopback interface found with non-loopback address "10.1.1.1""#);
    assert!(!is_up(&netns));
}

#[test]
fn c22_del_succeeds_twice_without_a_namespace_and_before_add() {
    let Some(netns) = TestNetns::new() else { return };
    let del = || Invocation::del("c1", "lo").config(config("1.0.0"));
    del().netns(netns.path()).run(&Loopback).assert_success();
    Invocation::add("c1", netns.path(), "lo").config(config("1.0.0")).run(&Loopback).assert_success();
    del().netns(netns.path()).run(&Loopback).assert_success();
    assert!(!is_up(&netns));
    for call in [del(), del().netns(""), del().netns("/run/netns/long-gone"), del().netns(netns.path())] {
        call.run(&Loopback).assert_success();
    }
}

#[test]
fn a_path_that_is_no_namespace_is_told() {
    let file = std::env::current_exe().unwrap();
    let outcome = Invocation::add("c1", &file, "lo").config(config("1.0.0")).run(&Loopback);
    assert!(outcome.assert_error(999).msg.contains("unknown FS magic on"), "{:?}", outcome.error());
    let outcome = Invocation::add("c1", "/does/not/exist", "lo").config(config("1.0.0")).run(&Loopback);
    assert!(outcome.assert_error(999).msg.contains("failed to Statfs"), "{:?}", outcome.error());
}
