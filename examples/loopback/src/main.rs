//! The `loopback` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&loopback::Loopback)
}
