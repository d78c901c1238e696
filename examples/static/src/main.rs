//! The `static` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&static_ipam::Static)
}
