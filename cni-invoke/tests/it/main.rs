//! Real processes: what a plugin may do to its caller, and what the caller does about it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod bounds;
mod plugin;
mod start;
mod streams;
