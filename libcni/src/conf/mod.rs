//! Configuration files: which are read, what they must hold, and what each plugin is then sent.
//!
//! The rules are those of Go's `libcni`, except that a faulty file never hides a good one and that everything that is
//! wrong is told at once.

mod dir;
mod file;
pub(crate) mod inject;
mod list;
mod locate;
mod problem;
mod single;

pub use dir::{DEFAULT_CONF_DIR, LoadError, Scan, conf_files};
pub use problem::{Problem, ProblemKind, SkipReason, Skipped};
