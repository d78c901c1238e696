//! `gc`: what stays and what goes.

use serde_json::json;

use crate::support::{Host, Outcome};

const T: &str = "/run/netns/t";
const T_ID: &str = "cnitool-51165886969c747c11b1";

/// A network `n1` of version 1.1.0 to which `/run/netns/t` is attached by eth0 and eth7, and `/run/netns/u` by eth0.
fn host() -> Host {
    let host = Host::new();
    host.network("n1", &["bridge"])
        .plugin("bridge", &[("ADD", r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"}]}"#)]);
    for (netns, ifname) in [(T, "eth0"), (T, "eth7"), ("/run/netns/u", "eth0")] {
        host.cnitool(&["add", "n1", netns, "-i", ifname]).good();
    }
    host.take_calls();
    host
}

/// Runs GC, and gives what is left of the files and what the plugin was told to leave alone.
fn gc(host: &Host, valid: &[&str]) -> (Outcome, Vec<String>, serde_json::Value) {
    let outcome = host.cnitool(&[&["gc", "n1"], valid].concat()).good();
    (outcome, host.cached(), host.stdin("bridge", "GC")["cni.dev/valid-attachments"].clone())
}

#[test]
fn c53_without_attachments_everything_goes() {
    let host = host();
    let (outcome, cached, told) = gc(&host, &[]);
    insta::assert_snapshot!(outcome.stdout, @"
    deleted cnitool-51165886969c747c11b1 eth0
    deleted cnitool-51165886969c747c11b1 eth7
    deleted cnitool-9dc758346e7a1782feeb eth0
    ");
    assert!(cached.is_empty());
    assert_eq!(told, json!([]));
    let mut calls = host.calls();
    calls.sort();
    assert_eq!(calls, ["DEL bridge eth0", "DEL bridge eth0", "DEL bridge eth7", "GC bridge"]);
}

#[test]
fn c53_the_id_is_that_of_the_path_alone() {
    let host = host();
    let (outcome, cached, told) = gc(&host, &["/run/netns/t:eth0"]);
    insta::assert_snapshot!(outcome.stdout, @"
    deleted cnitool-51165886969c747c11b1 eth7
    deleted cnitool-9dc758346e7a1782feeb eth0
    ");
    assert_eq!(cached, [format!("n1-{T_ID}-eth0")]);
    assert_eq!(told, json!([{"containerID": T_ID, "ifname": "eth0"}]));
}

#[test]
fn without_an_interface_all_of_a_namespace_stay() {
    let host = host();
    let (_, cached, told) = gc(&host, &["/run/netns/x/../t"]);
    assert_eq!(cached, [format!("n1-{T_ID}-eth0"), format!("n1-{T_ID}-eth7")]);
    assert_eq!(
        told,
        json!([{"containerID": T_ID, "ifname": "eth0"}, {"containerID": T_ID, "ifname": "eth7"}])
    );

    // Somebody says which interface is meant.
    let (_, cached, _) = gc(&host, &[T, "--ifname", "eth7"]);
    assert_eq!(cached, [format!("n1-{T_ID}-eth7")]);

    // One that the cache does not know is told by the name it would have.
    let (_, _, told) = gc(&host, &["/run/netns/v"]);
    assert_eq!(told[0]["ifname"], "eth0");
}

#[test]
fn a_namespace_with_a_colon_in_its_name_is_not_taken_for_another() {
    let host = Host::new();
    host.network("n1", &["bridge"])
        .plugin("bridge", &[("ADD", r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"}]}"#)]);
    host.write("a:b", "");
    host.cnitool(&["add", "n1", "a:b"]).good();
    let kept = host.cached();
    assert_eq!(gc(&host, &["a:b"]).1, kept);
    assert_eq!(gc(&host, &["a:b:eth0"]).1, kept);
    assert_eq!(gc(&host, &["a:c"]).1, [""; 0]);
}

#[test]
fn what_went_is_told_as_json_too_and_when_a_plugin_failed() {
    let host = host();
    host.failing("bridge", "GC", 100, "no");
    let outcome = host.cnitool(&["gc", "n1", "/run/netns/t:eth0", "--json"]);
    assert_eq!(outcome.status, 1);
    let told = outcome.json();
    assert_eq!((&told["command"], &told["network"]), (&json!("GC"), &json!("n1")));
    assert_eq!(told["valid"], json!([{"containerID": T_ID, "ifname": "eth0"}]));
    assert_eq!(told["deleted"].as_array().unwrap().len(), 2);
    let [error] = &outcome.events()[..] else { panic!("{outcome}") };
    assert_eq!(error["code"], 100);
}

#[test]
fn an_old_network_is_cleaned_without_its_plugins() {
    let host = Host::new();
    host.conf("10-n1.conflist", r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge"}]}"#)
        .plugin("bridge", &[("ADD", r#"{"cniVersion":"1.0.0","ips":[{"address":"10.1.0.5/16"}]}"#)]);
    host.cnitool(&["add", "n1", T]).good();
    host.take_calls();
    let outcome = host.cnitool(&["gc", "n1"]);
    insta::assert_snapshot!(outcome, @r#"
    exit status 0
    --- stdout
    deleted cnitool-51165886969c747c11b1 eth0
    --- stderr
    note: the plugins of network "n1" were not called: GC exists from 1.1.0 on, and its version is 1.0.0
    "#);
    assert_eq!(host.calls(), ["DEL bridge eth0"]);
}

#[test]
fn a_bad_name_is_refused_before_anything_goes() {
    let host = host();
    let outcome = host.cnitool(&["gc", "n1", "/run/netns/t:"]).bad(2);
    assert!(outcome.stderr.starts_with("error: NETNS[:IFNAME]: "), "{outcome}");
    assert_eq!((host.cached().len(), host.calls().len()), (3, 0));
}
