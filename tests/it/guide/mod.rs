//! The guide does what it says: its console blocks are run, and its tables name what is there.
//!
//! Its blocks of Rust are compiled and run as doctests of `cni-skel`, whose documentation the guide is part of.

mod cnitool;
pub(crate) mod console;
mod debugging;
mod first_plugin;
mod names;
mod pages;
mod ports;

use std::path::{Path, PathBuf};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The text of a file of the repository.
fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}
