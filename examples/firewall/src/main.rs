//! The `firewall` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&firewall::Firewall::default())
}
