//! The plugin on the kernel: a host that drops what nobody lets through, three containers, and a machine outside.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod binary;
mod dropin;
mod lab;
mod spec;
mod traffic;
