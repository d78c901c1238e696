//! The operations of the protocol: `add`, `check`, `del`, `gc`, `status`.

use serde_json::json;

use crate::support::Host;

const NETNS: &str = "/run/netns/t";
/// The container ID that Go's tool gives [`NETNS`].
const ID: &str = "cnitool-51165886969c747c11b1";

const RESULT: &str = r#"{"cniVersion":"1.1.0","interfaces":[{"name":"eth0","sandbox":"/run/netns/t"}],"ips":[{"interface":0,"address":"10.1.0.5/16"}]}"#;

/// A network `n1` of one plugin `bridge`.
fn host() -> Host {
    let host = Host::new();
    host.network("n1", &["bridge"]).plugin("bridge", &[("ADD", RESULT)]);
    host
}

#[test]
fn add_prints_the_result_and_caches_it_under_gos_name() {
    let host = host();
    let outcome = host.cnitool(&["add", "n1", NETNS]).good();
    insta::assert_snapshot!(outcome.stdout, @r#"
    {
        "cniVersion": "1.1.0",
        "interfaces": [
            {
                "name": "eth0",
                "sandbox": "/run/netns/t"
            }
        ],
        "ips": [
            {
                "interface": 0,
                "address": "10.1.0.5/16"
            }
        ]
    }
    "#);
    assert_eq!(host.calls(), ["ADD bridge eth0"]);
    assert_eq!(host.variable("bridge", "ADD", "CNI_CONTAINERID").as_deref(), Some(ID));
    assert_eq!(host.variable("bridge", "ADD", "CNI_NETNS").as_deref(), Some(NETNS));
    assert_eq!(host.cached(), [format!("n1-{ID}-eth0")]);
    assert_eq!(host.cnitool(&["add", "n1", NETNS, "--json"]).good().stdout, outcome.stdout);
}

#[test]
fn c33_a_bad_pair_is_named_and_nothing_is_run() {
    let host = host();
    let outcome = host.cnitool_with(&[("CNI_ARGS", "IP=10.1.1.5;FOO=")], &["add", "n1", NETNS]).bad(2);
    insta::assert_snapshot!(outcome.stderr, @r#"error: CNI_ARGS: invalid pair "FOO=", expected KEY=VALUE"#);
    let outcome = host.cnitool(&["add", "n1", NETNS, "--args", "=x"]).bad(2);
    insta::assert_snapshot!(outcome.stderr, @r#"error: --args: invalid pair "=x", expected KEY=VALUE"#);
    assert!(host.calls().is_empty() && host.cached().is_empty());

    host.cnitool_with(&[("CNI_ARGS", "IP=10.1.1.5;FOO=bar")], &["add", "n1", NETNS]).good();
    assert_eq!(host.variable("bridge", "ADD", "CNI_ARGS").as_deref(), Some("IP=10.1.1.5;FOO=bar"));
}

#[test]
fn c33_a_bad_flag_is_named_and_nothing_is_run() {
    let host = host();
    for (arguments, named) in [
        (&["add", "n1", NETNS, "--cap-args", "[]"][..], "--cap-args: expected a JSON object"),
        (
            &["add", "n1", NETNS, "--ifname", "a/b"],
            "--ifname: interface name contains / or : or whitespace characters \"a/b\"",
        ),
        (&["add", "n1", ""], "NETNS: must not be empty"),
        (&["add", "n1", NETNS, "--no-such-flag"], "'--no-such-flag'"),
        (&["add", "n1"], "<NETNS>"),
        (&["ad", "n1", NETNS], "'ad'"),
    ] {
        let outcome = host.cnitool(arguments).bad(2);
        assert!(outcome.stderr.contains(named), "{outcome}");
    }
    assert!(host.calls().is_empty());
}

#[test]
fn a_failed_add_tells_how_to_clean_up() {
    let host = host();
    host.network("n1", &["bridge", "portmap"]).plugin("portmap", &[]).failing("portmap", "ADD", 11, "later");
    let outcome = host.cnitool(&["add", "n1", NETNS]).bad(1);
    insta::assert_snapshot!(outcome.stderr, @r#"
    error: network "n1": plugin type="portmap" failed (add): plugin "portmap" (DIR/bin/portmap) failed ADD with exit status 1: later (code 11)
    hint: what the plugins set up is still there; to remove it: cnitool del n1 /run/netns/t --ifname eth0
    "#);
    assert_eq!(host.take_calls(), ["ADD bridge eth0", "ADD portmap eth0"]);

    let outcome = host.cnitool(&["add", "n1", NETNS, "--json"]).bad(1);
    let [error] = &outcome.events()[..] else { panic!("{outcome}") };
    assert_eq!((&error["event"], &error["code"]), (&json!("error"), &json!(11)));
    assert_eq!(error["remedy"], json!(["cnitool", "del", "n1", NETNS, "--ifname", "eth0"]));
}

#[test]
fn a_failed_add_is_undone_if_wanted_but_never_at_the_cost_of_another() {
    let host = host();
    host.network("n1", &["bridge", "portmap"]).plugin("portmap", &[("ADD", RESULT)]);
    host.failing("portmap", "ADD", 11, "later");
    let outcome = host.cnitool(&["add", "n1", NETNS, "--undo"]).bad(1);
    assert!(!outcome.stderr.contains("hint"), "{outcome}");
    assert_eq!(
        host.take_calls(),
        ["ADD bridge eth0", "ADD portmap eth0", "DEL portmap eth0", "DEL bridge eth0"]
    );
    assert!(host.cached().is_empty());

    host.plugin("portmap", &[("ADD", RESULT)]).write("told/portmap.ADD.exit", "0");
    host.cnitool(&["add", "n1", NETNS]).good();
    host.take_calls();
    let outcome = host.cnitool(&["add", "n1", NETNS, "--undo"]).bad(2);
    insta::assert_snapshot!(outcome.stderr, @r#"error: --undo: the network namespace is attached to network "n1" already, and undoing would detach it"#);
    assert!(host.calls().is_empty());
}

#[test]
fn what_add_made_is_checked_and_deleted() {
    let host = host();
    host.cnitool(&["add", "n1", NETNS]).good();
    host.take_calls();
    assert_eq!(host.cnitool(&["check", "n1", NETNS]).good().stdout, "");
    assert_eq!(host.take_calls(), ["CHECK bridge eth0"]);
    assert_eq!(host.stdin("bridge", "CHECK")["prevResult"]["ips"][0]["address"], "10.1.0.5/16");

    assert_eq!(host.cnitool(&["del", "n1", NETNS]).good().stdout, "");
    assert_eq!(host.take_calls(), ["DEL bridge eth0"]);
    assert!(host.cached().is_empty());
    host.cnitool(&["del", "n1", NETNS]).good();

    let outcome = host.cnitool(&["check", "n1", NETNS]).bad(1);
    insta::assert_snapshot!(outcome.stderr, @r#"error: network "n1": no cached result of container "cnitool-51165886969c747c11b1" on "eth0": there is none in DIR/cache/results"#);
}

#[test]
fn with_json_what_went_well_is_told_as_json() {
    let host = host();
    host.cnitool(&["add", "n1", NETNS]).good();
    for command in ["check", "del"] {
        let told = host.cnitool(&[command, "n1", NETNS, "--json"]).good().json();
        assert_eq!(
            told,
            json!({
                "command": command.to_uppercase(), "network": "n1",
                "containerID": ID, "ifname": "eth0", "netns": NETNS
            })
        );
    }
    let told = host.cnitool(&["--json", "status", "n1"]).good().json();
    assert_eq!(told, json!({"command": "STATUS", "network": "n1"}));
}

#[test]
fn status_tells_the_plugins_code() {
    let host = host();
    // Go's tool demands a network namespace.
    assert_eq!(host.cnitool(&["status", "n1", NETNS]).good().stdout, "");
    assert_eq!(host.calls(), ["STATUS bridge"]);
    host.failing("bridge", "STATUS", 50, "no addresses left");
    let outcome = host.cnitool(&["status", "n1"]).bad(1);
    insta::assert_snapshot!(outcome.stderr, @r#"error: network "n1": plugin type="bridge" failed (status): plugin "bridge" (DIR/bin/bridge) failed STATUS with exit status 1: no addresses left (code 50)"#);
}

#[test]
fn it_is_told_when_nothing_was_done() {
    let host = Host::new();
    let list = r#"{"cniVersion":"0.4.0","name":"n1","disableCheck":true,"disableGC":true,"plugins":[{"type":"bridge"}]}"#;
    host.conf("10-n1.conflist", list).plugin("bridge", &[]);
    let notes = |command: &str| {
        let outcome = host.cnitool(&[command, "n1", NETNS]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
        outcome.stderr
    };
    insta::assert_snapshot!(notes("check"), @r#"note: nothing was done, because network "n1" sets disableCheck"#);
    insta::assert_snapshot!(notes("status"), @r#"note: the plugins of network "n1" were not called: STATUS exists from 1.1.0 on, and its version is 0.4.0"#);
    assert!(host.calls().is_empty());
}

#[test]
fn c101_a_chain_runs_with_one_container_id_for_every_spelling_of_the_path() {
    let host = Host::new();
    let ips = r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"}]}"#;
    host.network("n1", &["first", "second"])
        .plugin("first", &[("ADD", ips)])
        .plugin("second", &[("ADD", ips)]);
    host.cnitool_with(&[("CNI_IFNAME", "eth7")], &["add", "n1", "./t"]).good();
    assert_eq!(host.take_calls(), ["ADD first eth7", "ADD second eth7"]);
    let netns = host.path("t");
    assert_eq!(host.variable("first", "ADD", "CNI_NETNS").as_deref(), netns.to_str());
    assert_eq!(host.stdin("second", "ADD")["prevResult"]["ips"][0]["address"], "10.1.0.5/16");

    // The flag wins over the variable.
    let variables = [("CNI_IFNAME", "eth9")];
    host.cnitool_with(&variables, &["-i", "eth7", "check", "n1", netns.to_str().unwrap()]).good();
    assert_eq!(host.take_calls(), ["CHECK first eth7", "CHECK second eth7"]);
    host.cnitool_with(&variables, &["del", "n1", "bin/../t", "--ifname", "eth7"]).good();
    assert_eq!(host.take_calls(), ["DEL second eth7", "DEL first eth7"]);
    let id = |command| host.variable("first", command, "CNI_CONTAINERID");
    assert!(id("ADD").is_some() && id("ADD") == id("CHECK") && id("ADD") == id("DEL"));
    assert!(host.cached().is_empty());

    host.cnitool(&["add", "n1", "t"]).good();
    assert_eq!(host.take_calls(), ["ADD first eth0", "ADD second eth0"]);
}

#[test]
fn a_relative_path_is_of_the_directory_as_the_shell_calls_it() {
    let host = host();
    std::os::unix::fs::symlink(host.path("net.d"), host.path("link")).unwrap();
    let run = |pwd: &str| {
        let mut command = host.command(&["add", "n1", "t"]);
        assert!(
            command
                .current_dir(host.path("link"))
                .env("PWD", host.path(pwd))
                .output()
                .unwrap()
                .status
                .success()
        );
        host.variable("bridge", "ADD", "CNI_NETNS").unwrap()
    };
    assert_eq!(run("link"), host.path("link/t").to_str().unwrap());
    // One that is not true counts for nothing.
    assert_eq!(run("bin"), host.path("net.d/t").to_str().unwrap());
}

#[test]
fn c101_a_network_that_is_not_there_is_told_with_those_that_are() {
    let host = host();
    host.network("n2", &["bridge"]).conf("99-bad.conflist", "{");
    let outcome = host.cnitool(&["add", "n3", NETNS]).bad(1);
    insta::assert_snapshot!(outcome.stderr, @r#"error: no net configuration with name "n3" in DIR/net.d, which has "n1", "n2"; skipped DIR/net.d/99-bad.conflist:1:1: EOF while parsing an object"#);
    assert!(host.calls().is_empty());
    let outcome = Host::new().cnitool(&["add", "n3", NETNS]).bad(1);
    insta::assert_snapshot!(outcome.stderr, @"error: no net configurations found in DIR/net.d");
}

#[test]
fn plugins_are_found_in_relative_directories() {
    let host = host();
    host.cnitool_with(&[("CNI_PATH", "/nowhere:./bin")], &["add", "n1", NETNS]).good();
    let bin = format!("/nowhere:{}", host.path("./bin").display());
    assert_eq!(host.variable("bridge", "ADD", "CNI_PATH"), Some(bin));
    let outcome = host.cnitool_with(&[("CNI_PATH", "/nowhere::net.d")], &["add", "n1", NETNS]).bad(1);
    insta::assert_snapshot!(outcome.stderr, @r#"error: network "n1": plugin type="bridge" failed (add): plugin "bridge" was not executed for ADD: failed to find plugin "bridge" in path [/nowhere  DIR/net.d]: "/nowhere" (no such directory), "" (not searched, an empty element names no directory), "DIR/net.d" (no such file)"#);
}

#[test]
fn c44_a_capability_reaches_the_plugins_that_declare_it_and_no_other() {
    let host = Host::new();
    let list = r#"{"cniVersion":"1.1.0","name":"n1","plugins":[
        {"type":"a","capabilities":{"portMappings":true}},
        {"type":"b","capabilities":{"portMappings":false}},
        {"type":"c"}]}"#;
    let ips = r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"}]}"#;
    host.conf("10-n1.conflist", list);
    for plugin in ["a", "b", "c"] {
        host.plugin(plugin, &[("ADD", ips)]);
    }
    let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
    let offered = json!({"portMappings": mappings, "mac": "02:00:00:00:00:01"}).to_string();
    for command in ["add", "check", "del"] {
        let outcome = host.cnitool_with(&[("CAP_ARGS", &offered)], &[command, "n1", NETNS]);
        assert_eq!(outcome.status, 0, "{outcome}");
        if command == "add" {
            insta::assert_snapshot!(outcome.stderr, @r#"warning: no plugin of network "n1" declares the capability "mac", so that its value has no effect"#);
        }
        let command = command.to_uppercase();
        assert_eq!(host.stdin("a", &command)["runtimeConfig"], json!({"portMappings": mappings}));
        for plugin in ["b", "c"] {
            assert!(host.stdin(plugin, &command).get("runtimeConfig").is_none(), "{plugin} {command}");
        }
    }
    // The flag wins over the variable.
    host.cnitool_with(&[("CAP_ARGS", &offered)], &["add", "n1", NETNS, "--cap-args", "{}"]).good();
    assert!(host.stdin("a", "ADD").get("runtimeConfig").is_none());
}

#[test]
fn ctrl_c_reaches_plugins_because_they_are_in_the_same_process_group() {
    let host = host();
    let group =
        |process: &str| format!("cut -d' ' -f5 /proc/{process}/stat >>{}\n", host.path("groups").display());
    host.write("told/bridge.ADD.sh", &(group("$$") + &group("$PPID")));
    host.cnitool(&["add", "n1", NETNS]).good();
    let groups = host.read("groups");
    let [plugin, program] = groups.lines().collect::<Vec<_>>()[..] else { panic!("{groups}") };
    assert_eq!(plugin, program);
}
