//! The `vlan` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&vlan::Vlan::default())
}
