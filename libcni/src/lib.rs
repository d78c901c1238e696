//! The runtime's side.
