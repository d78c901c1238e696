//! The checks against plugins that pass all of them, and plugins that break one clause each.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod breaks;
mod examples;
mod fixture;
mod go;
#[path = "../fixtures/model/mod.rs"]
mod model;
mod process;
mod report;
