//! The plugins that this program is, each by its name.

use std::process::ExitCode;

/// The names under which the program is a plugin.
pub(crate) const NAMES: [&str; 5] = ["bridge", "host-local", "loopback", "portmap", "tuning"];

/// The plugin of a name.
pub(crate) fn find(name: &str) -> Option<fn() -> ExitCode> {
    Some(match name {
        "bridge" => || cni_skel::run(&bridge::Bridge::default()),
        "host-local" => || cni_skel::run(&host_local::HostLocal),
        "loopback" => || cni_skel::run(&loopback::Loopback),
        "portmap" => || cni_skel::run(&portmap::Portmap::default()),
        "tuning" => || cni_skel::run(&tuning::Tuning::default()),
        _ => return None,
    })
}
