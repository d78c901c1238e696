//! The `vrf` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&vrf::Vrf::default())
}
