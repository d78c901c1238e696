//! The wire: find a plugin, run it, read its answer.
