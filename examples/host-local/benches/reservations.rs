//! How long ADD, CHECK and DEL take at sizes of a network.

fn main() {}
