//! The `portmap` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&portmap::Portmap::default())
}
