//! Whether a CNI plugin does what the spec says: black-box checks of any plugin in any language, one for each MUST and
//! SHOULD of the spec that concerns a plugin and that shows from outside.
//!
//! ```
//! use std::sync::Arc;
//!
//! use cni_conformance::Conformance;
//! use cni_invoke::testing::{Reply, ScriptedExec};
//! use cni_types::PluginType;
//!
//! // A plugin that succeeds at everything, and says nothing.
//! let exec = ScriptedExec::new().otherwise(|_| Reply::nothing());
//! let config = serde_json::json!({"name": "n", "type": "silent"});
//! let report = Conformance::of_exec(Arc::new(exec), PluginType::new("silent")?, "/silent", config)?.run();
//! assert!(!report.passes());
//! assert!(report.to_string().contains("MUST version-reply"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rust 1.89 or later, Linux.
//!
//! Real programs are tested by [`Conformance::of_program`], from the command line by `cnitool conformance`, and plugins
//! written with `cni-skel` without a process by its `testing::conformance`.
//!
//! | module | decides |
//! | --- | --- |
//! | `catalog` | which clauses there are ([`Check`]) |
//! | `setup` | what is tested, and with what ([`Conformance`]) |
//! | `plan` | in which order |
//! | `session` | how calls are made and findings gathered |
//! | `checks` | how each clause is checked |
//! | `shape` | which layout a result must have |
//! | `delegate` | what the plugin finds as its IPAM plugin |
//! | `kernel` | what is in a network namespace, and how it is damaged |
//! | `report` | how findings are told ([`Report`]) |

mod catalog;
mod checks;
mod delegate;
mod exchange;
mod kernel;
mod plan;
mod report;
mod request;
mod session;
mod setup;
mod shape;

pub use catalog::{Check, Severity};
pub use report::{CheckReport, Finding, Outcome, Received, Report, Sent};
pub use setup::{Conformance, SetupError};

/// What the API is made of: plugins' types, search paths, ways to run plugins.
pub use cni_invoke::{Exec, SearchPath};

/// The README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
