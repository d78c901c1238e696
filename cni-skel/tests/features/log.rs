//! Where a plugin's log goes, and that it costs nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{answer, command, json, read, text};

fn config() -> Value {
    json!({"cniVersion": "1.0.0", "name": "n", "type": "observed"})
}

fn config_with(key: &str, value: impl Into<Value>) -> Value {
    let mut config = config();
    config[key] = value.into();
    config
}

const SPAN: &str = r#"cni{command="ADD" plugin="observed" network="n" container="c1" interface="eth0"}"#;

/// The lines of a log without their time.
fn lines(log: &str) -> Vec<String> {
    log.lines().map(|line| line.split_once("Z ").unwrap().1.trim_start().to_owned()).collect()
}

#[test]
fn it_goes_to_stderr() {
    let output = answer(&mut command("observed", "ADD"), &config());
    assert!(output.status.success());
    assert_eq!(json(&output), json!({"cniVersion": "1.0.0"}));
    let expected = [
        format!(r#"INFO {SPAN}: observed: adding version=1.0.0"#),
        "WARN observed: from another thread".to_owned(),
    ];
    assert_eq!(lines(&text(&output.stderr)), expected);
}

#[test]
fn an_error_is_logged_and_answered() {
    let output = answer(&mut command("observed", "DEL"), &config());
    assert_eq!(json(&output)["code"], 11);
    let lines = lines(&text(&output.stderr));
    assert!(lines[0].ends_with(r#"cni_skel: failed code=11 error="not yet""#), "{lines:?}");
}

#[test]
fn it_goes_to_a_file_at_the_level_that_the_configuration_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("observed.log");
    let mut config = config_with("logFile", path.to_str().unwrap());
    config["logLevel"] = json!("debug");
    for _ in 0..2 {
        let output = answer(&mut command("observed", "ADD"), &config);
        assert!(output.status.success());
        assert_eq!(text(&output.stderr), "");
        json(&output);
    }
    let one = [
        format!("DEBUG {SPAN}: cni_skel: called"),
        format!("INFO {SPAN}: observed: adding version=1.0.0"),
        format!("DEBUG {SPAN}: observed: with care"),
        "WARN observed: from another thread".to_owned(),
        format!("DEBUG {SPAN}: cni_skel: succeeded"),
    ];
    assert_eq!(lines(&read(&path)), [one.clone(), one].concat(), "the second call's is appended");
    config["logLevel"] = json!("off");
    assert!(answer(&mut command("observed", "ADD"), &config).status.success());
    assert_eq!(lines(&read(&path)).len(), 10);
}

#[test]
fn a_key_that_cannot_be_followed_costs_nothing_else() {
    for (key, value, told) in [
        (
            "logFile",
            json!("/does/not/exist"),
            r#"ignoring logFile: cannot open "/does/not/exist": No such file"#,
        ),
        ("logFile", json!("plugin.log"), r#"ignoring logFile: "plugin.log" is relative"#),
        ("logFile", json!({}), "ignoring logFile: {} is no text"),
        ("logLevel", json!("verbose"), r#"ignoring logLevel: "verbose" is no level"#),
    ] {
        let output = answer(&mut command("observed", "ADD"), &config_with(key, value));
        assert!(output.status.success(), "{output:?}");
        json(&output);
        let stderr = text(&output.stderr);
        assert!(stderr.contains(told) && stderr.contains("INFO cni{"), "{stderr}");
    }
}

#[test]
fn stdout_is_not_to_be_had() {
    let dir = tempfile::tempdir().unwrap();
    let reply = dir.path().join("reply");
    // The paths of file descriptor 1, with a file behind it, which could be opened.
    for path in ["/dev/stdout", "/proc/self/fd/1"] {
        let mut to_file = command("observed", "ADD");
        to_file.stdout(fs::File::create(&reply).unwrap());
        assert!(answer(&mut to_file, &config_with("logFile", path)).status.success());
        assert_eq!(
            serde_json::from_str::<Value>(&read(&reply)).unwrap(),
            json!({"cniVersion": "1.0.0"}),
            "{path}"
        );
    }
}

#[test]
fn a_stderr_that_nobody_reads_costs_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut to_nobody = command("observed", "ADD");
    to_nobody.stderr(Stdio::from(writer));
    let output = answer(&mut to_nobody, &config());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(json(&output), json!({"cniVersion": "1.0.0"}));
}

#[test]
fn an_authors_own_subscriber_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("observed.log");
    let mut own = command("observed", "ADD");
    let output = answer(own.env("OWN_SUBSCRIBER", "1"), &config_with("logFile", path.to_str().unwrap()));
    json(&output);
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with(" INFO observed: mine\n") && stderr.contains(SPAN), "{stderr}");
    assert!(!path.exists(), "nobody would write to it");
}

#[test]
fn a_delegate_gets_the_child_of_the_runtimes_span() {
    let dir = tempfile::tempdir().unwrap();
    let ipam = dir.path().join("ipam");
    let script = "#!/bin/sh\necho $TRACEPARENT >&2\necho '{\"cniVersion\":\"1.0.0\",\"ips\":[{\"address\":\"10.1.0.5/16\"}]}'\n";
    fs::write(&ipam, script).unwrap();
    fs::set_permissions(&ipam, fs::Permissions::from_mode(0o755)).unwrap();
    let mut add = command("observed", "ADD");
    add.env("CNI_PATH", dir.path());
    add.env("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let output = answer(&mut add, &config_with("ipam", json!({"type": "ipam"})));
    assert_eq!(json(&output)["ips"][0]["address"], "10.1.0.5/16");
    let stderr = text(&output.stderr);
    let child =
        stderr.lines().find_map(|line| line.strip_prefix("00-4bf92f3577b34da6a3ce929d0e0e4736-")).unwrap();
    let span_id = child.strip_suffix("-01").unwrap();
    let ids = format!(
        r#"trace_id="4bf92f3577b34da6a3ce929d0e0e4736" parent_id="00f067aa0ba902b7" span_id="{span_id}"}}: observed: adding"#
    );
    assert!(stderr.contains(&ids), "{stderr}");
}
