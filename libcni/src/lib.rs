//! The runtime's side.

mod conf;
mod file;
mod network;

pub use conf::{DEFAULT_CONF_DIR, LoadError, Problem, ProblemKind, Scan, SkipReason, Skipped, conf_files};
pub use network::{Network, Plugin, UnsupportedVersion};
