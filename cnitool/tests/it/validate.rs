//! `validate`: everything at once.

use crate::support::Host;
use crate::version::UP_TO_0_4_0;

#[test]
fn c98_a_syntax_error_is_told_with_line_and_column() {
    let host = Host::new();
    host.conf(
        "10-n1.conflist",
        "{\n  \"cniVersion\": \"1.0.0\",\n  \"name\": \"n1\",\n  \"plugins\": [\n    {\n      \"type: \"bridge\"\n    }\n  ]\n}\n",
    );
    let outcome = host.cnitool(&["validate", "net.d/10-n1.conflist"]);
    insta::assert_snapshot!(outcome, @r#"
    exit status 1
    --- stdout
    net.d/10-n1.conflist
      error: net.d/10-n1.conflist:6:15: expected `:`
        6 |       "type: "bridge"
          |               ^
    "#);
    // As it is by name: the file is the only one.
    assert_eq!(host.cnitool(&["validate"]).status, 1);
}

#[test]
fn c98_all_problems_are_told_at_once() {
    let host = Host::new();
    host.conf(
        "10-n1.conflist",
        r#"{
  "cniVersion": "1.0.0",
  "name": "n 1",
  "plugins": [
    {"type": "bridge", "ipam": {"type": "host-local"}},
    {"type": "tuning", "capabilities": "mac"},
    {"type": "firewall"},
    {"type": "../x"},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}"#,
    );
    host.plugin("bridge", &[]).plugin("host-local", &[("VERSION", UP_TO_0_4_0)]).plugin("portmap", &[]);
    let offered = r#"{"portMappings":[],"bandwidth":{}}"#;
    let outcome = host.cnitool_with(&[("CAP_ARGS", offered)], &["validate", "./net.d"]);
    insta::assert_snapshot!(outcome);
    assert!(host.calls().iter().all(|call| call.starts_with("VERSION")));

    let told = host.cnitool(&["validate", "./net.d", "--json", "--cap-args", offered]);
    assert_eq!(told.status, 1);
    insta::assert_snapshot!("validate_json", told.stdout);
}

#[test]
fn c41_one_message_tells_what_is_supported_and_what_to_write() {
    let host = Host::new();
    let plugins = ["bridge", "portmap", "firewall", "tuning"];
    let list = r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge"},{"type":"portmap"},{"type":"firewall"},{"type":"tuning"}]}"#;
    host.conf("10-n1.conflist", list);
    for plugin in plugins {
        host.plugin(plugin, &[("VERSION", UP_TO_0_4_0)]);
    }
    let outcome = host.cnitool(&["validate", "n1"]);
    insta::assert_snapshot!(outcome, @r#"
    exit status 1
    --- stdout
    DIR/net.d/10-n1.conflist: network "n1", version 1.0.0
      error: the configuration is of version 1.0.0, but bridge supports 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0, portmap supports 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0, firewall supports 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0, tuning supports 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0; write 0.4.0, which all plugins support
      best common version: 0.4.0
    "#);
    host.conf("10-n1.conflist", &list.replace("1.0.0", "0.4.0"));
    host.cnitool(&["validate", "n1"]).good();
}

#[test]
fn c98_a_capability_that_nobody_takes_is_only_a_warning() {
    let host = Host::new();
    host.network("n1", &["bridge"]).plugin("bridge", &[]);
    host.conf("20-n1.conflist", r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"x"}]}"#);
    let outcome = host.cnitool(&["validate", "n1", "--cap-args", r#"{"mac":"02:00:00:00:00:01"}"#]).good();
    insta::assert_snapshot!(outcome.stdout, @r#"
    DIR/net.d/10-n1.conflist: network "n1", version 1.1.0
      warning: no plugin declares the capability "mac", so that its value has no effect
      ok: bridge
      best common version: 1.1.0

    warning: DIR/net.d/20-n1.conflist: network "n1" is taken from DIR/net.d/10-n1.conflist
    "#);
}

#[test]
fn mistakes_in_drop_in_files_and_unknown_versions_are_told() {
    let host = Host::new();
    host.conf("10-n1.conflist", r#"{"cniVersion":"1.1.0","name":"n1"}"#)
        .conf("n1/20-t.conf", "{\n  \"type\": 7\n}")
        .conf("20-n2.conf", r#"{"cniVersion":"2.0.0","name":"n2","type":"bridge","ipam":{"type":"a/b"}}"#)
        .plugin("bridge", &[]);
    insta::assert_snapshot!(host.cnitool(&["validate"]), @r#"
    exit status 1
    --- stdout
    DIR/net.d/10-n1.conflist: network "n1", version 1.1.0
      error: DIR/net.d/n1/20-t.conf:2:11: type: invalid type: integer `7`, expected a string
        2 |   "type": 7
          |           ^

    DIR/net.d/20-n2.conf: network "n2"
      error: configuration version "2.0.0" is not supported, expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0
      error: ipam of plugin "bridge": invalid plugin type "a/b": must be the file name of a plugin, not a path
      best common version: 1.1.0
    "#);
}

#[test]
fn what_is_not_there_cannot_be_validated() {
    let host = Host::new();
    insta::assert_snapshot!(host.cnitool(&["validate"]).bad(1).stderr, @"error: no net configurations found in DIR/net.d");
    insta::assert_snapshot!(host.cnitool(&["validate", "n1"]).bad(1).stderr, @"error: no net configurations found in DIR/net.d");
    insta::assert_snapshot!(host.cnitool(&["validate", "x.conflist"]).bad(2).stderr, @"error: FILE|NET|DIR: cannot use x.conflist: No such file or directory (os error 2)");
}

#[test]
fn what_is_no_file_is_told_and_not_waited_for() {
    let host = Host::new();
    let made = std::process::Command::new("mkfifo").arg(host.path("net.d/10-n1.conflist")).status().unwrap();
    assert!(made.success());
    insta::assert_snapshot!(host.cnitool(&["validate"]), @r#"
    exit status 1
    --- stdout
    DIR/net.d/10-n1.conflist
      error: DIR/net.d/10-n1.conflist: cannot read: not a regular file
    "#);
    host.cnitool(&["list"]).good();
}
