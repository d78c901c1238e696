//! Laws that hold for every value, and reports from the field.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod laws;
mod limits;
