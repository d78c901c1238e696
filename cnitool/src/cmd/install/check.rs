//! What must hold before anything is touched: the configuration is good, each of its plugins will be there, and those
//! that are given answer in its version.

use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use libcni::cni_types::{CniVersion, PluginType};
use libcni::{Network, Problem, Scan, UnsupportedVersion, cni_invoke};

use super::Given;
use crate::cmd::{Context, ask};

/// A reason against.
#[derive(Debug)]
pub(crate) enum Objection {
    /// The configuration is faulty.
    Config(Problem),
    /// The configuration takes plugins from a folder beside it, which would stay where it is.
    DropIn(PathBuf),
    /// A file that nobody may run.
    NotExecutable(PathBuf),
    /// A plugin of the configuration is neither given nor there.
    Missing { plugin: PluginType, dirs: Vec<PathBuf> },
    /// A network of the name is taken from another file. No reason against, but nobody will use this one.
    Shadowed { network: String, by: PathBuf },
    /// A plugin does not answer.
    Silent(Box<cni_invoke::Error>),
    /// A plugin does not support the configuration's version.
    TooOld { path: PathBuf, supported: Vec<String>, version: CniVersion },
    /// There is no such version.
    Version(UnsupportedVersion),
}

impl Objection {
    /// Whether somebody may know better: what cannot be run here may well be on the node.
    pub(crate) fn can_be_forced(&self) -> bool {
        matches!(self, Self::Silent(_) | Self::TooOld { .. })
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) objections: Vec<Objection>,
    pub(super) warnings: Vec<Objection>,
}

/// Looks at everything, and tells everything.
pub(super) fn check(conf: &Path, given: &[Given], searched: &[PathBuf], context: &Context<'_>) -> Checked {
    let mut checked = Checked::default();
    let objections = &mut checked.objections;
    let network = match Network::from_file(conf) {
        Ok(network) => network,
        Err(problems) => {
            objections.extend(problems.into_iter().map(Objection::Config));
            return checked;
        }
    };
    let version = network.version();
    objections.extend(version.as_ref().err().cloned().map(Objection::Version));
    objections.extend(network.plugins().iter().filter_map(|plugin| {
        let file = plugin.file().filter(|file| *file != conf)?;
        Some(Objection::DropIn(file.to_owned()))
    }));
    for given in given {
        objections.extend(probe(given, version.as_ref().ok().copied(), context));
    }
    for plugin in needed(&network) {
        let is_given = given.iter().any(|given| given.plugin == plugin);
        if !is_given && !searched.iter().any(|dir| is_there(&dir.join(plugin.as_str()))) {
            objections.push(Objection::Missing { plugin, dirs: searched.to_vec() });
        }
    }
    checked.warnings.extend(shadowed(&network, conf, &context.settings.conf_dir));
    checked
}

/// Asks a plugin for its versions.
fn probe(given: &Given, version: Option<CniVersion>, context: &Context<'_>) -> Option<Objection> {
    let path = given.path.canonicalize().unwrap_or_else(|_| given.path.clone());
    if !fs::metadata(&path).is_ok_and(|found| is_program(&found)) {
        return Some(Objection::NotExecutable(given.path.clone()));
    }
    // By the name that it will have, which may be that of a link.
    let dir = std::path::absolute(&given.path).ok().and_then(|path| path.parent().map(Path::to_owned));
    let client = ask::client_in(&dir.unwrap_or_default(), context);
    match client.version_info(&given.plugin) {
        Err(error) => Some(Objection::Silent(Box::new(error))),
        Ok(info) => {
            let version = version.filter(|version| !info.supports(*version))?;
            Some(Objection::TooOld { path: given.path.clone(), supported: info.supported_versions, version })
        }
    }
}

/// The plugins of a network, and those for addresses that they will call.
fn needed(network: &Network) -> Vec<PluginType> {
    let mut needed = Vec::new();
    for plugin in network.plugins() {
        let ipam = plugin.config().ipam_type().and_then(|ipam| PluginType::new(ipam).ok());
        needed.extend([plugin.plugin_type().clone()].into_iter().chain(ipam));
    }
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// Whether a plugin is there. A link counts: from within a container it may lead nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink() || is_program(&found))
}

fn is_program(found: &Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

/// Another file from which the network is taken once this one lies beside it.
fn shadowed(network: &Network, conf: &Path, dir: &Path) -> Option<Objection> {
    let name = network.name().as_str();
    let by = Scan::read(dir).ok()?.network(name).ok()?.file()?.to_owned();
    let order = |path: &Path| {
        let is_list = path.extension().is_some_and(|extension| extension == "conflist");
        (!is_list, path.file_name().map(ToOwned::to_owned))
    };
    (order(&by) < order(conf)).then(|| Objection::Shadowed { network: name.to_owned(), by })
}
