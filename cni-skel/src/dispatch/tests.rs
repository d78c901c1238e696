mod cases;
mod limits;

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::testing::{Invocation, Outcome};
use crate::types::config::Attachment;
use crate::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, GcRequest, IpConfig,
    Plugin, Result, StatusRequest,
};

/// Writes down which handler ran with what, and fails as told.
#[derive(Default)]
struct Recorder {
    seen: RefCell<Vec<String>>,
    fail: Option<fn() -> Error>,
}

impl CniPlugin for Recorder {
    type Config = ();
    type Runtime = ();
    type Args = ();
    const NAME: &'static str = "recorder";
    const ABOUT: &'static str = "writes down what it is asked";
}

impl Recorder {
    fn note(&self, what: impl Into<String>) -> Result<()> {
        self.seen.borrow_mut().push(what.into());
        self.fail.map_or(Ok(()), |fail| Err(fail()))
    }
}

impl Plugin for Recorder {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        self.note(format!("ADD {} {} {}", req.container_id(), req.netns(), req.ifname()))?;
        let mut result = req.result();
        let eth0 = result.add_interface(req.interface());
        result.ips.push(IpConfig::new("10.1.0.5/16".parse()?).on(eth0));
        Ok(result)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        self.note(format!("DEL {:?} {}", req.netns().map(ToString::to_string), req.prev_result().is_some()))
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        self.note(format!("CHECK {}", req.prev_result().ips.len()))
    }

    fn status(&self, _: &StatusRequest<Self>) -> Result<()> {
        self.note("STATUS")
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        self.note(format!(
            "GC {:?}",
            req.valid_attachments().iter().map(|valid| valid.container_id()).collect::<Vec<_>>()
        ))
    }
}

fn add() -> Invocation {
    Invocation::add("c1", "/run/netns/x", "eth0")
}

fn config(version: &str) -> Value {
    json!({"cniVersion": version, "name": "n", "type": "recorder"})
}

/// Runs a call that must not reach a handler; gives the error.
#[track_caller]
fn refused(call: Invocation, code: u64) -> String {
    let plugin = Recorder::default();
    let text = call.run(&plugin).assert_error(code).to_string();
    assert_eq!(*plugin.seen.borrow(), Vec::<String>::new(), "no handler may run: {text}");
    text
}

#[track_caller]
fn accepted(call: Invocation) -> (Outcome, Vec<String>) {
    let plugin = Recorder::default();
    let outcome = call.run(&plugin);
    outcome.assert_success();
    (outcome, plugin.seen.take())
}

#[test]
fn c12_version_needs_no_stdin_and_no_command_prints_who_it_is() {
    let (outcome, seen) = accepted(Invocation::version().stdin(""));
    assert_eq!(outcome.json()["cniVersion"], "1.1.0");
    assert!(seen.is_empty());
    let (outcome, _) = accepted(Invocation::version().config(config("0.4.0")));
    assert_eq!(outcome.json()["cniVersion"], "0.4.0", "a good version is echoed");
    let (outcome, _) = accepted(Invocation::version().config(config("9.9.9")));
    assert_eq!(outcome.json()["cniVersion"], "1.1.0", "one that does not exist is not");
    for call in [Invocation::of(""), add().without_env("CNI_COMMAND")] {
        let (outcome, _) = accepted(call);
        assert_eq!((outcome.exit(), outcome.stdout()), (0, &b""[..]));
        assert!(outcome.stderr().contains("recorder: writes down") && outcome.stderr().contains("1.1.0"));
    }
}

#[test]
fn an_unknown_command_is_refused_first() {
    let text = refused(Invocation::of("FOO").stdin("no JSON"), 4);
    assert!(text.contains("unknown CNI_COMMAND: FOO") && text.contains("ADD, DEL, CHECK"), "{text}");
}

#[test]
fn c13_every_missing_variable_is_named_at_once_and_cni_path_is_optional() {
    let text = refused(add().without_env("CNI_NETNS").without_env("CNI_IFNAME"), 4);
    assert!(text.contains("[CNI_NETNS,CNI_IFNAME] missing"), "{text}");
    let text = refused(add().env("CNI_CONTAINERID", "a/b").env("CNI_IFNAME", ""), 4);
    assert!(
        text.contains("[CNI_IFNAME] missing") && text.contains("CNI_CONTAINERID is \"a/b\": must"),
        "{text}"
    );
    accepted(Invocation::status());
    accepted(Invocation::del("c1", "eth0"));
}

#[test]
fn c14_an_empty_netns_on_del_is_an_absent_one() {
    let (_, seen) = accepted(Invocation::del("c1", "eth0").env("CNI_NETNS", ""));
    assert_eq!(seen, ["DEL None false"]);
}

#[test]
fn c16_a_bad_interface_name_is_refused_before_stdin_is_read() {
    let text = refused(add().env("CNI_IFNAME", "sixteen-bytes-xx").stdin("no JSON"), 4);
    assert!(text.contains("CNI_IFNAME is \"sixteen-bytes-xx\""), "{text}");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let odd = std::ffi::OsString::from_vec(vec![b'a', 0xff]);
    let text = refused(add().env("CNI_CONTAINERID", odd), 4);
    assert!(text.contains("not UTF-8"), "{text}");
}

#[test]
fn c17_a_missing_name_is_an_error_for_every_command() {
    let config = json!({"cniVersion": "1.1.0", "type": "loopback"});
    let check = || Invocation::check("c1", "/x", "eth0").prev_result(json!({}));
    for call in [add(), check(), Invocation::del("c1", "eth0"), Invocation::status(), Invocation::gc([])] {
        assert!(refused(call.config(&config), 7).starts_with("missing network name: must start with"));
    }
}

#[test]
fn a_configuration_that_is_not_utf8_is_refused_in_its_version() {
    let stdin = b"{\"cniVersion\":\"0.4.0\",\"name\":\"n\",\"x\":\"\xff\"}".as_slice();
    let outcome = add().stdin(stdin).run(&Recorder::default());
    let error = outcome.error().unwrap();
    assert_eq!((error.code(), error.cni_version.as_deref()), (ErrorCode::DECODING_FAILURE, Some("0.4.0")));
    assert!(error.msg.contains("x: invalid unicode code point"), "{error}");
}

#[test]
fn what_is_no_configuration_is_refused_with_its_position() {
    for stdin in ["", "null", "[]", "\"x\"", "{\n\"name\": }"] {
        refused(add().stdin(stdin), 6);
    }
    let text = refused(add().stdin("{\n  \"name\": 7}"), 6);
    assert!(text.contains("name") && text.contains("line 2"), "{text}");
    let list = json!({"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "bridge"}]});
    assert!(refused(add().config(list), 7).contains("whole list"));
    assert!(refused(add().config(json!({"name": "n", "type": "../x"})), 7).contains("plugin type"));
}

#[test]
fn a_version_must_exist_be_supported_and_have_the_command() {
    assert!(refused(add().config(config("abc")), 6).contains("\"abc\" is not a version"));
    let text = refused(add().config(config("9.9.9")), 1);
    assert!(text.contains("config is \"9.9.9\", plugin supports [\"0.1.0\""), "{text}");
    assert!(
        refused(Invocation::check("c1", "/x", "eth0").config(config("0.3.1")), 1)
            .contains("does not allow CHECK")
    );
    assert!(refused(Invocation::status().config(config("1.0.0")), 1).contains("does not allow STATUS"));
    accepted(add().config(json!({"name": "n"})));
}

#[test]
fn the_error_is_in_the_version_of_the_configuration() {
    let outcome = Invocation::check("c1", "/x", "eth0").config(config("1.0.0")).run(&Recorder::default());
    assert!(outcome.assert_error(7).msg.contains("prevResult missing"));
    assert_eq!(outcome.json()["cniVersion"], "1.0.0");
    // What comes before stdin is read is told in it as well.
    for call in
        [add().without_env("CNI_NETNS"), add().env("CNI_COMMAND", "FROB"), add().env("CNI_IFNAME", "a/b")]
    {
        let outcome = call.config(config("0.3.1")).run(&Recorder::default());
        outcome.assert_error(4);
        assert_eq!(outcome.json()["cniVersion"], "0.3.1");
    }
    let outcome = add().env("CNI_COMMAND", "FROB").stdin("").run(&Recorder::default());
    assert_eq!(outcome.json()["cniVersion"], "1.1.0");
}

#[test]
fn c02_the_reply_is_in_the_version_of_the_configuration() {
    let (outcome, seen) = accepted(add().config(config("0.4.0")));
    assert_eq!(seen, ["ADD c1 /run/netns/x eth0"]);
    assert_eq!(outcome.json()["ips"][0], json!({"version": "4", "interface": 0, "address": "10.1.0.5/16"}));
    let (outcome, _) = accepted(add().config(config("0.2.0")));
    assert_eq!(outcome.json(), json!({"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.5/16"}, "dns": {}}));
}

#[test]
fn c03_prev_result_is_decoded_by_its_own_version_or_the_configurations() {
    for prev_result in [
        json!({"ips": [{"version": "4", "address": "10.1.0.9/16"}]}),
        json!({"cniVersion": "", "ips": [{"version": "4", "address": "10.1.0.9/16"}]}),
        json!({"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.9/16"}]}),
    ] {
        let (outcome, _) = accepted(add().config(config("0.4.0")).prev_result(prev_result));
        assert_eq!(outcome.json()["ips"][0], json!({"version": "4", "address": "10.1.0.9/16"}));
    }
    let bad = json!({"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.9"}]});
    let text = refused(add().config(config("0.4.0")).prev_result(&bad), 6);
    assert!(
        text.contains("\"1.0.0\"")
            && text.contains("\"0.4.0\"")
            && text.contains("prevResult.ips[0].address"),
        "{text}"
    );
    let (outcome, seen) = accepted(Invocation::del("c1", "eth0").config(config("0.4.0")).prev_result(&bad));
    assert_eq!(seen, ["DEL None false"], "DEL goes on without");
    assert!(outcome.stderr().contains("ignoring prevResult"));
}

#[test]
fn a_chained_plugin_loses_nothing_in_passing() {
    let prev_result = r#"{"cniVersion":"0.4.0","big":12345678901234567890123,"interfaces":[{"name":"a","x":1}],"ips":[{"version":"4","address":"10.1.0.9/16","y":{"z":1.10}}],"routes":[{"dst":"0.0.0.0/0","w":null}],"dns":{"v":[]}}"#;
    let stdin = format!(r#"{{"cniVersion":"0.4.0","name":"n","prevResult":{prev_result}}}"#);
    let (outcome, _) = accepted(add().stdin(stdin));
    let text = String::from_utf8(outcome.stdout().to_vec()).unwrap();
    for kept in ["12345678901234567890123", "\"x\": 1", "{\"z\":1.10}", "\"w\": null", "\"v\": []"] {
        assert!(text.contains(kept), "{kept} is lost: {text}");
    }
}

#[test]
fn c51_gc_reads_the_new_key_and_tolerates_the_old_one() {
    let (_, seen) = accepted(Invocation::gc([("c1", "eth0")]));
    assert_eq!(seen, ["GC [\"c1\"]"]);
    let mut old = config("1.1.0");
    old["cni.dev/attachments"] = json!([Attachment::new("c2", "eth0")]);
    assert_eq!(accepted(Invocation::of("GC").config(&old)).1, ["GC [\"c2\"]"]);
    old["cni.dev/attachments"] = Value::Null;
    old["cni.dev/valid-attachments"] = json!([]);
    assert_eq!(accepted(Invocation::of("GC").config(&old)).1, ["GC []"]);
    assert!(refused(Invocation::of("GC").config(config("1.1.0")), 7).contains("cni.dev/valid-attachments"));
    old["cni.dev/valid-attachments"] = json!([{"containerID": 7}]);
    assert!(refused(Invocation::of("GC").config(&old), 7).contains("[0].containerID"));
    old["cni.dev/valid-attachments"] = Value::Null;
    assert_eq!(accepted(Invocation::of("GC").config(&old)).1, ["GC []"], "null is an empty list");
    for broken in [json!([{"containerID": "c1"}]), json!([{"ifname": "eth0"}])] {
        old["cni.dev/valid-attachments"] = broken;
        let text = refused(Invocation::of("GC").config(&old), 7);
        assert!(
            text.contains("cni.dev/valid-attachments[0]: expected a containerID and an ifname"),
            "{text}"
        );
    }
}

#[test]
fn the_plugins_own_namespace_is_refused_before_the_handler() {
    let netns = tempfile::NamedTempFile::new().unwrap();
    let other = tempfile::NamedTempFile::new().unwrap();
    let inside = |call: Invocation| call.own_netns(netns.path());
    let same = || inside(Invocation::add("c1", netns.path(), "eth0"));
    refused(same(), 8);
    refused(same().env("CNI_NETNS_OVERRIDE", "yes"), 8);
    refused(inside(Invocation::check("c1", netns.path(), "eth0")), 8);
    refused(inside(Invocation::del("c1", "eth0").netns(netns.path())), 8);
    accepted(same().env("CNI_NETNS_OVERRIDE", "TRUE"));
    accepted(inside(Invocation::add("c1", other.path(), "eth0")));
    accepted(inside(Invocation::add("c1", "/does/not/exist", "eth0")));
}

#[test]
fn c19_a_panic_is_an_error_object() {
    let plugin = Recorder { fail: Some(|| panic!("out of {}", "luck")), ..Recorder::default() };
    let outcome = add().run(&plugin);
    let error = outcome.assert_error(999);
    assert_eq!(error.msg, "the plugin panicked: out of luck");
}

#[test]
fn c21_codes_pass_unchanged_but_zero() {
    let codes: [(fn() -> Error, u64); 5] = [
        (|| Error::new(ErrorCode::new(1), "m"), 1),
        (|| Error::new(ErrorCode::TRY_AGAIN, "m"), 11),
        (|| Error::new(ErrorCode::new(142), "m"), 142),
        (|| Error::message("m"), 999),
        (|| Error::new(ErrorCode::new(0), ""), 999),
    ];
    for (fail, code) in codes {
        let outcome = add().run(&Recorder { fail: Some(fail), ..Recorder::default() });
        assert_ne!(outcome.assert_error(code).msg, "", "an error says something");
    }
}
