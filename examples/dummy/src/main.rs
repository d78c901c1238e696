//! The `dummy` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&dummy::Dummy::default())
}
