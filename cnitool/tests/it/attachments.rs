//! `attachments`: what the cache has.

use serde_json::json;

use crate::support::Host;

fn host() -> Host {
    let host = Host::new();
    let ips = r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"},{"address":"fd00::5/64"}]}"#;
    host.network("n1", &["bridge"]).network("n2", &["bridge"]).plugin("bridge", &[("ADD", ips)]);
    host
}

#[test]
fn what_is_attached_is_shown() {
    let host = host();
    host.cnitool(&["add", "n2", "/nowhere/t"]).good();
    host.cnitool(&["add", "n1", "/proc/self/ns/net", "-i", "eth7", "--args", "A=1"]).good();
    insta::assert_snapshot!(host.cnitool(&["attachments"]).good().stdout, @"
    NETWORK  CONTAINER                     INTERFACE  ADDRESSES               NETNS
    n1       cnitool-cd2667f4483f699b01b0  eth7       10.1.0.5/16 fd00::5/64  /proc/self/ns/net
    n2       cnitool-6af7982e1aaf4083898b  eth0       10.1.0.5/16 fd00::5/64  /nowhere/t (gone)
    ");
    let told = host.cnitool(&["attachments", "n1", "--json"]).good().json();
    let [attachment] = told.as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!(attachment["ifname"], "eth7");
    assert_eq!(attachment["args"], json!([["A", "1"]]));
    assert_eq!(attachment["netnsGone"], false);
    assert_eq!(attachment["result"]["ips"][1]["address"], "fd00::5/64");
    assert!(host.calls().iter().all(|call| call.starts_with("ADD")));
}

#[test]
fn what_cannot_be_told_is_told() {
    let host = host();
    assert_eq!(host.cnitool(&["attachments"]).good().stdout, "no attachments in DIR/cache\n");
    assert_eq!(host.cnitool(&["attachments", "--json"]).good().stdout, "[]\n");
    host.write("cache/results/n1-c1-eth0", "{");
    let outcome = host.cnitool(&["attachments"]);
    insta::assert_snapshot!(outcome, @"
    exit status 0
    --- stdout
    no attachments in DIR/cache
    --- stderr
    warning: leaving DIR/cache/results/n1-c1-eth0 alone: EOF while parsing an object at line 1 column 1
    ");
    let [warning] = &host.cnitool(&["attachments", "--json"]).events()[..] else { panic!("{outcome}") };
    assert_eq!(warning["event"], "warning");
}

#[test]
fn an_add_that_never_came_to_its_end_is_shown_and_can_be_deleted() {
    let host = host();
    host.write("told/bridge.ADD.sh", "kill -9 $PPID");
    let killed = host.command(&["add", "n1", "/nowhere/t"]).output().unwrap();
    assert_eq!(killed.status.code(), None);
    insta::assert_snapshot!(host.cnitool(&["attachments"]).good().stdout, @"
    NETWORK  CONTAINER                     INTERFACE  ADDRESSES              NETNS
    n1       cnitool-6af7982e1aaf4083898b  eth0       (ADD is not finished)  /nowhere/t (gone)
    ");
    host.cnitool(&["del", "n1", "/nowhere/t"]).good();
    assert!(host.cached().is_empty());
}
