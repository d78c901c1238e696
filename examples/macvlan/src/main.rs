//! The `macvlan` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&macvlan::Macvlan::default())
}
