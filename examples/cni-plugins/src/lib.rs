//! All the plugins in one program, each by the name that it is called under: a link to the program, or a copy of it.
//!
//! Most of a plugin is what all of them share, so that one program is a fraction of as many. This module has the table;
//! [`install`] puts the program and its names into a directory.

pub mod install;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use cni_skel::{Call, Dispatcher, Plugin, Reply};

/// The plugins, by name. A new one is a line here and one in `Cargo.toml`.
pub const PLUGINS: &[Bundled] = &[
    of::<bandwidth::Bandwidth>(),
    of::<bridge::Bridge>(),
    of::<dummy::Dummy>(),
    of::<firewall::Firewall>(),
    of::<host_device::HostDevice>(),
    of::<host_local::HostLocal>(),
    of::<ipvlan::Ipvlan>(),
    of::<loopback::Loopback>(),
    of::<macvlan::Macvlan>(),
    of::<portmap::Portmap>(),
    of::<ptp::Ptp>(),
    of::<sbr::Sbr>(),
    of::<static_ipam::Static>(),
    of::<tap::Tap>(),
    of::<tuning::Tuning>(),
    of::<vlan::Vlan>(),
    of::<vrf::Vrf>(),
];

/// A plugin of this program.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Bundled {
    /// The name that it is called under: what a configuration has as `type`.
    pub name: &'static str,
    /// What it does, for people.
    pub about: &'static str,
    respond: fn(Call) -> Reply,
}

/// A line of the table.
const fn of<P: Plugin + Default>() -> Bundled {
    Bundled { name: P::NAME, about: P::ABOUT, respond: |call| Dispatcher::new(&P::default()).respond(call) }
}

impl Bundled {
    /// Answers the call that this process was started for, as the plugin's own program would, with these arguments.
    pub fn run(&self, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
        let arguments: Vec<_> = arguments.into_iter().collect();
        cni_skel::run_with(|call| (self.respond)(call.with_arguments(arguments)))
    }
}

/// The plugin that a program of this path is: by the last part of it, which is the first argument of a process.
///
/// ```
/// assert_eq!(cni_plugins::find("/opt/cni/bin/bridge").unwrap().name, "bridge");
/// assert!(cni_plugins::find("/opt/cni/bin/flannel").is_none());
/// ```
pub fn find(program: impl AsRef<OsStr>) -> Option<&'static Bundled> {
    let name = Path::new(program.as_ref()).file_name()?.to_str()?;
    PLUGINS.iter().find(|plugin| plugin.name == name)
}

/// The names of all plugins, for a message.
pub fn names() -> String {
    let names: Vec<_> = PLUGINS.iter().map(|plugin| plugin.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_each_name_once() {
        let names: Vec<_> = PLUGINS.iter().map(|plugin| plugin.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        for plugin in PLUGINS {
            assert!(!plugin.about.is_empty(), "{}", plugin.name);
            assert_eq!(find(plugin.name).unwrap().name, plugin.name);
        }
    }

    #[test]
    fn a_plugin_is_found_by_its_whole_name_alone() {
        for program in ["", "/", "..", "cni-plugins", "bridge2", "Bridge", "bridge/..", "./bridge.exe"] {
            assert!(find(program).is_none(), "{program:?}");
        }
    }
}
