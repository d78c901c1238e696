//! One run of every comparison: builds this workspace's programs and their peers, starts them in turn, and prints a
//! table with the goal beside each figure. A whole run also writes the table into `docs/benchmarks.md`.
//!
//! `cargo run -p cni-benches` is all of it; words choose sections by name, `--quick` takes a tenth of the rounds.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program run by hand, whose output is its purpose; it fails by panicking"
)]

mod table;

fn main() {
    table::main();
}
