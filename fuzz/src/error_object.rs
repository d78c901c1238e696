//! Error objects, and what a runtime makes of whatever a plugin prints.

use cni_invoke::testing::{Reply, ScriptedExec};
use cni_invoke::{Environment, Exit, Request};
use cni_types::{ErrorCode, ErrorObject, PluginInfo, PluginType};

use crate::json;

/// Reads bytes as an error object, as an answer to VERSION, and as what plugins print that succeed or fail.
pub fn check(bytes: &[u8]) {
    match ErrorObject::decode(bytes) {
        Ok(object) => {
            let text = object.to_json();
            let again = ErrorObject::decode(text.as_bytes()).expect("what was printed can be read");
            assert_eq!(again, object);
            assert_eq!(again.to_json(), text);
            assert_eq!(again.code(), object.code());
            let _ = (object.to_string(), object.is_try_again(), object.needs_no_cleanup());
        }
        Err(error) => json::check_error(&error, bytes),
    }
    match PluginInfo::decode(bytes) {
        Ok(info) => assert_eq!(PluginInfo::decode(info.to_json().as_bytes()).as_ref(), Ok(&info)),
        Err(error) => json::check_error(&error, bytes),
    }
    for exit in [Exit::SUCCESS, Exit::Code(1)] {
        check_answer(bytes, exit);
    }
}

fn check_answer(stdout: &[u8], exit: Exit) {
    let printed = stdout.to_vec();
    let exec = ScriptedExec::new().otherwise(move |_| Reply::raw(exit, printed.clone()));
    let plugin = PluginType::new("p").expect("a good type");
    let environment: Environment = [("CNI_PATH", "/opt/cni/bin")].into_iter().collect();
    for config in [&br#"{"cniVersion":"1.1.0"}"#[..], br#"{"cniVersion":"0.2.0"}"#] {
        let request = Request::new(&plugin, &environment, config);
        let added = cni_invoke::add(&exec, &request);
        assert!(added.is_err() || exit.is_success(), "a plugin that failed has no result");
        check_failure(added.err());
        let deleted = cni_invoke::del(&exec, &request);
        assert_eq!(deleted.is_ok(), exit.is_success(), "DEL is told by the exit status alone");
        check_failure(deleted.err());
    }
}

fn check_failure(error: Option<cni_invoke::Error>) {
    let Some(error) = error else { return };
    assert!(!error.to_string().is_empty());
    // A plugin may fail with code 0 of its own; any other failure has ours.
    assert!(error.code() != ErrorCode::new(0) || error.object().is_some(), "{error}");
}
