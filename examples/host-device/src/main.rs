//! The `host-device` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&host_device::HostDevice::default())
}
