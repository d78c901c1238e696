//! The cases, one plugin a module.
#![allow(clippy::needless_pass_by_value, reason = "the keys of a case are written where they are passed")]

pub(super) mod bridge;
pub(super) mod host_local;
pub(super) mod portmap;
mod protocol;
pub(super) mod static_ipam;
pub(super) mod tuning;
