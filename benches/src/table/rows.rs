//! The sections of the table.

pub(super) mod build;
pub(super) mod chain;
pub(super) mod gc;
pub(super) mod kernel;
pub(super) mod library;
pub(super) mod memory;
pub(super) mod reservations;
pub(super) mod start;
