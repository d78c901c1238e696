//! libcni from outside: files, chains, cache, locks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod add;
mod conf;
mod del;
mod exclusion;
mod gc;
mod support;
mod validate;
