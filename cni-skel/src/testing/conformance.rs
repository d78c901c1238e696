//! The conformance checks, on a plugin's handlers instead of a process.

use std::path::PathBuf;
use std::sync::Arc;

use cni_invoke::{Exec, Exit, FindError, Invocation, Output, RunError, SearchPath};
use serde::Serialize;

use crate::call::Call;
use crate::dispatch::Dispatcher;
use crate::plugin::Plugin;
use crate::reply::Reply;
use crate::types::PluginType;

pub use cni_conformance::Conformance;

/// Checks a plugin's handlers against the spec, clause by clause, with a configuration that works for it.
///
/// ```
/// use cni_skel::testing::conformance;
/// # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
/// # #[derive(CniPlugin)]
/// # #[cni(name = "nothing")]
/// # struct Nothing;
/// # impl Plugin for Nothing {
/// #     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
/// #         let mut result = req.result();
/// #         let index = result.add_interface(req.interface());
/// #         result.ips.push(cni_skel::IpConfig::new("10.1.0.5/16".parse()?).on(index));
/// #         Ok(result)
/// #     }
/// #     fn del(&self, _: &DelRequest<Self>) -> Result<()> { Ok(()) }
/// # }
///
/// conformance(&Nothing, serde_json::json!({"name": "n", "type": "nothing"})).assert_passes();
/// ```
///
/// Without [`Conformance::netns`] the network namespace is a path that does not exist: a plugin that works on a real one
/// needs one here as well. The report tells which checks were skipped for want of it.
///
/// What a handler prints on stdout cannot be seen here, since it is no process; [`run`](crate::run()) keeps it out of the
/// reply in any case.
///
/// Calls for different containers are made at the same time, on threads: a plugin that cannot be shared by them is made
/// anew for each call, by [`conformance_of`].
///
/// # Panics
///
/// When the configuration is no JSON object.
#[must_use = "nothing is checked until it is run"]
#[track_caller]
pub fn conformance<P: Plugin + Sync>(plugin: &P, config: impl Serialize) -> Conformance<'_> {
    conformance_of(P::NAME, move |call| Dispatcher::new(plugin).respond(call), config)
}

/// Checks whatever answers calls under a plugin's name: for plugins that are made anew for each call, or do more than a
/// [`Dispatcher`] does.
///
/// ```no_run
/// use cni_skel::Dispatcher;
/// use cni_skel::testing::conformance_of;
/// # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
/// # #[derive(Default, CniPlugin)]
/// # #[cni(name = "nothing")]
/// # struct Nothing;
/// # impl Plugin for Nothing {
/// #     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> { Ok(req.result()) }
/// #     fn del(&self, _: &DelRequest<Self>) -> Result<()> { Ok(()) }
/// # }
///
/// let respond = |call| Dispatcher::new(&Nothing::default()).respond(call);
/// conformance_of("nothing", respond, serde_json::json!({"name": "n"})).assert_passes();
/// ```
///
/// # Panics
///
/// When the name cannot be a plugin's, or the configuration is no JSON object.
#[must_use = "nothing is checked until it is run"]
#[track_caller]
pub fn conformance_of<'p>(
    name: &str,
    respond: impl Fn(Call) -> Reply + Send + Sync + 'p,
    config: impl Serialize,
) -> Conformance<'p> {
    let plugin = PluginType::new(name).unwrap_or_else(|error| panic!("{name:?} cannot be a plugin: {error}"));
    let config = serde_json::to_value(config)
        .unwrap_or_else(|error| panic!("the configuration has no JSON form: {error}"));
    let program = PathBuf::from("/in-process").join(name);
    match Conformance::of_exec(Arc::new(InProcess(respond)), plugin, program, config) {
        Ok(conformance) => conformance.in_process(),
        Err(error) => panic!("{error}"),
    }
}

/// Calls a function where a process would be started.
struct InProcess<F>(F);

impl<F: Fn(Call) -> Reply + Send + Sync> Exec for InProcess<F> {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        cni_invoke::find_plugin(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        let Self(respond) = self;
        let Reply { stdout, stderr, exit, .. } =
            respond(Call::new(invocation.environment.iter(), invocation.stdin));
        Ok(Output::new(Exit::Code(exit.into()), stdout).with_stderr(stderr))
    }
}
