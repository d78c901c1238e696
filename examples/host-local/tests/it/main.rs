//! The plugin as a runtime sees it: in process for its answers, as a process beside Go's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod go;
mod laws;
mod network;
mod plugin;
mod state;
