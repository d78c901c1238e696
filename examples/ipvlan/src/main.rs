//! The `ipvlan` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&ipvlan::Ipvlan::default())
}
