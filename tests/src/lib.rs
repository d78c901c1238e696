//! The harness that the suites share.

pub mod vectors;
