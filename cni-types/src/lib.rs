//! The words of the Container Network Interface.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`result`] | results of every spec version, and the one type that authors build |
//! | [`config`] | plugin configurations, configuration lists, capabilities, GC attachments |
//! | [`error`] | the error object, its codes, decode errors |
//! | [`args`] | `CNI_ARGS` |
//! | [`mod@env`] | the names of the environment variables |
//! | the root | versions, commands, names, addresses, what plugins say of themselves |
//!
//! This crate does no I/O, reads no environment and no clock, and does not panic on any input.
//!
//! Rust 1.89 or later. The spec: <https://github.com/containernetworking/cni/blob/main/SPEC.md>

pub mod args;
mod cidr;
mod command;
pub mod config;
mod description;
mod dns;
pub mod env;
pub mod error;
mod mac;
mod names;
mod plugin_info;
pub mod result;
mod route;
mod version;
mod wire;

pub use args::CniArgs;
pub use cidr::{Cidr, InvalidCidr};
pub use command::{Command, UnknownCommand};
pub use description::{DESCRIBE, Handling, PluginDescription};
pub use dns::Dns;
pub use error::{DecodeError, DecodeErrorKind, ErrorCode, ErrorObject};
pub use mac::{InvalidMac, MacAddr};
pub use names::{
    ContainerId, InterfaceName, InvalidName, MAX_INTERFACE_NAME_BYTES, NameKind, NetworkName, PluginType,
    Reason,
};
pub use plugin_info::{IncompatibleVersion, PluginInfo, reconcile};
pub use result::{AddResult, VersionedResult};
pub use route::Route;
pub use version::{CniVersion, VersionError, VersionNumber};
pub use wire::{ExtraKeys, MAX_NESTING, RawJson};

/// What `cni-skel` reads with, too. Not public API: it pins this crate's version.
#[doc(hidden)]
pub mod __private {
    pub use crate::wire::{Entries, check_nesting};
}

/// The README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
