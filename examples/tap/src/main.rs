//! The `tap` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&tap::Tap::default())
}
