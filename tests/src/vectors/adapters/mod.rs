//! One adapter per vector file: how its cases are put to our crates.
