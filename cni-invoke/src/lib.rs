//! Finds CNI plugins, runs them and reads their answers.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use cni_invoke::{Environment, Parameters, ProcessExec, Request, SearchPath, Until};
//! use cni_types::{ContainerId, InterfaceName, PluginType};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // What the plugin is told.
//! let mut parameters = Parameters::attachment(ContainerId::new("c1")?, InterfaceName::new("eth0")?);
//! parameters.netns = Some("/run/netns/c1".into());
//! parameters.search_path = SearchPath::parse("/opt/cni/bin");
//! let environment = parameters.environment(Environment::of_this_process());
//! let config = br#"{"cniVersion":"1.0.0","name":"n","type":"bridge","ipam":{"type":"host-local","subnet":"10.1.0.0/16"}}"#;
//!
//! // The call, its answer, and what is to be done if there is none.
//! let bridge = PluginType::new("bridge")?;
//! let until = Until::timeout(Duration::from_secs(60));
//! let request = Request::new(&bridge, &environment, config).until(&until);
//! let exec = ProcessExec::new();
//! match cni_invoke::add(&exec, &request) {
//!     Ok(result) => println!("{}", result.to_json()),
//!     Err(error) => {
//!         if error.was_started() {
//!             let fresh = Until::timeout(Duration::from_secs(60));
//!             cni_invoke::del(&exec, &request.until(&fresh))?;
//!         }
//!         return Err(error.into());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it decides |
//! | --- | --- |
//! | `ops` | the operations on one plugin: [`add`], [`del`], [`check`], [`gc`], [`status`], [`version`] |
//! | `describe` | asks a plugin what it is, beside the protocol ([`describe()`]) |
//! | `parameters` | what a runtime tells a plugin by its environment ([`Parameters`]) |
//! | `reply` | what exit status and stdout mean |
//! | `error` | what is told of a call that failed ([`Error`]) |
//! | `exec` | the one way in which a plugin is found and run ([`Exec`]) |
//! | `process` | … in earnest ([`ProcessExec`]) |
//! | `find` | which file is a plugin |
//! | `environment` | a process environment as a value |
//! | `until` | deadline and cancellation |
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `testing` | no | the module `testing`: plugins as a test tells them to be |
//!
//! A runtime that knows configuration lists, caches and chains is in the crate `libcni`; the plugin's side is in
//! `cni-skel`. Both are built on this one.
//!
//! Rust 1.89 or later, Linux.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod describe;
mod environment;
mod error;
mod excerpt;
mod exec;
mod find;
mod ops;
mod parameters;
mod process;
mod reply;
#[cfg(any(test, feature = "testing"))]
mod scripted;
mod until;

/// Plugins as a test tells them to be.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    pub use crate::scripted::{RecordedCall, Reply, ScriptedExec};
}

pub use describe::{DescribeError, describe};
pub use environment::Environment;
pub use error::{ConfigError, Error, ErrorKind};
pub use excerpt::{Head, Printed, Tail};
pub use exec::{Exec, Exit, Invocation, Output, RunError};
pub use find::{FindError, Miss, SearchPath, find_plugin};
pub use ops::{Request, add, check, del, gc, status, version, version_config};
pub use parameters::{Parameters, Trace};
pub use process::ProcessExec;
pub use until::{CancelToken, Interruption, Until};

/// The README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
