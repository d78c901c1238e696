//! Finds CNI plugins, runs them and reads their answers.
//!
//! | module | what it decides |
//! | --- | --- |
//! | `ops` | the operations on one plugin: [`add`], [`del`], [`check`], [`gc`], [`status`], [`version`] |
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

pub use environment::Environment;
pub use error::{ConfigError, Error, ErrorKind};
pub use excerpt::{Head, Printed, Tail};
pub use exec::{Exec, Exit, Invocation, Output, RunError};
pub use find::{FindError, Miss, SearchPath, find_plugin};
pub use ops::{Request, add, check, del, gc, status, version, version_config};
pub use parameters::{Parameters, Trace};
pub use process::ProcessExec;
pub use until::{CancelToken, Interruption, Until};
