//! The plugin on the kernel: a container with an interface, in network namespaces of their own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod container;
mod dropin;
mod settings;
