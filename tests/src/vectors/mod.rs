//! The conformance vectors: what the Go reference did, what we do, and where the two part on purpose.
//!
//! [`case`] reads the files, an [`Adapter`](run::Adapter) per file puts each case to our crates, [`diff`] compares,
//! [`deviations`] lists the differences that are meant, [`run`] holds one against the other and [`report`] prints.
//! `tests/vectors/README.md` tells how to run another folder and how to list a deviation.

pub mod adapters;
pub mod case;
pub mod clause;
pub mod condition;
pub mod deviations;
pub mod diff;
pub mod glob;
pub mod json;
pub mod report;
pub mod run;
