use super::*;
use crate::exec::Exit;

fn output(exit: i32, stdout: impl Into<Vec<u8>>) -> Output {
    Output::new(Exit::Code(exit), stdout).with_stderr("log\n")
}

fn added(exit: i32, stdout: impl Into<Vec<u8>>) -> Result<VersionedResult, ErrorKind> {
    result(output(exit, stdout), CniVersion::V0_3_0)
}

#[test]
fn c01_a_result_without_a_version_is_in_that_of_the_configuration() {
    const IPS: &str = r#""ips":[{"version":"4","address":"10.40.0.3/12","gateway":"10.40.0.1"}],"dns":{}"#;
    for version in ["", r#""cniVersion":"","#, r#""cniVersion":null,"#] {
        let result = added(0, format!("{{{version}{IPS}}}")).unwrap();
        assert_eq!(result.version(), CniVersion::V0_3_0);
        assert_eq!(result.as_v040().unwrap().ips[0].address.to_string(), "10.40.0.3/12");
    }
    let own = added(0, r#"{"cniVersion":"1.0.0","ips":[{"address":"10.40.0.3/12"}]}"#).unwrap();
    assert_eq!(own.version(), CniVersion::V1_0_0);
}

#[test]
fn an_empty_object_and_null_are_empty_results() {
    for stdout in ["{}", "null", " null\n"] {
        let result = added(0, stdout).unwrap();
        assert_eq!(result.version(), CniVersion::V0_3_0, "{stdout}");
        assert!(result.as_v040().unwrap().ips.is_empty(), "{stdout}");
    }
}

#[test]
fn what_is_no_result_is_unreadable_and_quoted() {
    for stdout in [
        &b""[..],
        b" \n",
        b"log line",
        b"[]",
        b"\"x\"",
        b"7",
        b"\0",
        b"\xff",
        b"{\"ips\":[",
        b"{\"cniVersion\":\"1.0.0\"}{}",
        b"{\"cniVersion\":5}",
        b"{\"cniVersion\":\"9.9.9\"}",
        b"{\"ips\":[{\"version\":\"4\",\"address\":\"10.1.0.5\"}]}",
    ] {
        let Err(ErrorKind::Unreadable { printed, .. }) = added(0, stdout) else {
            panic!("read {:?}", String::from_utf8_lossy(stdout));
        };
        assert_eq!(printed.stdout.bytes(), stdout);
        assert_eq!(printed.stderr.bytes(), b"log\n");
    }
}

#[test]
fn an_error_object_is_an_error_whatever_the_exit_status() {
    for exit in [0, 1, 2] {
        for (stdout, code, msg) in [
            (&br#"{"code":7,"msg":"m","details":"d"}"#[..], 7, "m"),
            (br#"{"cniVersion":"9.9.9","code":11,"msg":"m"}"#, 11, "m"),
            (br#"{"msg":"only msg"}"#, 0, "only msg"),
            (br#"{"code":7}"#, 7, ""),
            (br#"{"CODE":7,"Msg":"m"}"#, 7, "m"),
            (br#"{"code":7,"msg":5,"details":"d"}"#, 7, "5"),
            (br#"{"code":7,"msg":{"a":1}}"#, 7, r#"{"a":1}"#),
            (br#"{"code":"7","msg":"m"}"#, 0, "m"),
            (br#"{"code":-1,"msg":"m"}"#, 0, "m"),
            (b"{\"code\":7,\"msg\":\"a\xffb\"}", 7, "a\u{fffd}b"),
        ] {
            let shown = String::from_utf8_lossy(stdout);
            let Err(ErrorKind::Failed { exit: told, object, printed }) = added(exit, stdout) else {
                panic!("no error: {shown}, exit {exit}");
            };
            assert_eq!((object.code().value(), object.msg.as_str()), (code, msg), "{shown}, exit {exit}");
            assert_eq!(told, Exit::Code(exit));
            assert_eq!(printed.stdout.bytes(), stdout);
        }
    }
}

#[test]
fn a_result_may_have_keys_that_errors_have_too() {
    let stdout = r#"{"cniVersion":"1.0.0","ips":[{"address":"10.1.0.5/16"}],"code":7,"msg":"m"}"#;
    assert!(added(0, stdout).is_ok());
    assert!(added(0, r#"{"cniVersion":"1.0.0","x":{"msg":"m"}}"#).is_ok());
}

#[test]
fn a_failure_without_an_error_object_is_unexplained() {
    for (stdout, has_problem) in [
        ("", false),
        ("{}", false),
        ("null", true),
        (r#"{"cniVersion":"1.0.0","ips":[{"address":"10.1.0.5/16"}]}"#, false),
        ("log line", true),
        ("log line\n{\"code\":7,\"msg\":\"m\"}", true),
        ("{\"code\":7,\"msg\":\"m\"}\nlog line", true),
        (r#"{"code":7,"#, true),
        ("\u{feff}{\"code\":7}", true),
    ] {
        for read in [|output| nothing(output), |output| plugin_info(output).map(drop)] {
            let Err(ErrorKind::Unexplained { exit, problem, printed }) = read(output(2, stdout)) else {
                panic!("explained: {stdout:?}");
            };
            assert_eq!((exit, problem.is_some()), (Exit::Code(2), has_problem), "{stdout:?}");
            assert_eq!(printed.stdout.bytes(), stdout.as_bytes());
        }
    }
}

#[test]
fn c18_a_log_line_before_the_error_object_is_quoted_with_the_position() {
    let stdout = "level=info msg=hi\n{\"code\":7,\"msg\":\"m\"}";
    let Err(ErrorKind::Unexplained { problem: Some(problem), printed, .. }) = added(1, stdout) else {
        panic!("explained");
    };
    assert_eq!((problem.line(), problem.column()), (1, 1));
    assert!(printed.to_string().contains(r#"stdout "level=info msg=hi\n{\"code\":7,"#), "{printed}");
}

#[test]
fn success_of_other_commands_needs_no_words() {
    for stdout in ["", " ", "done", "{}", r#"{"code":7,"msg":"m"}"#] {
        assert!(nothing(output(0, stdout)).is_ok(), "{stdout:?}");
    }
}

#[test]
fn a_plugin_from_before_version_existed_supports_0_1_0() {
    for stdout in [
        r#"{"code":4,"msg":"unknown CNI_COMMAND: VERSION"}"#,
        r#"{"msg":"unknown CNI_COMMAND: VERSION"}"#,
        r#"{"code":4,"msg":"unknown CNI_COMMAND: VERSION","details":"x"}"#,
        r#"{"code":4,"msg":"required env variables [CNI_CONTAINERID] missing"}"#,
    ] {
        assert_eq!(plugin_info(output(1, stdout)).unwrap().supported_versions, ["0.1.0"], "{stdout}");
    }
    for (exit, stdout) in
        [(1, r#"{"code":7,"msg":"m"}"#), (1, "unknown CNI_COMMAND: VERSION"), (0, ""), (0, "{}")]
    {
        assert!(plugin_info(output(exit, stdout)).is_err(), "{stdout}");
    }
    let info =
        plugin_info(output(0, r#"{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}"#)).unwrap();
    assert_eq!(info.supported_versions, ["0.4.0", "1.0.0"]);
}
