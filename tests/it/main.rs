//! The suites that need more than one package: conformance vectors, field cases, real kernels and real runtimes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod described;
mod faults;
mod guide;
mod house;
mod interop;
mod new_user;
mod private_host;
mod published;
mod runtimes;
mod side_by_side;
mod vectors;
