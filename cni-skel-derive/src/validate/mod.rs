//! The rules that an author can break, one function a rule, and what is known once all are kept.
//!
//! A rule reports to the collector and goes on, so that one run finds every mistake; what it returns in that case is
//! never expanded.

mod error;
mod plugin;
mod record;

pub(crate) use error::{CaseCode, CheckedCase, error};
pub(crate) use plugin::{CheckedPlugin, plugin};
pub(crate) use record::{args, runtime_config};
