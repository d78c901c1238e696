//! The `tuning` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&tuning::Tuning::default())
}
