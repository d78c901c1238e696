use cni_types::ErrorCode;
use serde_json::json;

use super::*;
use crate::find::Miss;
use crate::scripted::{Reply, ScriptedExec};
use crate::until::{CancelToken, Interruption};

const CONFIG: &[u8] = br#"{ "cniVersion": "1.0.0", "name": "n", "type": "bridge", "big": 9007199254740993 }"#;

fn plugin() -> PluginType {
    PluginType::new("host-local").unwrap()
}

/// What a plugin that delegates was given itself.
fn environment() -> Environment {
    [
        ("CNI_COMMAND", "ADD"),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_NETNS", "/n"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_ARGS", "A=1"),
        ("CNI_PATH", "/ipam/bin:/other"),
        ("TRACEPARENT", "00-a-b-01"),
        ("PATH", "/bin"),
    ]
    .into_iter()
    .collect()
}

type Operation = fn(&dyn Exec, &Request<'_>) -> Result<(), Error>;

/// Every operation without a result, by its command.
const WITHOUT_RESULT: [(Command, Operation); 4] =
    [(Command::Check, check), (Command::Del, del), (Command::Gc, gc), (Command::Status, status)];

#[test]
fn every_operation_passes_stdin_and_environment_on_and_sets_the_command() {
    let exec = ScriptedExec::new().plugin("host-local", |call| call.reply(json!({"ips": []})));
    let (plugin, environment) = (plugin(), environment());
    let request = Request::new(&plugin, &environment, CONFIG);
    add(&exec, &request).unwrap();
    for (_, operation) in WITHOUT_RESULT {
        operation(&exec, &request).unwrap();
    }
    let expected = [Command::Add, Command::Check, Command::Del, Command::Gc, Command::Status];
    let calls = exec.calls();
    assert_eq!(calls.iter().map(|call| call.command()).collect::<Vec<_>>(), expected);
    for call in calls {
        assert_eq!(call.stdin(), CONFIG);
        assert_eq!(call.program(), std::path::Path::new("/ipam/bin/host-local"));
        let mut given = environment.clone();
        given.set("CNI_COMMAND", call.command().as_str());
        assert_eq!(*call.environment(), given);
    }
}

#[test]
fn version_asks_with_values_that_early_plugins_want() {
    let exec = ScriptedExec::new().plugin("host-local", |call| {
        call.reply(json!({"cniVersion": "1.1.0", "supportedVersions": ["1.0.0"]}))
    });
    let (plugin, environment) = (plugin(), environment());
    let config = version_config(CniVersion::V1_1_0);
    let info = version(&exec, &Request::new(&plugin, &environment, &config)).unwrap();
    assert_eq!(info.supported_versions, ["1.0.0"]);
    let call = &exec.calls()[0];
    assert_eq!(call.config(), json!({"cniVersion": "1.1.0"}));
    assert_eq!(call.program(), std::path::Path::new("/ipam/bin/host-local"));
    for name in ["CNI_NETNS", "CNI_IFNAME", "CNI_PATH"] {
        assert_eq!(call.var(name).unwrap(), "dummy", "{name}");
    }
}

#[test]
fn c25_the_error_says_who_failed_what_and_keeps_the_code() {
    let exec = ScriptedExec::new().plugin("host-local", |call| call.fail(ErrorCode::new(100), "nope"));
    let (plugin, environment) = (plugin(), environment());
    let request = Request::new(&plugin, &environment, CONFIG);
    let errors = [add(&exec, &request).unwrap_err(), del(&exec, &request).unwrap_err()];
    for (error, command) in errors.into_iter().zip(["ADD", "DEL"]) {
        assert_eq!(
            error.to_string(),
            format!("plugin \"host-local\" (/ipam/bin/host-local) failed {command} with exit status 1")
        );
        let source = std::error::Error::source(&error).unwrap();
        let object: &cni_types::ErrorObject = source.downcast_ref().unwrap();
        assert_eq!((object.code().value(), object.msg.as_str()), (100, "nope"));
        assert_eq!(error.object(), Some(object));
        assert_eq!(error.code(), ErrorCode::new(100));
        let told = cni_types::ErrorObject::from(&error);
        assert_eq!(told.msg, format!("{error}: nope"));
        assert_eq!(told.code().value(), 100);
    }
}

#[test]
fn c27_what_was_not_executed_is_not_called_failed() {
    let exec = ScriptedExec::new().plugin("host-local", |_| Reply::nothing());
    let (plugin, environment) = (plugin(), environment());
    let token = CancelToken::new().unwrap();
    token.cancel();
    let over = Until::FOREVER.or_cancelled(&token);
    let request = Request::new(&plugin, &environment, CONFIG);
    let error = del(&exec, &request.until(&over)).unwrap_err();
    insta::assert_snapshot!(error, @r#"plugin "host-local" (/ipam/bin/host-local) was not executed for DEL"#);
    insta::assert_snapshot!(std::error::Error::source(&error).unwrap(), @"not executed: the caller cancelled");
    assert!(!error.was_started());
    assert_eq!(error.interruption(), Some(Interruption::Cancelled));
    assert!(exec.calls().is_empty());

    // The cleanup has a bound of its own.
    let fresh = Until::timeout(std::time::Duration::from_secs(60));
    del(&exec, &request.until(&fresh)).unwrap();
    assert_eq!(exec.calls().len(), 1);
}

#[test]
fn a_plugin_that_was_killed_may_have_left_something_behind() {
    let exec =
        ScriptedExec::new().plugin("host-local", |_| Reply::interrupted(Interruption::DeadlineExceeded));
    let (plugin, environment) = (plugin(), environment());
    let error = add(&exec, &Request::new(&plugin, &environment, CONFIG)).unwrap_err();
    insta::assert_snapshot!(error, @r#"plugin "host-local" (/ipam/bin/host-local) did not finish ADD: stdout "", stderr """#);
    assert!(error.was_started());
    assert_eq!(error.interruption(), Some(Interruption::DeadlineExceeded));
    assert_eq!(error.code(), ErrorCode::INTERNAL);
}

#[test]
fn c28_a_delegate_that_is_not_found_is_told_with_the_directories() {
    let exec = ScriptedExec::new().plugin("bridge", |_| Reply::nothing());
    let (plugin, mut environment) = (plugin(), environment());
    let error = add(&exec, &Request::new(&plugin, &environment, CONFIG)).unwrap_err();
    insta::assert_snapshot!(cni_types::ErrorObject::from(&error), @r#"plugin "host-local" was not executed for ADD: failed to find plugin "host-local" in path [/ipam/bin /other]: "/ipam/bin" (no such file), "/other" (no such file) (code 999)"#);
    assert!(!error.was_started());

    let more = SearchPath::new(["/opt/b"]);
    let error = add(&exec, &Request::new(&plugin, &environment, CONFIG).search(&more)).unwrap_err();
    let ErrorKind::Find(error) = error.kind() else { panic!("{error:?}") };
    assert!(
        matches!(&error.searched[..], [(dir, Miss::Absent)] if dir.as_path() == std::path::Path::new("/opt/b"))
    );

    environment.remove("CNI_PATH");
    let error = add(&exec, &Request::new(&plugin, &environment, CONFIG)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_ENVIRONMENT);
    assert!(cni_types::ErrorObject::from(error).msg.ends_with("(CNI_PATH is empty or not set)"));
}

#[test]
fn nothing_is_added_when_the_answer_could_not_be_read() {
    let exec = ScriptedExec::new().plugin("host-local", |call| call.reply(json!({})));
    let (plugin, environment) = (plugin(), environment());
    for (config, code, msg) in [
        ("", 6, "cannot decode network configuration: EOF while parsing a value at line 1 column 0"),
        (
            "[]",
            6,
            "cannot decode network configuration: invalid type: sequence, expected an object at line 1 column 0",
        ),
        (r#"{"cniVersion":1}"#, 6, "cannot decode network configuration: cniVersion: "),
        (r#"{"cniVersion":"x"}"#, 6, "\"x\" is not a version"),
        (r#"{"cniVersion":"9.9.9"}"#, 1, "9.9.9 is not a released CNI spec version"),
    ] {
        let error = add(&exec, &Request::new(&plugin, &environment, config.as_bytes())).unwrap_err();
        let told = cni_types::ErrorObject::from(&error);
        assert!(told.msg.contains(msg), "{told}");
        assert_eq!(told.code().value(), code, "{told}");
        assert!(!error.was_started());
    }
    assert!(exec.calls().is_empty());
    // Without a result nothing needs to be read.
    del(&exec, &Request::new(&plugin, &environment, b"")).unwrap();
    for config in ["null", "{}", r#"{"cniVersion":""}"#, r#"{"CNIVERSION":"0.1.0"}"#] {
        let result = add(&exec, &Request::new(&plugin, &environment, config.as_bytes())).unwrap();
        assert_eq!(result.version(), CniVersion::V0_1_0, "{config}");
    }
}

#[test]
fn c102_the_codes_decide_without_a_look_at_the_text() {
    let (plugin, environment) = (plugin(), environment());
    for (code, again, gone, unavailable) in [
        (11, true, false, false),
        (3, false, true, false),
        (5, false, false, false),
        (50, false, false, true),
    ] {
        let exec = ScriptedExec::new().plugin("host-local", move |_| {
            let object = cni_types::ErrorObject::new(ErrorCode::new(code), "failed to Statfs");
            Reply::error_object(&object.with_details("no such file or directory"))
        });
        for (command, operation) in WITHOUT_RESULT {
            let error = operation(&exec, &Request::new(&plugin, &environment, CONFIG)).unwrap_err();
            let object = error.object().unwrap();
            assert_eq!(error.command(), command);
            assert_eq!(object.is_try_again(), again, "{code}");
            assert_eq!(object.needs_no_cleanup(), gone, "{code}");
            assert_eq!(object.is_not_available(), unavailable, "{code}");
            assert_eq!(object.details, "no such file or directory");
        }
    }
}
