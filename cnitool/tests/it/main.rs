//! The program as a user has it: what it prints, what it runs, how it ends. Plugins are shell scripts, and everything lies
//! in temporary directories, so that nothing needs root.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attachments;
mod conformance;
mod describe;
mod gc;
mod guide;
mod help;
mod install;
mod list;
mod new;
mod operations;
mod redact;
mod shipping;
mod support;
mod trace;
mod validate;
mod version;
