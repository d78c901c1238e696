//! The `ptp` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&ptp::Ptp::default())
}
