//! Laws that hold for every value, and golden files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
