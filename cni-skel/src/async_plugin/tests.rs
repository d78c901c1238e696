//! Async handlers go through the same dispatch, and leave nothing behind.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::AsyncPlugin;
use crate::testing::Invocation;
use crate::types::{Command, Handling};
use crate::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, GcRequest, IpConfig,
    Result, StatusRequest, describe,
};

#[derive(CniPlugin)]
#[cni(crate = crate, name = "native")]
struct Native {
    seen: RefCell<Vec<&'static str>>,
    dropped: Arc<AtomicBool>,
    fail: fn() -> Result<()>,
}

impl Native {
    fn new(fail: fn() -> Result<()>) -> Self {
        Self { seen: RefCell::default(), dropped: Arc::default(), fail }
    }

    /// What a handler awaits need not be `Send`.
    async fn note(&self, what: &'static str) -> Result<()> {
        let what = Rc::new(what);
        tokio::task::yield_now().await;
        self.seen.borrow_mut().push(*what);
        (self.fail)()
    }
}

/// Says that it was dropped.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[crate::plugin]
impl AsyncPlugin for Native {
    async fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let guard = Guard(Arc::clone(&self.dropped));
        tokio::spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        self.note("ADD").await?;
        let address = tokio::task::spawn_blocking(|| "10.1.0.5/16".parse()).await??;
        let mut result = req.result();
        let eth0 = result.add_interface(req.interface());
        result.ips.push(IpConfig::new(address).on(eth0));
        Ok(result)
    }

    async fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        self.note("DEL").await?;
        if !req.wants_ipam() {
            return Ok(());
        }
        let ipam = req.ipam()?;
        tokio::task::spawn_blocking(move || ipam.del()).await?
    }

    async fn check(&self, _: &CheckRequest<Self>) -> Result<()> {
        self.note("CHECK").await
    }

    async fn status(&self, _: &StatusRequest<Self>) -> Result<()> {
        self.note("STATUS").await
    }

    async fn gc(&self, _: &GcRequest<Self>) -> Result<()> {
        self.note("GC").await
    }
}

fn add() -> Invocation {
    Invocation::add("c1", "/run/netns/x", "eth0")
}

#[test]
fn every_handler_runs_through_the_dispatch() {
    let plugin = Native::new(|| Ok(()));
    let outcome = add().run(&plugin);
    outcome.assert_success();
    assert_eq!(outcome.result().ips[0].address.to_string(), "10.1.0.5/16");
    Invocation::check("c1", "/run/netns/x", "eth0").prev_result(outcome.json()).run(&plugin).assert_success();
    Invocation::status().run(&plugin).assert_success();
    Invocation::gc([("c1", "eth0")]).run(&plugin).assert_success();
    Invocation::del("c1", "eth0").run(&plugin).assert_success();
    assert_eq!(*plugin.seen.borrow(), ["ADD", "CHECK", "STATUS", "GC", "DEL"]);
    Invocation::add("c1", "/run/netns/x", "a-name-that-is-too-long").run(&plugin).assert_error(4);
    assert_eq!(plugin.seen.borrow().len(), 5, "what the dispatch refuses reaches no handler");
}

#[test]
fn a_delegate_may_be_moved_to_another_thread() {
    let outcome = Invocation::del("c1", "eth0")
        .config(json!({"cniVersion": "1.0.0", "name": "n", "type": "native", "ipam": {"type": "host-local"}}))
        .delegate("host-local", |call| call.fail(ErrorCode::TRY_AGAIN, "the pool is locked"))
        .run(&Native::new(|| Ok(())));
    let error = outcome.assert_error(11);
    assert!(error.msg.ends_with("the pool is locked"), "{error}");
    assert_eq!(outcome.delegate_calls().len(), 1);

    const fn may_be_sent<T: Send>() {}
    const { may_be_sent::<crate::Delegate>() };
    const { may_be_sent::<crate::Lease>() };
}

#[test]
fn errors_and_panics_become_the_error_object() {
    let failing = Native::new(|| Err(Error::new(ErrorCode::TRY_AGAIN, "later")));
    assert_eq!(add().run(&failing).assert_error(11).msg, "later");
    assert!(failing.dropped.load(Ordering::SeqCst));
    let panicking = Native::new(|| panic!("out of luck"));
    assert_eq!(add().run(&panicking).assert_error(999).msg, "the plugin panicked: out of luck");
    assert!(panicking.dropped.load(Ordering::SeqCst));
}

#[test]
fn tasks_end_with_the_handler() {
    let plugin = Native::new(|| Ok(()));
    add().run(&plugin).assert_success();
    assert!(plugin.dropped.load(Ordering::SeqCst), "the task that waits for ever is dropped");
}

#[test]
fn within_a_runtime_the_error_says_what_to_do() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = runtime.block_on(async { add().run(&Native::new(|| Ok(()))) });
    let error = outcome.assert_error(999);
    assert!(error.msg.contains("`#[test]` instead of `#[tokio::test]`"), "{error}");
}

/// Handles nothing that it need not.
#[derive(CniPlugin)]
#[cni(crate = crate, name = "lazy")]
struct Lazy;

#[crate::plugin]
impl AsyncPlugin for Lazy {
    async fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    async fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn it_is_described_like_any_other() {
    for command in [Command::Check, Command::Gc, Command::Status] {
        assert_eq!(describe::<Lazy>().handling(command), Handling::NoOp, "{command}");
        assert_eq!(describe::<Native>().handling(command), Handling::Handled, "{command}");
    }
    Invocation::check("c1", "/run/netns/x", "eth0").prev_result(json!({})).run(&Lazy).assert_success();
    Invocation::status().run(&Lazy).assert_success();
    Invocation::gc([]).run(&Lazy).assert_success();
}
