//! What a plugin that delegates makes of what its delegate does.

use std::sync::Arc;

use cni_invoke::testing::ScriptedExec;
use serde_json::json;

use super::*;
use crate::call::Call;
use crate::dispatch::Dispatcher;
use crate::plugin::Plugin;
use crate::request::{AddRequest, CheckRequest, DelRequest, GcRequest, StatusRequest};
use crate::testing::{DelegateReply, Invocation, Outcome};
use crate::types::{AddResult, CniVersion, Command};

/// What the handler does between the delegate's ADD and its own end.
type Then = Box<dyn Fn(Lease) -> Result<AddResult> + Send + Sync>;

/// A plugin that delegates everything, in one way or another.
struct Outer {
    change: fn(Delegate) -> Delegate,
    then: Then,
}

impl Outer {
    fn new(then: impl Fn(Lease) -> Result<AddResult> + Send + Sync + 'static) -> Self {
        Self { change: |delegate| delegate, then: Box::new(then) }
    }

    /// One that keeps what it gets.
    fn committing() -> Self {
        Self::new(|lease| Ok(lease.commit()))
    }
}

impl CniPlugin for Outer {
    type Config = ();
    type Runtime = ();
    type Args = ();
    const NAME: &'static str = "outer";
    const ABOUT: &'static str = "delegates";
    const VERSIONS: &'static [CniVersion] = &CniVersion::ALL;
}

impl Plugin for Outer {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        (self.then)((self.change)(req.ipam()?).add()?)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        (self.change)(req.ipam()?).del()
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        (self.change)(req.ipam()?).check()
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        (self.change)(req.ipam()?).gc()
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        (self.change)(req.ipam()?).status()
    }
}

fn with_ipam(invocation: Invocation) -> Invocation {
    invocation.config(json!({
        "cniVersion": "1.1.0", "name": "n", "type": "outer", "ipam": {"type": "host-local"},
    }))
}

fn add() -> Invocation {
    with_ipam(Invocation::add("c1", "/some/netns", "eth0"))
}

fn address(call: &crate::testing::DelegateCall) -> DelegateReply {
    call.reply(json!({"ips": [{"address": "10.1.0.5/16", "interface": 3}], "routes": [{"dst": "0.0.0.0/0"}]}))
}

/// Runs with a `host-local` that gives an address.
fn run(outer: &Outer, invocation: Invocation) -> Outcome {
    invocation.delegate("host-local", address).run(outer)
}

/// Who was called for what, in order.
fn delegated(outcome: &Outcome) -> Vec<String> {
    outcome.delegate_calls().iter().map(|call| format!("{} {}", call.plugin(), call.command())).collect()
}

#[test]
fn every_command_is_forwarded_by_one_call() {
    let outer = Outer::committing();
    for (invocation, command) in [
        (Invocation::add("c1", "/some/netns", "eth0"), "ADD"),
        (Invocation::check("c1", "/some/netns", "eth0").prev_result(json!({"cniVersion": "1.1.0"})), "CHECK"),
        (Invocation::del("c1", "eth0"), "DEL"),
        (Invocation::gc([("c1", "eth0")]), "GC"),
        (Invocation::status(), "STATUS"),
    ] {
        let outcome = run(&outer, with_ipam(invocation));
        outcome.assert_success();
        assert_eq!(delegated(&outcome), [format!("host-local {command}")]);
    }
}

#[test]
fn a_delegate_gets_stdin_byte_for_byte_and_the_whole_environment() {
    let stdin = b"\n{ \"name\":\"n\", \"cniVersion\":\"1.0.0\",\"ipam\" : {\"type\":\"host-local\",\"big\":9007199254740993,\n\"x\":1.0}}\n";
    let variables = [
        ("CNI_COMMAND", "DEL"),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_PATH", "/opt/a:/opt/b"),
        ("CNI_ARGS", "A=1"),
        ("CNI_EXTRA", "kept"),
        ("TRACEPARENT", "00-a-b-01"),
        ("PATH", "/bin"),
    ];
    let exec = Arc::new(ScriptedExec::new().plugin("host-local", address));
    let call = Call::new(variables, &stdin[..]).with_exec(Arc::clone(&exec) as Arc<dyn Exec>);
    let reply = Dispatcher::new(&Outer::committing()).respond(call);
    assert_eq!(reply.exit, 0, "{:?}", reply.as_error());
    let calls = exec.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].stdin(), stdin);
    assert_eq!(calls[0].program(), std::path::Path::new("/opt/a/host-local"));
    assert_eq!(*calls[0].environment(), variables.into_iter().collect());
}

#[test]
fn c96_a_trace_reaches_delegates_and_none_is_made_up() {
    let traced = run(&Outer::committing(), add().env("TRACEPARENT", "00-a-b-01"));
    assert_eq!(traced.delegate_calls()[0].var("TRACEPARENT").unwrap(), "00-a-b-01");
    let untraced = run(&Outer::committing(), add());
    for name in env::TRACE {
        assert_eq!(untraced.delegate_calls()[0].var(name), None, "{name}");
    }
}

#[test]
fn what_is_committed_stays() {
    let outcome = run(&Outer::committing(), add());
    outcome.assert_success();
    assert_eq!(outcome.result().ips[0].address.to_string(), "10.1.0.5/16");
    assert_eq!(delegated(&outcome), ["host-local ADD"]);
}

#[test]
fn c87_what_is_not_committed_is_given_back() {
    let ends: [(&str, Then); 4] = [
        ("dropped", Box::new(|_| Ok(AddResult::default()))),
        ("an error", Box::new(|_lease| Err(Error::new(ErrorCode::TRY_AGAIN, "later")))),
        ("a panic", Box::new(|_lease| panic!("out of luck"))),
        ("by hand", Box::new(|lease| lease.undo().map(|()| AddResult::default()))),
    ];
    for (how, then) in ends {
        let outcome = run(&Outer { change: |delegate| delegate, then }, add());
        assert_eq!(delegated(&outcome), ["host-local ADD", "host-local DEL"], "{how}");
        let [given, back] = outcome.delegate_calls() else { panic!("{how}") };
        assert_eq!(back.stdin(), given.stdin(), "{how}");
        assert_eq!(back.var("CNI_COMMAND").unwrap(), "DEL", "{how}");
        assert_eq!(back.var("CNI_CONTAINERID"), given.var("CNI_CONTAINERID"), "{how}");
    }
}

#[test]
fn a_handlers_error_is_told_though_giving_back_fails() {
    let outer = Outer::new(|_lease| Err(Error::new(ErrorCode::TRY_AGAIN, "later")));
    let outcome = add()
        .delegate("host-local", |call| match call.command() {
            Command::Add => address(call),
            _ => call.fail(ErrorCode::new(100), "no"),
        })
        .run(&outer);
    assert_eq!(outcome.assert_error(11).msg, "later");
    assert_eq!(delegated(&outcome), ["host-local ADD", "host-local DEL"]);
}

#[test]
fn a_failed_add_is_followed_by_del_and_keeps_code_message_and_details() {
    let outcome = add()
        .delegate("host-local", |call| match call.command() {
            Command::Add => DelegateReply::error_object(
                &ErrorObject::new(ErrorCode::new(142), "full").with_details("pool a"),
            ),
            _ => DelegateReply::nothing(),
        })
        .run(&Outer::committing());
    let error = outcome.assert_error(142);
    assert_eq!(
        error.msg,
        "plugin \"host-local\" (/opt/cni/bin/host-local) failed ADD with exit status 1: full"
    );
    assert_eq!(error.details, "pool a");
    assert_eq!(delegated(&outcome), ["host-local ADD", "host-local DEL"]);
}

#[test]
fn a_del_that_fails_after_a_failed_add_is_told_as_well() {
    let outcome =
        add().delegate("host-local", |call| call.fail(ErrorCode::new(142), "full")).run(&Outer::committing());
    let error = outcome.assert_error(142);
    assert!(error.msg.ends_with("failed ADD with exit status 1: full"), "{error}");
    assert_eq!(
        error.details,
        "undoing it failed, too: plugin \"host-local\" (/opt/cni/bin/host-local) failed DEL with exit status 1: full \
         (code 142)"
    );
}

#[test]
fn an_add_whose_answer_cannot_be_read_is_undone() {
    let outcome = add()
        .delegate("host-local", |_| DelegateReply::raw(cni_invoke::Exit::SUCCESS, "log line"))
        .run(&Outer::committing());
    assert!(outcome.assert_error(6).msg.contains(r#"stdout "log line""#));
    assert_eq!(delegated(&outcome), ["host-local ADD", "host-local DEL"]);
}

#[test]
fn c27_the_del_that_undoes_has_a_time_of_its_own() {
    let outer =
        Outer { change: |delegate| delegate.with_timeout(Duration::from_secs(3600)), ..Outer::committing() };
    let outcome = add()
        .delegate("host-local", |call| match call.command() {
            Command::Add => DelegateReply::interrupted(cni_invoke::Interruption::DeadlineExceeded),
            _ => DelegateReply::nothing(),
        })
        .run(&outer);
    assert!(outcome.assert_error(999).msg.ends_with("killed: the deadline passed"));
    assert_eq!(delegated(&outcome), ["host-local ADD", "host-local DEL"]);
}

#[test]
fn c28_a_delegate_that_is_not_found_is_told_with_where_it_was_looked_for() {
    let other = || add().delegate("dhcp", address);
    let outcome = other().path("/opt/a::/opt/b").run(&Outer::committing());
    assert_eq!(
        outcome.assert_error(999).msg,
        "plugin \"host-local\" was not executed for ADD: failed to find plugin \"host-local\" in path [/opt/a  /opt/b]: \"/opt/a\" (no such file), \
         \"\" (not searched, an empty element names no directory), \"/opt/b\" (no such file)"
    );
    assert!(outcome.delegate_calls().is_empty());
    for without_path in [other().without_env("CNI_PATH"), other().path("")] {
        let outcome = without_path.run(&Outer::committing());
        assert!(outcome.assert_error(4).msg.ends_with("(CNI_PATH is empty or not set)"));
    }
}

#[test]
fn c28_more_directories_can_be_searched_without_telling_the_delegate() {
    let outer = Outer { change: |delegate| delegate.also_in("/opt/mine"), ..Outer::committing() };
    let outcome = run(&outer, add().path(""));
    outcome.assert_success();
    let call = &outcome.delegate_calls()[0];
    assert_eq!(call.program(), std::path::Path::new("/opt/mine/host-local"));
    assert_eq!(call.var("CNI_PATH").unwrap(), "");
}

#[test]
fn c29_a_delegate_is_never_a_path() {
    for plugin_type in ["../x", "..", ".", "/bin/sh", "a/b"] {
        for (command, invocation) in [
            ("STATUS", Invocation::status()),
            ("ADD", Invocation::add("c1", "/some/netns", "eth0")),
            ("CHECK", Invocation::check("c1", "/some/netns", "eth0")),
            ("DEL", Invocation::del("c1", "eth0")),
            ("GC", Invocation::gc([("c1", "eth0")])),
        ] {
            let config = json!({
                "cniVersion": "1.1.0", "name": "n", "type": "outer", "ipam": {"type": plugin_type},
                "prevResult": {"cniVersion": "1.1.0"}, "cni.dev/valid-attachments": [],
            });
            let outcome = run(&Outer::committing(), invocation.config(config));
            let error = outcome.assert_error(7);
            assert!(error.msg.starts_with("ipam.type: invalid plugin type"), "{command}: {error}");
            assert!(error.details.starts_with(plugin_type), "{command}: {error}");
            assert!(outcome.delegate_calls().is_empty(), "{command}");
        }
    }
}

#[test]
fn a_configuration_without_an_ipam_plugin_is_told_so() {
    for ipam in [json!(null), json!({}), json!({"type": ""}), json!({"type": null})] {
        let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "outer", "ipam": ipam});
        let outcome = run(&Outer::committing(), add().config(config));
        assert_eq!(
            outcome.assert_error(7).msg,
            "ipam.type: missing, expected the name of an IPAM plugin such as \"host-local\""
        );
    }
}

#[test]
fn a_delegate_can_be_told_otherwise_and_is_undone_in_the_same_way() {
    let outer = Outer {
        change: |delegate| delegate.with_config("{\"cniVersion\":\"0.4.0\"}").with_var("CNI_IFNAME", "net1"),
        then: Box::new(|lease| {
            assert_eq!(lease.ips().next().unwrap().interface, None);
            assert_eq!(lease.result().ips[0].interface, Some(3));
            assert_eq!(lease.routes().len(), 1);
            assert_eq!(lease.ipam_result().routes.len(), 1);
            Err(Error::message("as told"))
        }),
    };
    let outcome = add()
        .delegate("host-local", |call| call.reply(json!({"ips": [{"version": "4", "address": "10.1.0.5/16", "interface": 3}], "routes": [{"dst": "0.0.0.0/0"}]})))
        .run(&outer);
    outcome.assert_error(999);
    assert_eq!(delegated(&outcome), ["host-local ADD", "host-local DEL"]);
    for call in outcome.delegate_calls() {
        assert_eq!(call.stdin(), b"{\"cniVersion\":\"0.4.0\"}");
        assert_eq!(call.var("CNI_IFNAME").unwrap(), "net1");
    }
}
