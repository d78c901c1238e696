//! The plugin's side.
