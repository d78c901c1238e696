//! The SDK's guards around a handler, seen from outside: real processes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod delegate;
mod describe;
mod netns;
mod process;
mod size;
