//! The plugin [`Passthrough`] as a process.

use std::process::ExitCode;

use cni_benches::Passthrough;

fn main() -> ExitCode {
    cni_skel::run(&Passthrough)
}
