//! The plugin on the kernel: a host, two containers and another machine, all of them network namespaces.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dropin;
mod lab;
mod parallel;
mod several;
mod traffic;
mod udp;
