//! The plugin as a whole.
