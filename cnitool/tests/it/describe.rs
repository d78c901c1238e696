//! `describe`: what a plugin says of itself.

use serde_json::json;

use crate::support::Host;

fn description() -> serde_json::Value {
    json!({
        "formatVersion": 1,
        "name": "bridge",
        "version": "0.1.0",
        "about": "connects containers",
        "supportedVersions": ["1.0.0", "1.1.0"],
        "commands": {"ADD": "handled", "DEL": "handled", "CHECK": "no-op", "MOVE": "half"},
        "capabilities": ["mac", "ips"],
        "arguments": ["MAC"],
        "deniesUnknownKeys": true,
        "configSchema": {"type": "object", "required": ["bridge"], "properties": {
            "bridge": {"type": "string", "description": "The bridge's name."},
            "mtu": {"type": ["integer", "null"], "minimum": 0},
            "trunk": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
        }},
        "maturity": "beta",
    })
}

#[test]
fn c100_a_plugin_tells_what_it_is_by_name_and_by_path() {
    let host = Host::new();
    host.plugin("bridge", &[]).described("bridge", &description());
    let told = host.cnitool(&["describe", "bridge"]).good();
    insta::assert_snapshot!(told.stdout, @r"
    bridge 0.1.0: connects containers
    program:       DIR/bin/bridge
    spec versions: 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0
    capabilities:  mac ips
    CNI_ARGS:      MAC

    COMMAND  WHAT IT DOES
    ADD      handled
    CHECK    succeeds without action
    DEL      handled
    MOVE     not told

    KEY         VALUE              ABOUT
    bridge      string, required   The bridge's name.
    mtu         integer from 0 on
    trunk       list
    trunk[].id  integer
    Any other key is an error.
    ");
    assert_eq!(host.cnitool(&["describe", "./bin/bridge"]).good(), told);
    assert_eq!(host.take_calls(), ["VERSION bridge dummy", "VERSION bridge dummy"]);
    assert_eq!(host.read("by-hand"), "--describe\n--describe\n");
}

#[test]
fn c100_json_has_all_that_the_plugin_said() {
    let host = Host::new();
    host.plugin("bridge", &[]).described("bridge", &description());
    let told = host.cnitool(&["describe", "bridge", "--json"]).good().json();
    assert_eq!(told["type"], "bridge");
    assert_eq!(told["supportedVersions"].as_array().unwrap().len(), 7);
    // A word that is not known is no word, and a key that is not known stays.
    let mut said = description();
    said["commands"]["MOVE"] = "unknown".into();
    assert_eq!(told["description"], said);
}

#[test]
fn c100_a_plugin_of_gos_library_is_asked_for_its_versions_alone() {
    let host = Host::new();
    host.plugin("portmap", &[]);
    insta::assert_snapshot!(host.cnitool(&["describe", "portmap"]).good().stdout, @r"
    portmap
    program:       DIR/bin/portmap
    spec versions: 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0

    It does not describe itself; only VERSION was asked. It answered --describe with nothing on stdout.
    ");
    let told = host.cnitool(&["describe", "portmap", "--json"]).good().json();
    assert_eq!(told["description"], json!(null));
    assert_eq!(told["notDescribed"], "it answered --describe with nothing on stdout");
    // As older ones answer.
    host.write(
        "told/portmap.describe.sh",
        r#"echo '{"code":4,"msg":"required env variables [CNI_COMMAND] missing"}'; exit 1"#,
    );
    let told = host.cnitool(&["describe", "portmap"]).good();
    assert!(told.stdout.contains("It answered --describe with exit status 1."), "{told}");
}

#[test]
fn a_plugin_is_not_told_what_cnitool_is_told() {
    let host = Host::new();
    host.plugin("bridge", &[]).write(
        "told/bridge.describe.sh",
        &format!("env | grep CNI_ >>{0}; cat >>{0}; true", host.path("seen").display()),
    );
    let told = host
        .cnitool_with(
            &[("CNI_IFNAME", "eth7"), ("CNI_ARGS", "A=b"), ("CNI_COMMAND", "ADD")],
            &["describe", "bridge"],
        )
        .good();
    assert!(told.stdout.contains("does not describe itself"), "{told}");
    assert_eq!(host.read("seen"), "");
}

#[test]
fn what_is_not_there_or_no_plugin_cannot_be_described() {
    let host = Host::new();
    host.write("bin/README", "no plugin");
    insta::assert_snapshot!(host.cnitool(&["describe", "bridge"]).bad(2).stderr, @r#"error: PLUGIN: failed to find plugin "bridge" in path [DIR/bin]: "DIR/bin" (no such file)"#);
    insta::assert_snapshot!(host.cnitool(&["describe", "./bin/README"]).bad(2).stderr, @r#"error: PLUGIN: failed to find plugin "README" in path [DIR/bin]: "DIR/bin" (not executable)"#);
    insta::assert_snapshot!(host.cnitool(&["describe", "./bin/.."]).bad(2).stderr, @"error: PLUGIN: cannot use ./bin/..: invalid filename");
    insta::assert_snapshot!(host.cnitool(&["describe", ""]).bad(2).stderr, @r#"error: PLUGIN: missing plugin type: must be the file name of a plugin, not a path"#);
    host.plugin("bridge", &[]).write("told/bridge.VERSION.stdout", "hello");
    let told = host.cnitool(&["describe", "bridge"]);
    assert!(
        told.status == 1 && told.stdout.contains("error: plugin \"bridge\"") && told.stderr.is_empty(),
        "{told}"
    );
}

#[test]
fn what_a_plugin_says_is_no_order_to_the_terminal() {
    let host = Host::new();
    let mut evil = description();
    evil["about"] = "a\u{1b}[2J\u{7}b\nc".into();
    evil["name"] = "\u{1b}]0;x\u{7}".into();
    evil["capabilities"] = json!(["\u{1b}c"]);
    evil["configSchema"] =
        json!({"properties": {"\u{1b}[1m": {"type": "\u{1b}[0m", "description": "\u{9b}x"}}});
    host.plugin("bridge", &[]).described("bridge", &evil);
    let told = host.cnitool(&["describe", "bridge"]).good();
    assert!(!told.stdout.chars().any(|letter| letter.is_control() && letter != '\n'), "{told}");
    assert!(told.stdout.contains("note:          it is made to be called"), "{told}");
    host.conf(
        "10-n1.conflist",
        r#"{"cniVersion":"1.1.0","name":"n1","plugins":[{"type":"bridge","\u001b[1n":1}]}"#,
    );
    let told = host.cnitool(&["validate"]);
    assert!(!told.stdout.chars().any(|letter| letter.is_control() && letter != '\n'), "{told}");
}

#[test]
fn a_plugin_that_hangs_is_killed_and_told() {
    let host = Host::new();
    host.network("n1", &["bridge"])
        .plugin("bridge", &[])
        .write("told/bridge.describe.sh", "exec tail -f /dev/null");
    let told = host.cnitool(&["validate", "n1"]).good();
    assert!(
        told.stdout.contains("bridge is not described: it could not be asked by --describe: killed"),
        "{told}"
    );
}
