use std::path::Path;

use cni_skel::Call;
use serde_json::{Value, json};

use super::{Debug, Noop};

/// Runs a call; gives exit status, stdout and stderr.
fn call(command: &str, args: &str, config: &Value) -> (u8, String, String) {
    let env = [
        ("CNI_COMMAND", command),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_NETNS", "/some/netns"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_ARGS", args),
        ("CNI_PATH", "/some/path"),
    ];
    let mut call = Call::new(env, config.to_string());
    let reply = Noop::for_call(&mut call).respond(call);
    (reply.exit, String::from_utf8(reply.stdout).unwrap(), reply.stderr)
}

fn config(version: &str) -> Value {
    json!({"cniVersion": version, "name": "n", "type": "noop"})
}

fn with_debug(debug: &Value, test: impl FnOnce(&Path, &str)) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("debug");
    std::fs::write(&path, debug.to_string()).unwrap();
    test(&path, &format!("DEBUG={}", path.display()));
}

#[test]
fn without_a_debug_file_it_prints_an_empty_object_in_every_version() {
    for version in ["0.1.0", "0.2.0", "0.4.0", "1.1.0"] {
        for args in ["", "FOO=BAR", "DEBUG="] {
            let (exit, stdout, stderr) = call("ADD", args, &config(version));
            assert_eq!((exit, stdout.as_str()), (0, "{}"), "{version} {args}");
            assert!(stderr.contains("no debug behavior"), "{stderr}");
        }
    }
}

#[test]
fn the_result_is_printed_as_it_is_and_the_call_written_back() {
    with_debug(&json!({"ReportResult": "no JSON {", "ReportStderr": "a word"}), |path, args| {
        let (exit, stdout, stderr) = call("ADD", args, &config("1.0.0"));
        assert_eq!((exit, stdout.as_str(), stderr.as_str()), (0, "no JSON {", "a word"));
        let written: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(written["Command"], "ADD");
        let cmd_args: crate::CmdArgs = serde_json::from_value(written["CmdArgs"].clone()).unwrap();
        assert_eq!(cmd_args.container_id, "c1");
        assert_eq!(cmd_args.stdin_data, config("1.0.0").to_string().into_bytes());
        assert_eq!(written["ReportResult"], "no JSON {");
    });
}

#[test]
fn a_test_that_forgot_the_result_is_told_so() {
    with_debug(&json!({}), |path, args| {
        let (exit, stdout, _) = call("ADD", args, &config("0.2.0"));
        let told: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(exit, 0);
        assert!(told["result"].as_str().unwrap().contains("debug.ReportResult"), "{told}");
        assert_eq!(Debug::read(path).unwrap().report_result, stdout, "and finds it in the file");
    });
}

#[test]
fn what_the_test_has_got_wrong_is_an_error() {
    for (args, code, expected) in [
        ("DEBUG", 4, r#"invalid pair "DEBUG", expected key=value"#),
        ("DEBUG=/does/not/exist", 999, r#"reading debug file "/does/not/exist": No such file"#),
    ] {
        let (exit, stdout, _) = call("ADD", args, &config("1.0.0"));
        let error: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((exit, &error["code"]), (1, &json!(code)), "{error}");
        assert!(error["msg"].as_str().unwrap().contains(expected), "{error}");
    }
    with_debug(&json!("no object"), |_, args| {
        let (exit, stdout, _) = call("DEL", args, &config("1.0.0"));
        assert!(exit == 1 && stdout.contains("decoding debug file"), "{stdout}");
    });
}

#[test]
fn files_without_end_are_an_error_that_says_the_limit() {
    let (exit, stdout, _) = call("ADD", "DEBUG=/dev/zero", &config("1.0.0"));
    assert!(exit == 1 && stdout.contains("/dev/zero\\\": larger than 67108864 bytes"), "{stdout}");
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    std::fs::File::create(&log).unwrap().set_len(super::debug::MAX_BYTES + 1).unwrap();
    let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "noop", "commandLog": log});
    let (exit, stdout, _) = call("ADD", "", &config);
    assert!(exit == 1 && stdout.contains("larger than 67108864 bytes"), "{stdout}");
}

#[test]
fn the_configuration_can_name_the_debug_file_but_the_arguments_win() {
    with_debug(&json!({"ReportResult": "by configuration"}), |by_config, _| {
        let mut config = config("1.0.0");
        config["debugFile"] = json!(by_config);
        assert_eq!(call("ADD", "FOO=BAR", &config).1, "by configuration");
        with_debug(&json!({"ReportResult": "by arguments"}), |_, args| {
            assert_eq!(call("ADD", &format!("{args};FOO=BAR"), &config).1, "by arguments");
        });
    });
}

#[test]
fn an_error_has_its_code_and_zero_means_999() {
    for (code, expected) in [(0, 999), (100, 100)] {
        with_debug(&json!({"ReportError": "banana", "ReportErrorCode": code}), |_, args| {
            let (exit, stdout, _) = call("DEL", args, &config("0.4.0"));
            let error: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!((exit, &error["code"], &error["msg"]), (1, &json!(expected), &json!("banana")));
            assert_eq!(error["cniVersion"], "0.4.0");
        });
    }
}

#[test]
fn the_reported_versions_are_enforced() {
    with_debug(&json!({"ReportVersionSupport": ["0.-42.0", "0.3.0"]}), |_, args| {
        let (exit, stdout, _) = call("VERSION", args, &json!({}));
        assert_eq!(exit, 0);
        assert_eq!(
            serde_json::from_str::<Value>(&stdout).unwrap()["supportedVersions"],
            json!(["0.-42.0", "0.3.0"])
        );
        let (exit, stdout, _) = call("ADD", args, &config("0.4.0"));
        assert_eq!(exit, 1);
        assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["code"], 1);
    });
}

#[test]
fn the_prev_result_is_passed_through_in_the_version_of_the_configuration() {
    let mut config = config("0.4.0");
    config["prevResult"] = json!({"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.5/16"}]});
    with_debug(&json!({"ReportResult": "PASSTHROUGH"}), |_, args| {
        let (_, stdout, _) = call("ADD", args, &config);
        let expected =
            json!({"cniVersion": "0.4.0", "ips": [{"version": "4", "address": "10.1.0.5/16"}], "dns": {}});
        assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap(), expected);
    });
    with_debug(&json!({"ReportResult": "INJECT-DNS"}), |_, args| {
        let (_, stdout, _) = call("ADD", args, &config);
        assert_eq!(
            serde_json::from_str::<Value>(&stdout).unwrap()["dns"],
            json!({"nameservers": ["1.2.3.4"]})
        );
    });
}

#[test]
fn only_add_needs_a_prev_result_to_pass_through() {
    with_debug(&json!({"ReportResult": "PASSTHROUGH"}), |_, args| {
        let (exit, stdout, _) = call("DEL", args, &config("1.0.0"));
        assert_eq!((exit, stdout.as_str()), (0, ""));
        let (exit, stdout, _) = call("ADD", args, &config("1.0.0"));
        assert_eq!(exit, 1);
        assert!(stdout.contains("there is no prevResult to report"), "{stdout}");
    });
}

#[test]
fn the_exit_status_can_be_told() {
    with_debug(&json!({"ReportResult": "{}", "ExitWithCode": 3}), |_, args| {
        assert_eq!(
            call("CHECK", args, &{
                let mut config = config("1.0.0");
                config["prevResult"] = json!({});
                config
            })
            .0,
            3
        );
    });
}

#[test]
fn every_call_is_appended_to_the_command_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let mut config = config("1.0.0");
    config["commandLog"] = json!(log);
    call("ADD", "", &config);
    call("DEL", "", &config);
    let log: Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    assert_eq!((&log[0]["Command"], &log[1]["Command"]), (&json!("ADD"), &json!("DEL")));
    assert_eq!(log[1]["CmdArgs"]["IfName"], "eth0");
}
