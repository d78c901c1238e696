//! The `host-local` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&host_local::HostLocal)
}
