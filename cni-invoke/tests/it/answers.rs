//! What callers learn of a plugin that ends by itself.

use cni_invoke::{ErrorKind, Exit, add, check, del, gc, status, version};
use cni_types::ErrorObject;

use crate::plugin::{Plugin, quiet};

#[test]
fn a_plugin_answers() {
    let plugin = Plugin::script(r#"cat > "$DIR/stdin"; echo '{"ips":[{"address":"10.1.0.5/16"}]}'"#);
    let result = add(&quiet(), &plugin.request()).unwrap();
    assert_eq!(result.version().as_str(), "1.0.0");
    assert_eq!(std::fs::read_to_string(plugin.at("stdin")).unwrap(), crate::plugin::CONFIG);
}

#[test]
fn c23_a_crash_is_told_with_its_status_and_stderr() {
    let plugin = Plugin::script("echo boom >&2; exit 2");
    let error = add(&quiet(), &plugin.request()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "plugin \"t\" ({}) failed ADD with exit status 2 and printed no error object: stdout \"\", stderr \"boom\\n\"",
            plugin.program().display()
        )
    );

    let plugin = Plugin::script("kill -SEGV $$");
    let error = del(&quiet(), &plugin.request()).unwrap_err();
    assert_eq!(error.exit(), Some(Exit::Signal(11)));
    assert!(
        error.to_string().contains("failed DEL with signal 11 (SIGSEGV) and printed no error object"),
        "{error}"
    );
}

#[test]
fn a_result_of_a_plugin_that_was_killed_does_not_count() {
    let plugin = Plugin::script(r#"echo '{"cniVersion":"1.0.0"}'; kill -KILL $$"#);
    let error = add(&quiet(), &plugin.request()).unwrap_err();
    assert_eq!(error.exit(), Some(Exit::Signal(9)));
    assert!(error.to_string().contains(r#"stdout "{\"cniVersion\":\"1.0.0\"}\n""#), "{error}");
}

#[test]
fn c24_silence_is_no_result_but_success_of_all_else() {
    let plugin = Plugin::script("");
    let request = plugin.request();
    for error in [add(&quiet(), &request).unwrap_err(), version(&quiet(), &request).unwrap_err()] {
        assert_eq!(
            error.to_string(),
            format!(
                "plugin \"t\" ({}) answered {} with exit status 0, but unreadably: stdout \"\", stderr \"\"",
                plugin.program().display(),
                error.command(),
            )
        );
        assert!(matches!(error.kind(), ErrorKind::Unreadable { .. }));
    }
    for operation in [del, check, gc, status] {
        operation(&quiet(), &request).unwrap();
    }
}

#[test]
fn c18_stdout_that_is_not_the_protocols_is_quoted_with_the_position() {
    let plugin = Plugin::script(r#"echo 'level=info msg=hi'; echo '{"code":7,"msg":"m"}'; exit 1"#);
    let error = add(&quiet(), &plugin.request()).unwrap_err();
    let told = ErrorObject::from(&error).msg;
    assert!(told.contains(r#"stdout "level=info msg=hi\n{\"code\":7,\"msg\":\"m\"}\n""#), "{told}");
    assert!(told.ends_with("cannot decode error object: expected value at line 1 column 1"), "{told}");
}

#[test]
fn c30_the_error_object_on_stdout_is_the_cause() {
    let plugin = Plugin::script(r#"echo '{"code":7,"msg":"bad conf","details":"line 3"}'; exit 1"#);
    let error = add(&quiet(), &plugin.request()).unwrap_err();
    let object = error.object().unwrap();
    assert_eq!(
        (object.code().value(), object.msg.as_str(), object.details.as_str()),
        (7, "bad conf", "line 3")
    );
    let told = ErrorObject::from(error);
    assert!(
        told.to_string().ends_with(" failed ADD with exit status 1: bad conf: line 3 (code 7)"),
        "{told}"
    );
}
