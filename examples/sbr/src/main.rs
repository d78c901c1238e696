//! The `sbr` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&sbr::Sbr::default())
}
