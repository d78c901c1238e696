//! What compiles, and what it then does: the derives on types of every kind, used as an author would.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod args;
mod errors;
mod generics;
mod handlers;
mod hygiene;
mod macro_rules;
mod names;
mod other_crate;
mod plugin;
mod privacy;
mod runtime_config;
