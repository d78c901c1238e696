//! Table.
fn main() {}
