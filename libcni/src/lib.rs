//! The runtime's side.

mod attachment;
mod cache;
mod client;
mod conf;
mod error;
mod failpoint;
mod file;
mod lint;
mod lock;
mod network;
mod observe;
mod ops;

pub use attachment::{InvalidParameters, RuntimeConf};
pub use cache::{CachedAttachment, DEFAULT_CACHE_DIR, InvalidRecord};
pub use client::{Client, ClientBuilder, DEFAULT_PLUGIN_DIR};
pub use conf::{DEFAULT_CONF_DIR, LoadError, Problem, ProblemKind, Scan, SkipReason, Skipped, conf_files};
pub use error::{CacheError, Error};
pub use lint::Loss;
pub use lock::LockError;
pub use network::{Network, Plugin, UnsupportedVersion};
pub use observe::{Observer, PluginEnd, PluginRun, Warning};
pub use ops::{GcReport, PluginReport, Validation, ValidationProblem};

pub use cni_invoke::{
    self, CancelToken, Environment, Exec, Interruption, ProcessExec, SearchPath, Trace, Until,
};
pub use cni_types::config::Attachment;
pub use cni_types::{self};
