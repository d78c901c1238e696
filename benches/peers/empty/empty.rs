//! A program that does nothing: what the kernel and the standard library cost.
fn main() {}
