//! The `bandwidth` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&bandwidth::Bandwidth::default())
}
