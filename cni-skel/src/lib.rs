//! Write CNI plugins.
//!
//! ```
//! use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result, RuntimeConfig};
//! use cni_skel::capability::PortMapping;
//!
//! /// The plugin's own configuration keys.
//! #[derive(serde::Deserialize)]
//! struct Config {
//!     bridge: String,
//! }
//!
//! /// What the runtime may pass per container. Each field is a capability.
//! #[derive(RuntimeConfig)]
//! struct Runtime {
//!     port_mappings: Vec<PortMapping>,
//! }
//!
//! #[derive(CniPlugin)]
//! #[cni(name = "hello", about = "says hello", versions = "0.3.1..=1.1.0", config = Config, runtime = Runtime)]
//! struct Hello;
//!
//! impl Plugin for Hello {
//!     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
//!         let mut result = req.result();
//!         result.add_interface(req.interface());
//!         Ok(result)
//!     }
//!
//!     fn del(&self, _: &DelRequest<Self>) -> Result<()> {
//!         Ok(())
//!     }
//! }
//! # // fn main() -> std::process::ExitCode { cni_skel::run(&Hello) }
//! # use cni_skel::testing::Invocation;
//! # let outcome = Invocation::add("c1", "/run/netns/x", "eth0")
//! #     .config(serde_json::json!({"cniVersion": "1.1.0", "name": "n", "type": "hello", "bridge": "cni0"}))
//! #     .run(&Hello);
//! # outcome.assert_success();
//! ```
//!
//! | to | see |
//! | --- | --- |
//! | begin, port from Go, or debug on a node | [the guide](guide) |
//! | declare a plugin | the derives [`macro@CniPlugin`], [`macro@RuntimeConfig`], [`macro@CniArgs`], [`macro@CniError`] |
//! | write handlers | [`Plugin`] and the request types |
//! | fail | [`Error`], [`ResultExt`], [`ErrorCode`] |
//! | enter the container's namespace | [`Netns`] |
//! | call another plugin, such as an IPAM plugin | [`Delegate`], [`Lease`] |
//! | test without root and without a namespace | [`testing`] |
//! | say what the plugin is and does, to people and tools | [`describe`](describe()), [`macro@plugin`] |
//! | answer a call by hand | [`Dispatcher`], [`Call`], [`Reply`] |
//! | know the words | [`types`] |
//!
//! # How a plugin is called
//!
//! A runtime executes the binary with the variables below and the configuration on stdin. The plugin prints one JSON
//! document on stdout (a result, an error object, or the answer to VERSION) and exits with 0, or 1 for an error.
//! stderr is for people.
//!
//! | variable | ADD | DEL | CHECK | GC | STATUS | VERSION |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | `CNI_COMMAND` | required | required | required | required | required | required |
//! | `CNI_CONTAINERID` | required | required | required | | | |
//! | `CNI_NETNS` | required | optional | required | | | |
//! | `CNI_IFNAME` | required | required | required | | | |
//! | `CNI_ARGS` | optional | optional | optional | | | |
//! | `CNI_PATH` | to delegate | to delegate | to delegate | to delegate | to delegate | |
//!
//! # Run by hand
//!
//! Without `CNI_COMMAND` a plugin prints who it is on stderr, and with one of these arguments more than that on stdout.
//! Where there is a command, arguments mean nothing.
//!
//! | argument | prints |
//! | --- | --- |
//! | `--describe` | what [`describe`](describe()) says, as JSON: versions, commands that do something, capabilities, arguments |
//! | `--help` | the same for a person |
//! | `--version` | name and version of the plugin |
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `conformance` | no | `testing::conformance`: a plugin against the spec in one line of a test; for `[dev-dependencies]` alone |
//! | `derive` | yes | the derive macros and [`macro@plugin`] |
//! | `dlmalloc` | no | in static builds with musl, another global allocator: musl's asks the kernel for every size of its own, which costs a call a tenth of its time. Not for a plugin that sets a global allocator itself |
//! | `schema` | no | in what [`describe`](describe()) says, the author's own JSON Schema of the configuration, for types that implement `JsonSchema`; `cni_skel::schemars` is the crate. Without it, the keys and types that are read are told |
//! | `tokio` | no | `AsyncPlugin`: handlers as `async fn` |
//! | `tracing` | no | a span around every command, and a log (below) |
//!
//! None of them changes what a plugin answers, and without one nothing of it is built. Rust 1.89 or later, Linux.
//!
//! # Logs
//!
//! With the feature `tracing`, whatever a handler logs through that crate stands in a span with the fields `command`,
//! `plugin`, `network`, `container` and `interface`; inside [`Netns::run`], too, but not on threads of the author's own,
//! unless they enter it. In a plugin's process [`run`](run()) lets the log go where two keys
//! of the plugin's configuration say; a plugin whose `main` has set up a subscriber before keeps that. The test kit sets up
//! none.
//!
//! | key | value | default |
//! | --- | --- | --- |
//! | `logFile` | absolute path of a file, which is created or appended to | stderr |
//! | `logLevel` | `off`, `error`, `warn`, `info`, `debug`, `trace`, or several directives such as `info,my_plugin=trace` | `info` |
//!
//! stdout cannot be had, and a key that cannot be followed is told on stderr and costs nothing else. A call that
//! fails once its configuration is read is logged as an error with the error object, any other at `debug`. Where the runtime sets `TRACEPARENT`
//! ([Trace Context](https://www.w3.org/TR/trace-context/)), the span has `trace_id`, `parent_id` and `span_id` as well, and
//! delegates get it for their parent.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod __private;
mod args;
#[cfg(feature = "tokio")]
mod async_plugin;
mod call;
mod config;
mod delegate;
mod describe;
mod dispatch;
mod error;
mod netns;
mod plugin;
mod reply;
mod request;
mod run;
mod runtime_config;
mod schema;
mod stdin;
pub mod testing;
#[cfg(feature = "tracing")]
mod trace;
mod vars;

pub use args::{ArgValue, CniArgs};
#[cfg(feature = "tokio")]
pub use async_plugin::AsyncPlugin;
pub use call::Call;
pub use delegate::{Delegate, Lease};
pub use describe::describe;
pub use dispatch::Dispatcher;
pub use error::{CodedError, Error, Result, ResultExt};
pub use netns::Netns;
pub use plugin::{CniPlugin, Plugin};
pub use reply::{Answer, Reply};
pub use request::{AddRequest, CheckRequest, Context, DelRequest, GcRequest, StatusRequest};
pub use run::{run, run_with};
pub use runtime_config::RuntimeConfig;
pub use stdin::MAX_STDIN_BYTES;

/// The words of CNI: the whole of `cni-types`, so that a plugin needs one dependency.
pub use cni_types as types;
pub use cni_types::config::capability;
pub use cni_types::result::{AddResult, Interface, IpConfig, IpamResult};
pub use cni_types::{Cidr, CniVersion, Dns, ErrorCode, ErrorObject, MacAddr, Route};

/// The crate of `JsonSchema`, for the configuration: `#[derive(JsonSchema)] #[schemars(crate = "cni_skel::schemars")]`.
#[cfg(feature = "schema")]
pub use schemars;

#[cfg(feature = "derive")]
pub use cni_skel_derive::{CniArgs, CniError, CniPlugin, RuntimeConfig, plugin};

// The guide, page by page: the same as in `docs/` of the repository. It is here for documentation alone.
#[cfg(any(doc, doctest))]
pub mod guide;

/// The README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// musl's own allocator maps and unmaps pages for each size; a plugin asks for little and is gone.
#[cfg(all(feature = "dlmalloc", target_env = "musl"))]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
