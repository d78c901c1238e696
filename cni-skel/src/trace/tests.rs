//! What a subscriber sees of a command, and a delegate of the trace. No subscriber here is the process's own.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::testing::{Invocation, Outcome};
use crate::{AddRequest, AddResult, CniPlugin, DelRequest, Error, ErrorCode, Plugin, Result, StatusRequest};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[derive(serde::Deserialize)]
struct Config {
    #[allow(dead_code, reason = "another key must be one too many")]
    mtu: Option<u32>,
}

#[derive(CniPlugin)]
#[cni(crate = crate, name = "told", config = Config, deny_unknown_keys)]
struct Told;

impl Plugin for Told {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        std::thread::scope(|scope| {
            scope.spawn(super::carried(|| tracing::info!(target: "told", "from inside the namespace")));
        });
        tracing::info!(target: "told", "from the handler");
        if req.wants_ipam() { Ok(req.ipam()?.add()?.commit()) } else { Ok(req.result()) }
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Err(Error::new(ErrorCode::TRY_AGAIN, "not yet").with_details("in a minute"))
    }

    fn status(&self, _: &StatusRequest<Self>) -> Result<()> {
        panic!("out of luck")
    }
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// What comes of a call, and what is logged of it, without the time.
fn run(invocation: Invocation) -> (Outcome, String) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let outcome = tracing::subscriber::with_default(subscriber, || invocation.run(&Told));
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    (outcome, log)
}

fn add() -> Invocation {
    Invocation::add("c1", "/run/netns/x", "eth0")
}

#[test]
fn a_command_has_a_span() {
    let (outcome, log) = run(add());
    outcome.assert_success();
    insta::assert_snapshot!(log, @r#"
    DEBUG cni{command="ADD" plugin="told" network="test-net" container="c1" interface="eth0"}: cni_skel: called
     INFO cni{command="ADD" plugin="told" network="test-net" container="c1" interface="eth0"}: told: from inside the namespace
     INFO cni{command="ADD" plugin="told" network="test-net" container="c1" interface="eth0"}: told: from the handler
    DEBUG cni{command="ADD" plugin="told" network="test-net" container="c1" interface="eth0"}: cni_skel: succeeded
    "#);
    let (_, log) = run(Invocation::gc([]));
    insta::assert_snapshot!(log, @r#"
    DEBUG cni{command="GC" plugin="told" network="test-net"}: cni_skel: called
    DEBUG cni{command="GC" plugin="told" network="test-net"}: cni_skel: succeeded
    "#);
}

#[test]
fn an_error_and_a_panic_are_logged_in_it() {
    let (outcome, log) = run(Invocation::del("c1", "eth0"));
    outcome.assert_error(11);
    insta::assert_snapshot!(log, @r#"
    DEBUG cni{command="DEL" plugin="told" network="test-net" container="c1" interface="eth0"}: cni_skel: called
    ERROR cni{command="DEL" plugin="told" network="test-net" container="c1" interface="eth0"}: cni_skel: failed code=11 error="not yet" details="in a minute"
    "#);
    let (outcome, log) = run(Invocation::status());
    outcome.assert_error(999);
    assert!(log.contains("failed code=999 error=\"the plugin panicked: out of luck\""), "{log}");
    // The plugin's own keys are checked inside, too.
    let (outcome, log) =
        run(add().config(json!({"cniVersion": "1.0.0", "name": "n", "type": "told", "mtuu": 1})));
    outcome.assert_error(2);
    assert!(log.contains("network=\"n\"") && log.contains("unsupported field"), "{log}");
}

#[test]
fn the_log_has_no_document_and_no_environment() {
    let call = |call: Invocation, mtu: serde_json::Value| {
        call.config(json!({"cniVersion": "1.0.0", "name": "n", "type": "told", "mtu": mtu,
            "args": {"cni": {"x": "s3cr3t-args"}}, "runtimeConfig": {"x": "s3cr3t-runtime"}}))
            .prev_result(json!({"cniVersion": "1.0.0", "ips": [], "x": "s3cr3t-result"}))
            .args("IgnoreUnknown=1;X=s3cr3t-pair")
            .env("REGISTRY_TOKEN", "s3cr3t-variable")
    };
    let del = || Invocation::del("c1", "eth0");
    for (call, is_good) in [
        (call(add(), json!(1500)), true),
        (call(del(), json!(1500)), false),
        (call(add(), json!([1])), false),
    ] {
        let (outcome, log) = run(call);
        assert_eq!(outcome.error().is_none(), is_good, "{log} {:?}", outcome.error());
        assert!(log.contains("cni_skel: ") && !log.contains("s3cr3t"), "{log}");
    }
}

#[test]
fn the_keys_of_the_log_are_known_to_a_strict_plugin() {
    let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "told", "logFile": "/does/not/exist", "logLevel": "x"});
    let (outcome, _) = run(add().config(config));
    outcome.assert_success();
    assert_eq!(outcome.stderr(), "", "only a process has a log of its own");
}

fn delegating() -> Invocation {
    add()
        .config(json!({"cniVersion": "1.0.0", "name": "n", "type": "told", "ipam": {"type": "host-local"}}))
        .delegate("host-local", |call| call.reply(json!({"ips": [{"address": "10.1.0.5/16"}]})))
}

#[test]
fn a_delegate_gets_the_child_of_the_parent() {
    let (outcome, log) = run(delegating().env("TRACEPARENT", PARENT).env("TRACESTATE", "a=b"));
    let call = &outcome.delegate_calls()[0];
    let child = call.var("TRACEPARENT").unwrap().to_str().unwrap().to_owned();
    let span_id = child.split('-').nth(2).unwrap();
    assert_eq!(child, format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{span_id}-01"));
    assert_ne!(span_id, "00f067aa0ba902b7");
    assert_eq!(call.var("TRACESTATE").unwrap(), "a=b");
    let ids = format!(
        "trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\" parent_id=\"00f067aa0ba902b7\" span_id=\"{span_id}\""
    );
    assert!(log.lines().all(|line| line.contains(&ids)), "{log}");
}

#[test]
fn what_is_no_parent_is_left_alone() {
    let (outcome, log) = run(delegating());
    assert_eq!(outcome.delegate_calls()[0].var("TRACEPARENT"), None);
    assert!(!log.contains("trace_id"), "{log}");
    let (outcome, log) = run(delegating().env("TRACEPARENT", "x"));
    assert_eq!(outcome.delegate_calls()[0].var("TRACEPARENT").unwrap(), "x");
    assert!(!log.contains("trace_id"), "{log}");
}
