//! The `hello` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&hello::Hello)
}
