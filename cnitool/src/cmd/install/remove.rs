//! What goes: the configuration first, then the plugins; and only what is there as it was given.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use libcni::{Network, conf_files};

use super::Given;
use super::place::{beside, has, sync_dir};
use crate::output::Outcome;

/// Removes all that can be; notes what became of each file.
pub(super) fn all(
    given: &[Given],
    bin_dir: &Path,
    json: &[u8],
    conf: &Path,
    files: &mut Vec<(PathBuf, Outcome)>,
) -> Result<(), (PathBuf, io::Error)> {
    let outcome = one(conf, json, || None).map_err(|error| (conf.to_owned(), error))?;
    files.push((conf.to_owned(), outcome));
    // Those that are left: a plugin may be theirs, too.
    let networks = networks(conf.parent().unwrap_or(Path::new(".")));
    for Given { plugin, bytes, .. } in given {
        let path = bin_dir.join(plugin.as_str());
        let user = || networks.iter().find(|network| uses(network, plugin.as_str()));
        let user = || user().map(|network| network.name().as_str().to_owned());
        let outcome = one(&path, bytes, user).map_err(|error| (path.clone(), error))?;
        files.push((path, outcome));
    }
    Ok(())
}

/// Removes a file if it has this content and nobody needs it.
fn one(path: &Path, bytes: &[u8], user: impl Fn() -> Option<String>) -> io::Result<Outcome> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Outcome::Absent);
        }
        found => found?,
    };
    if !has(path, &found, bytes)? {
        return Ok(Outcome::Differs);
    }
    if let Some(network) = user() {
        return Ok(Outcome::Used(network));
    }
    fs::remove_file(path)?;
    // Of a run that was killed.
    let _ = fs::remove_file(beside(path));
    sync_dir(path.parent().unwrap_or(Path::new(".")))?;
    Ok(Outcome::Removed)
}

/// Every network of a directory, also those that another file stands before.
fn networks(dir: &Path) -> Vec<Network> {
    // Of a directory that cannot be read no runtime has a network.
    let files = conf_files(dir, &[".conflist", ".conf", ".json"]).unwrap_or_default();
    files.into_iter().filter_map(|file| Network::from_file(file).ok()).collect()
}

fn uses(network: &Network, plugin: &str) -> bool {
    let mut configs = network.plugins().iter().map(libcni::Plugin::config);
    configs.any(|config| {
        config.plugin_type().is_ok_and(|found| found.as_str() == plugin) || config.ipam_type() == Some(plugin)
    })
}
