//! The runtime's side of the Container Network Interface: configuration files, chains of plugins, the result cache, locks,
//! GC, STATUS and validation.
//!
//! It reads and writes what Go's `libcni` reads and writes, so that a node can change from one runtime to the other and
//! back while containers run.
//!
//! ```
//! use std::sync::Arc;
//! use cni_invoke::testing::ScriptedExec;
//! use libcni::{Attachment, Client, Network, RuntimeConf};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let conf_dir = dir.path().join("net.d");
//! # std::fs::create_dir(&conf_dir)?;
//! # let conflist = r#"{"cniVersion": "1.1.0", "name": "pod-network", "plugins": [{"type": "bridge"}]}"#;
//! # std::fs::write(conf_dir.join("10-pod.conflist"), conflist)?;
//! // In earnest without `exec`: plugins are then run as processes.
//! let exec = ScriptedExec::new().plugin("bridge", |call| {
//!     call.reply(serde_json::json!({"cniVersion": "1.1.0", "ips": [{"address": "10.244.1.5/24"}]}))
//! });
//! let client = Client::builder()
//!     .plugin_dirs(["/opt/cni/bin"])
//!     .cache_dir(dir.path().join("cache"))
//!     .exec(Arc::new(exec))
//!     .build();
//!
//! let network = Network::load(&conf_dir, "pod-network")?;
//! let rt = RuntimeConf::new("c1", "eth0")?.with_netns("/run/netns/c1");
//!
//! // Attaches the container, or leaves everything as it was.
//! let result = client.add_or_undo(&network, &rt)?.into_add_result();
//! assert_eq!(result.ips[0].address.to_string(), "10.244.1.5/24");
//! client.check(&network, &rt)?;
//!
//! // After a restart: whatever belongs to none of these goes away.
//! client.gc(&network, &[rt.attachment()])?;
//! client.gc(&network, &[])?;
//! assert!(client.attachments(None)?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! | --- | --- |
//! | load a network, or see why one cannot be loaded | [`Network`], [`Scan`], [`Problem`] |
//! | run ADD, CHECK, DEL, GC, STATUS, VERSION, or validate | [`Client`] |
//! | say which container, interface and arguments | [`RuntimeConf`] |
//! | see what is attached | [`Client::attachments`], [`CachedAttachment`] |
//! | bound and cancel operations, clean up afterwards | [`Client::with_until`], [`Client::add_or_undo`] |
//! | look on while plugins run | [`Observer`] |
//! | tell errors apart | [`Error`] |
//!
//! # What the library sees to
//!
//! - Operations on one container are run in turn, and GC is run alone, across processes that share a cache directory; a
//!   lock is released when its holder dies.
//! - Files are written whole and durably, or not at all. A process may die at any time: the next DEL, or GC, cleans up what
//!   it left.
//! - A request is the plugin's configuration as it stands in the file, key by key, with only the runtime's keys replaced.
//! - What is wrong with a file is told all at once, with file, line, column and key; a faulty file never hides a good one.
//!
//! # What is left to the runtime
//!
//! - To create the network namespace before ADD, and to call DEL before it goes, or at the latest GC after.
//! - To call DEL after an ADD that failed, unless it uses [`Client::add_or_undo`].
//! - To go on with the other networks of a container when DEL of one fails.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `testing` | no | `cni_invoke::testing`: plugins as a test tells them to be |
//!
//! Rust 1.89 or later, Linux.

#![cfg_attr(docsrs, feature(doc_cfg))]

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
pub use error::Error;
pub use lint::Loss;
pub use lock::LockError;
pub use network::{Network, Plugin, UnsupportedVersion};
pub use observe::{Observer, PluginEnd, PluginRun, Warning};
pub use ops::{CacheError, GcReport, PluginReport, Validation, ValidationProblem};

pub use cni_invoke::{
    self, CancelToken, Environment, Exec, Interruption, ProcessExec, SearchPath, Trace, Until,
};
pub use cni_types;
pub use cni_types::config::Attachment;

/// The README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
