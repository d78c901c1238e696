//! Laws that any bytes must keep. Each module has one function, `check`, that takes bytes from anywhere and panics when a
//! law is broken; a target in `fuzz_targets/` hands it what libFuzzer makes up, and `tests/seeds.rs` what [`seeds`] has.
//!
//! A law says more than "does not crash": what is read prints as what reads the same, an error has a code and a place in
//! the document, what is cached is taken away, an address is given once.

pub mod cache;
pub mod cidr;
pub mod cni_args;
pub mod conflist;
pub mod convert;
pub mod dispatch;
pub mod error_object;
pub mod plugin_config;
pub mod result;
pub mod seeds;
pub mod store;

mod json;
mod scratch;

/// What takes any bytes, and panics when a law is broken.
pub type Law = fn(&[u8]);

/// Every target: its name, which is that of its folder of seeds, and its law.
pub const TARGETS: [(&str, Law); 10] = [
    ("cache", cache::check),
    ("cidr", cidr::check),
    ("cni_args", cni_args::check),
    ("conflist", conflist::check),
    ("convert", convert::check),
    ("dispatch", dispatch::check),
    ("error_object", error_object::check),
    ("plugin_config", plugin_config::check),
    ("result", result::check),
    ("store", store::check),
];
