//! The harness that the suites share.

pub mod bins;
pub mod need;
pub mod netns;
pub mod private_host;
pub mod runtimes;
pub mod vectors;
