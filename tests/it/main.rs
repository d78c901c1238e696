//! The suites that need more than one package: conformance vectors, field cases, real kernels and real runtimes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compat;
mod described;
mod faults;
mod guide;
mod house;
mod interop;
mod load;
mod new_user;
mod private_host;
mod published;
mod runtimes;
mod security;
mod side_by_side;
mod vectors;
