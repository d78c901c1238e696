//! The plugin as a whole: on a made-up kernel, which needs no root, on the real one, and beside Go's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod go;
mod kernel;
mod made_up;
