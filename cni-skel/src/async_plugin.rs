//! Async handlers, over the same dispatch as all others: each is run to its end on a runtime of its own.

use std::future::Future;

use crate::error::{Error, Result};
use crate::plugin::{CniPlugin, Plugin};
use crate::request::{AddRequest, CheckRequest, DelRequest, GcRequest, StatusRequest};
use crate::types::AddResult;

/// What a plugin does, in async handlers. With the feature `tokio`.
///
/// The counterpart of [`Plugin`] for authors whose libraries are async. A type implements one of the two; one that
/// implements this is a [`Plugin`] to [`run`](crate::run()), to the [test kit](crate::testing) and to everything else, and
/// whatever holds for a handler there holds here. Write the handlers as `async fn`.
///
/// ```
/// use cni_skel::{AddRequest, AddResult, AsyncPlugin, CniPlugin, DelRequest, Result};
/// use cni_skel::testing::Invocation;
///
/// #[derive(CniPlugin)]
/// #[cni(name = "nothing", about = "makes an interface that is none")]
/// struct Nothing;
///
/// #[cni_skel::plugin]
/// impl AsyncPlugin for Nothing {
///     async fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
///         tokio::task::yield_now().await;
///         let mut result = req.result();
///         result.add_interface(req.interface());
///         Ok(result)
///     }
///
///     async fn del(&self, _: &DelRequest<Self>) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// // fn main() -> std::process::ExitCode { cni_skel::run(&Nothing) }
/// let outcome = Invocation::add("c1", "/run/netns/x", "eth0").run(&Nothing);
/// assert_eq!(outcome.result().interfaces[0].name, "eth0");
/// ```
///
/// # The runtime
///
/// A plugin answers one call, so the runtime has one thread, the one that calls: futures need not be `Send`. It has every
/// driver that the features of `tokio` enable, so a plugin that wants timers or sockets depends on `tokio` with `time`
/// or `net`. It ends with the handler, before the reply is written: tasks that still run are dropped at their next await,
/// those of `spawn_blocking` are waited for, and a panic becomes the error object as anywhere.
///
/// A [`Delegate`](crate::Delegate) blocks the thread while the other plugin runs. To do something else meanwhile, move it
/// to `tokio::task::spawn_blocking`; it and its [`Lease`](crate::Lease) may be sent.
pub trait AsyncPlugin: CniPlugin {
    /// The methods that the impl writes, from [`plugin`](macro@crate::plugin); `None` where that does not stand on it.
    #[doc(hidden)]
    const __HANDLERS: Option<&'static [&'static str]> = None;

    /// As [`Plugin::add`].
    ///
    /// # Errors
    ///
    /// The plugin's own. What was made until then should be undone.
    fn add(&self, req: &AddRequest<Self>) -> impl Future<Output = Result<AddResult>>;

    /// As [`Plugin::del`].
    ///
    /// # Errors
    ///
    /// The plugin's own, when something is left that should not be; what is gone already is no error.
    fn del(&self, req: &DelRequest<Self>) -> impl Future<Output = Result<()>>;

    /// As [`Plugin::check`]. Succeeds by default.
    ///
    /// # Errors
    ///
    /// When something is missing or was changed.
    fn check(&self, req: &CheckRequest<Self>) -> impl Future<Output = Result<()>> {
        let _ = req;
        std::future::ready(Ok(()))
    }

    /// As [`Plugin::status`]. Succeeds by default.
    ///
    /// # Errors
    ///
    /// Code 50 when ADD cannot be served, 51 when existing containers may suffer as well.
    fn status(&self, req: &StatusRequest<Self>) -> impl Future<Output = Result<()>> {
        let _ = req;
        std::future::ready(Ok(()))
    }

    /// As [`Plugin::gc`]. Succeeds by default.
    ///
    /// # Errors
    ///
    /// The plugin's own, after it went on as far as it could.
    fn gc(&self, req: &GcRequest<Self>) -> impl Future<Output = Result<()>> {
        let _ = req;
        std::future::ready(Ok(()))
    }
}

#[diagnostic::do_not_recommend]
impl<P: AsyncPlugin> Plugin for P {
    const __HANDLERS: Option<&'static [&'static str]> = P::__HANDLERS;

    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        finish(AsyncPlugin::add(self, req))
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        finish(AsyncPlugin::del(self, req))
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        finish(AsyncPlugin::check(self, req))
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        finish(AsyncPlugin::status(self, req))
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        finish(AsyncPlugin::gc(self, req))
    }
}

/// Runs a handler to its end, and what it has spawned to the next place where that can stop.
fn finish<T>(handler: impl Future<Output = Result<T>>) -> Result<T> {
    // tokio would panic, with words that do not help.
    if tokio::runtime::Handle::try_current().is_ok() {
        return Err(Error::message(
            "cannot start a runtime for the handler: this thread is in one already; call it from ordinary code, in a test \
             from `#[test]` instead of `#[tokio::test]`",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::from(error).context("cannot start a runtime for the handler"))?;
    runtime.block_on(handler)
}

#[cfg(test)]
mod tests;
