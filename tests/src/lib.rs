//! The harness that the suites share.
