//! `--trace`: what each plugin did, and how long it took.

use serde_json::json;

use crate::support::{Host, Outcome};

const NETNS: &str = "/run/netns/t";

fn host() -> Host {
    let host = Host::new();
    host.network("n1", &["bridge", "tuning"])
        .plugin("bridge", &[("ADD", r#"{"cniVersion":"1.1.0","interfaces":[{"name":"eth0","sandbox":"/run/netns/t"}],"ips":[{"interface":0,"address":"10.1.0.5/16"}]}"#)])
        .plugin("tuning", &[("ADD", r#"{"cniVersion":"1.1.0","interfaces":[{"name":"eth0","sandbox":"/run/netns/t","mtu":9000}],"ips":[{"interface":0,"address":"10.1.0.5/16"}]}"#)]);
    host
}

fn steady(outcome: &Outcome) -> String {
    steady_text(&outcome.stderr)
}

/// A text without what differs from run to run: times read `T`, bars `[#]`, and columns are one space apart.
pub(crate) fn steady_text(text: &str) -> String {
    let word = |word: &str| {
        if word.parse::<f64>().is_ok() && word.contains('.') { "T".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| {
        let line = match (line.find('['), line.find(']')) {
            (Some(start), Some(end)) if line.starts_with(|first: char| first.is_ascii_digit()) => {
                format!("{}[#]{}", &line[..start], &line[end + 1..])
            }
            _ => line.to_owned(),
        };
        line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_line_a_run_tells_order_time_exit_and_change() {
    let host = host();
    let outcome = host.cnitool(&["add", "n1", NETNS, "--trace"]);
    assert_eq!(outcome.json()["ips"][0]["address"], "10.1.0.5/16");
    insta::assert_snapshot!(steady(&outcome), @"
    # COMMAND PLUGIN TIME WHEN EXIT RESULT
    1 ADD bridge T ms [#] exit status 0 +interface eth0, +ip 10.1.0.5/16 on eth0
    2 ADD tuning T ms [#] exit status 0 ~interface eth0 mtu 9000
    total T ms, T ms of it in plugins
    ");
    insta::assert_snapshot!(steady(&host.cnitool(&["check", "n1", NETNS, "--trace=text"])), @"
    # COMMAND PLUGIN TIME WHEN EXIT RESULT
    1 CHECK bridge T ms [#] exit status 0
    2 CHECK tuning T ms [#] exit status 0
    total T ms, T ms of it in plugins
    ");
    insta::assert_snapshot!(steady(&host.cnitool(&["status", "n1", "--trace"])), @"
    # COMMAND PLUGIN TIME WHEN EXIT RESULT
    1 STATUS bridge T ms [#] exit status 0
    2 STATUS tuning T ms [#] exit status 0
    total T ms, T ms of it in plugins
    ");
    insta::assert_snapshot!(steady(&host.cnitool(&["gc", "n1", "--trace"])), @"
    # COMMAND PLUGIN TIME WHEN EXIT RESULT
    1 DEL tuning T ms [#] exit status 0 cnitool-51165886969c747c11b1 eth0
    2 DEL bridge T ms [#] exit status 0 cnitool-51165886969c747c11b1 eth0
    3 GC bridge T ms [#] exit status 0
    4 GC tuning T ms [#] exit status 0
    total T ms, T ms of it in plugins
    ");
    insta::assert_snapshot!(steady(&host.cnitool(&["del", "n1", NETNS, "--trace"])), @"
    # COMMAND PLUGIN TIME WHEN EXIT RESULT
    1 DEL tuning T ms [#] exit status 0
    2 DEL bridge T ms [#] exit status 0
    total T ms, T ms of it in plugins
    ");
}

#[test]
fn what_failed_is_traced_too() {
    let host = host();
    host.failing("tuning", "ADD", 100, "no").write("told/tuning.ADD.stderr", "about to fail\n");
    let outcome = host.cnitool(&["--trace", "add", "n1", NETNS, "--undo"]).bad(1);
    insta::assert_snapshot!(steady(&outcome), @r#"
    about to fail
    # COMMAND PLUGIN TIME WHEN EXIT RESULT
    1 ADD bridge T ms [#] exit status 0 +interface eth0, +ip 10.1.0.5/16 on eth0
    2 ADD tuning T ms [#] exit status 1
    3 DEL tuning T ms [#] exit status 0
    4 DEL bridge T ms [#] exit status 0
    total T ms, T ms of it in plugins
    error: network "n1": plugin type="tuning" failed (add): plugin "tuning" (DIR/bin/tuning) failed ADD with exit status 1: no (code 100)
    "#);
    host.network("n2", &["absent"]).network("n3", &["killed"]).network("n4", &["chatty"]);
    host.plugin("killed", &[]).plugin("chatty", &[("ADD", "hello")]);
    host.write("told/killed.ADD.sh", "kill -9 $$");
    for (network, ending) in [
        ("n2", "absent T ms [#] not found"),
        ("n3", "killed T ms [#] signal 9 (SIGKILL)"),
        ("n4", "chatty T ms [#] exit status 0, failed"),
    ] {
        let told = steady(&host.cnitool(&["add", network, NETNS, "--trace"]).bad(1));
        assert!(told.contains(ending), "{told}");
    }
}

#[test]
fn as_json_all_that_goes_in_and_comes_out_is_told() {
    let host = host();
    host.write("told/bridge.ADD.stderr", "hello\n");
    let outcome = host.cnitool_with(&[("COLOUR", "blue")], &["add", "n1", NETNS, "--trace=json"]);
    assert_eq!(outcome.json()["ips"][0]["address"], "10.1.0.5/16");
    let events = outcome.events();
    let [bridge, tuning] = &events[..] else { panic!("{outcome}") };
    for (key, value) in [
        ("event", json!("plugin")),
        ("order", json!(1)),
        ("command", json!("ADD")),
        ("network", json!("n1")),
        ("plugin", json!("bridge")),
        ("program", json!("DIR/bin/bridge")),
        ("position", json!(0)),
        ("plugins", json!(2)),
        ("exitStatus", json!(0)),
        ("changes", json!(["+interface eth0", "+ip 10.1.0.5/16 on eth0"])),
        ("stdout", json!(host.read("told/bridge.ADD.stdout"))),
        ("stdin", json!(host.read("told/bridge.ADD.stdin"))),
        ("stderr", json!("hello\n")),
    ] {
        assert_eq!(bridge[key], value, "{key}");
    }
    assert_eq!(bridge["environment"]["CNI_COMMAND"], "ADD");
    assert_eq!(bridge["environment"]["CNI_IFNAME"], "eth0");
    assert_eq!(bridge["environment"]["COLOUR"], "blue");
    assert!(bridge["durationMs"].as_f64() > Some(0.0));
    assert!(tuning["startMs"].as_f64() > bridge["startMs"].as_f64());
    assert_eq!(tuning["order"], 2);
}

#[test]
fn as_json_stderr_has_nothing_but_json() {
    let host = host();
    host.failing("tuning", "ADD", 100, "no").write("told/tuning.ADD.stderr", "about to fail\n");
    for arguments in [&["--trace=json"][..], &["--trace", "--json"]] {
        let outcome =
            host.cnitool(&[&["add", "n1", NETNS, "--cap-args", r#"{"mac":""}"#], arguments].concat()).bad(1);
        let kinds: Vec<_> = outcome.events().iter().map(|event| event["event"].clone()).collect();
        assert_eq!(kinds, ["warning", "plugin", "plugin", "error"], "{outcome}");
        let failed = &outcome.events()[2];
        assert_eq!((&failed["exitStatus"], &failed["stderr"]), (&json!(1), &json!("about to fail\n")));
        assert!(failed["error"].as_str().unwrap().contains("no (code 100)"));
    }
}

#[test]
fn without_a_trace_nothing_is_told_and_a_wrong_format_is_refused() {
    let host = host();
    host.cnitool(&["add", "n1", NETNS]).good();
    let outcome = host.cnitool(&["add", "n1", NETNS, "--trace=xml"]).bad(2);
    assert!(outcome.stderr.contains("'xml'") && outcome.stderr.contains("text, json"), "{outcome}");
}
