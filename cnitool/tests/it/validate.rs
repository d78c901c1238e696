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
      note: only VERSION was asked of what does not describe itself: bridge, portmap, firewall, tuning
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
      note: only VERSION was asked of what does not describe itself: bridge
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
      note: only VERSION was asked of what does not describe itself: bridge
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

/// A network of plugins that describe themselves, and one that does not.
fn described() -> Host {
    let host = Host::new();
    host.conf(
        "10-n1.conflist",
        r#"{
  "cniVersion": "1.1.0",
  "name": "n1",
  "disablecheck": true,
  "plugins": [
    {
      "type": "bridge",
      "_note": "of no plugin",
      "mtuu": 1500,
      "isGateway": "yes",
      "capabilities": {"mac": true, "portMappings": true},
      "ipam": {"type": "host-local", "subnte": "10.1.0.0/16", "gateway": 7}
    },
    {"type": "tuning", "anything": 1}
  ]
}"#,
    );
    for plugin in ["bridge", "host-local", "tuning"] {
        host.plugin(plugin, &[]);
    }
    host.described("bridge", &bridge());
    host.described(
        "host-local",
        &serde_json::json!({
            "formatVersion": 1, "name": "host-local", "capabilities": ["ips"],
            "commands": {"ADD": "handled", "DEL": "handled", "CHECK": "handled", "GC": "no-op", "STATUS": "handled"},
            "configSchema": {"type": "object", "properties": {"ipam": {"type": ["object", "null"], "properties": {
                "subnet": {"type": "string"}, "gateway": {"type": "string"},
            }}}},
        }),
    );
    host
}

/// What a bridge says of itself.
fn bridge() -> serde_json::Value {
    serde_json::json!({
        "formatVersion": 1, "name": "bridge", "version": "0.1.0", "about": "connects containers",
        "capabilities": ["mac"],
        "commands": {"ADD": "handled", "DEL": "handled", "CHECK": "no-op", "GC": "no-op", "STATUS": "handled"},
        "configSchema": {"type": "object", "properties": {
            "bridge": {"type": "string"}, "isGateway": {"type": ["boolean", "null"]}, "mtu": {"type": "integer"},
        }},
    })
}

#[test]
fn c98_what_the_plugins_say_of_themselves_is_held_against_the_file() {
    let host = described();
    insta::assert_snapshot!("described", host.cnitool(&["validate", "n1"]));
    let told = host.cnitool(&["validate", "./net.d/10-n1.conflist", "--json"]);
    assert_eq!(told.status, 1);
    insta::assert_snapshot!("described_json", told.stdout);
    // Nothing is run but VERSION and the question.
    assert!(host.calls().iter().all(|call| call.starts_with("VERSION")), "{:?}", host.calls());
    assert!(host.read("by-hand").lines().all(|arguments| arguments == "--describe"));
}

#[test]
fn c98_warnings_are_no_failure_unless_they_are_to_be() {
    let host = Host::new();
    host.conf(
        "10-n1.conflist",
        r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge","brige":"x"}]}"#,
    );
    host.plugin("bridge", &[]).described("bridge", &bridge());
    let told = host.cnitool(&["validate"]);
    insta::assert_snapshot!(told, @r#"
    exit status 0
    --- stdout
    DIR/net.d/10-n1.conflist: network "n1", version 1.0.0
      warning: DIR/net.d/10-n1.conflist:1:63: plugins[0].brige: bridge does not read it, did you mean "bridge"?
        1 | {"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge","brige":"x"}]}
          |                                                               ^
      note: CHECK succeeds without action in bridge
      ok: bridge
      best common version: 1.1.0
    "#);
    let strict = host.cnitool(&["validate", "--strict"]);
    assert_eq!((strict.status, strict.stdout), (1, told.stdout));
    assert_eq!(host.cnitool(&["validate", "--strict", "--json"]).json()["ok"], false);
    host.conf("10-n1.conflist", r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge"}]}"#);
    host.cnitool(&["validate", "--strict"]).good();
    assert_eq!(host.cnitool(&["validate", "--strict", "--cap-args", r#"{"x":1}"#]).status, 1);
}

#[test]
fn c98_files_of_a_drop_in_folder_and_single_ones_are_looked_at_too() {
    let host = Host::new();
    host.conf("10-n1.conflist", r#"{"cniVersion":"1.1.0","name":"n1"}"#)
        .conf("n1/20-b.conf", "{\"type\": \"bridge\",\n \"mtu\": []}")
        .conf(
            "20-n2.conf",
            "{\"cniVersion\": \"1.0.0\", \"name\": \"n2\", \"type\": \"bridge\",\n \"mtuu\": 1}",
        )
        .plugin("bridge", &[])
        .described("bridge", &bridge());
    let told = host.cnitool(&["validate", "n2", "./net.d/10-n1.conflist", "n1"]);
    insta::assert_snapshot!("drop_ins", told);
}

#[test]
fn a_file_that_gives_no_network_is_held_against_descriptions_all_the_same() {
    let host = Host::new();
    host.conf(
        "10-n1.conflist",
        r#"{"cniVersion":"1.1.0","name":"n 1","plugins":[{"type":"bridge","mtu":"x"}]}"#,
    )
    .plugin("bridge", &[])
    .described("bridge", &bridge());
    let told = host.cnitool(&["validate"]);
    assert!(told.stdout.contains("n 1") && told.stdout.contains("plugins[0].mtu: invalid type"), "{told}");
}

#[test]
fn what_a_plugin_prints_or_does_when_it_is_asked_stops_nothing() {
    for (script, expected) in [
        (
            "head -c 4000000 /dev/zero; exit 0",
            "is not described: it could not be asked by --describe: it printed more than",
        ),
        ("kill -9 $$", "only VERSION was asked of what does not describe itself: bridge"),
        ("echo '{\"formatVersion\":2,\"name\":\"bridge\"}'; exit 0", "only VERSION was asked of"),
        ("echo '{\"code\":4,\"msg\":\"CNI_COMMAND\"}'; exit 1", "only VERSION was asked of"),
        ("echo about; exit 0", "only VERSION was asked of"),
        ("printf '[[[[[[[[[[[[[[[[[[[[[[[[[[[[['; exit 0", "only VERSION was asked of"),
        ("cat; sleep 0 & exit 3", "only VERSION was asked of"),
    ] {
        let host = Host::new();
        host.network("n1", &["bridge"]).plugin("bridge", &[]).write("told/bridge.describe.sh", script);
        let told = host.cnitool(&["validate"]).good();
        assert!(told.stdout.contains(expected) && told.stdout.contains("ok: bridge"), "{script}\n{told}");
    }
}

#[test]
fn what_does_not_answer_version_is_not_asked_anything_else() {
    let host = Host::new();
    host.network("n1", &["bridge"]).plugin("bridge", &[]).write("told/bridge.VERSION.stdout", "no version");
    host.described("bridge", &bridge());
    assert_eq!(host.cnitool(&["validate"]).status, 1);
    assert_eq!(host.cnitool(&["describe", "bridge"]).status, 1);
    assert_eq!(host.read("by-hand"), "");
}

#[test]
fn what_others_can_write_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;

    let host = Host::new();
    host.network("n1", &["bridge"]).plugin("bridge", &[]);
    let validate = |more: &[&str]| host.cnitool(&[&["validate"], more].concat());
    assert_eq!(validate(&["--strict"]).status, 0);
    for dir in ["bin", "net.d"] {
        let mode =
            |mode| std::fs::set_permissions(host.path(dir), std::fs::Permissions::from_mode(mode)).unwrap();
        // Sticky or not: a file can be added.
        for open in [0o777, 0o1777] {
            mode(open);
            let outcome = validate(&[]);
            assert_eq!(outcome.status, 0, "{outcome}");
            let warning =
                outcome.stdout.lines().find(|line| line.starts_with("warning: everyone can write to "));
            assert!(warning.is_some_and(|line| line.contains(dir)), "{outcome}");
            assert_eq!(validate(&["--strict"]).status, 1);
            let told = validate(&["--json"]).json();
            assert!(told["openDirectories"][0].as_str().unwrap().ends_with(dir), "{told}");
        }
        mode(0o755);
    }
    assert_eq!(validate(&["--json"]).json().get("openDirectories"), None);
}
