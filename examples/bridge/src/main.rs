//! The `bridge` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&bridge::Bridge::default())
}
