//! Runs a program and tells on stderr how much memory it had at most, in KiB: `peak <program> [arguments]`.
//!
//! A process begins as a copy of the one that starts it, and what that had counts as its own. So this one is small, and
//! `peak` of an empty program is the least that it can tell.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a program run by the benchmark, whose output is its purpose"
)]

use std::process::{Command, ExitCode};

use wait4::Wait4 as _;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mut child = Command::new(args.next().unwrap()).args(args).spawn().unwrap();
    let ended = child.wait4().unwrap();
    eprintln!("peak {}", ended.rusage.maxrss / 1024);
    if ended.status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
