//! The command line over libcni.
fn main() {}
