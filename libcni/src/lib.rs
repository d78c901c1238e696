//! The runtime's side.

mod attachment;
mod cache;
mod conf;
mod failpoint;
mod file;
mod lock;
mod network;

pub use attachment::{InvalidParameters, RuntimeConf};
pub use cache::{CachedAttachment, DEFAULT_CACHE_DIR, InvalidRecord};
pub use conf::{DEFAULT_CONF_DIR, LoadError, Problem, ProblemKind, Scan, SkipReason, Skipped, conf_files};
pub use lock::LockError;
pub use network::{Network, Plugin, UnsupportedVersion};
