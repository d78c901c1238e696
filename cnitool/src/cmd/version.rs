//! `version`: what plugins support, and the best version that they have in common.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use libcni::cni_types::PluginType;
use libcni::{LoadError, Network, Scan};

use super::{Context, ask};
use crate::cli::Version;
use crate::failure::{Failure, Fault, Usage};
use crate::output::{Group, Subject, Versions};

/// Directories of programs. To ask all that is in there for a version would be to run it.
const PROGRAM_DIRS: [&str; 6] =
    ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

pub(super) fn run(args: &Version, context: &Context<'_>) -> Result<(), Failure> {
    let groups = match args.subject.as_deref() {
        None => search_path(context),
        Some(name) if is_path(name) => vec![path(Path::new(name), context)?],
        Some(name) => vec![named(name, context)?],
    };
    let all_answered = groups.iter().flat_map(|group| &group.asked).all(|asked| asked.info.is_ok());
    context.console.show(&Versions { groups })?;
    if all_answered { Ok(()) } else { Err(Failure::Told) }
}

/// The folders in which plugins are looked for. One that cannot be read stops nothing.
fn search_path(context: &Context<'_>) -> Vec<Group> {
    let group = |dir: &PathBuf| {
        folder(dir, context).unwrap_or_else(|fault| Group {
            fault: Some(fault),
            ..Group::new(Subject::Dir(dir.clone()), Vec::new())
        })
    };
    context.settings.plugin_dirs.iter().map(group).collect()
}

/// Whether a text is meant as a path and not as a name.
pub(super) fn is_path(text: &str) -> bool {
    text.contains('/') || text == "." || text == ".."
}

/// A network of the name, or else a plugin.
fn named(name: &str, context: &Context<'_>) -> Result<Group, Failure> {
    let missing = match Scan::read(&context.settings.conf_dir).and_then(|scan| scan.network(name)) {
        Ok(network) => return Ok(chain(&network, context)),
        Err(error @ LoadError::Faulty { .. }) => return Err(error.into()),
        Err(error) => error,
    };
    let Ok(plugin) = PluginType::new(name) else { return Err(missing.into()) };
    let asked = ask::plugin(&ask::client(context), plugin);
    match asked.info {
        Err(error) if error.program().is_none() => {
            Err(Failure::Unknown { network: Box::new(missing), plugin: Box::new(error) })
        }
        _ => Ok(Group::new(Subject::Plugin, vec![asked])),
    }
}

fn chain(network: &Network, context: &Context<'_>) -> Group {
    let configs = network.plugins().iter().map(|plugin| plugin.config());
    let asked = ask::chain(&ask::client(context), configs);
    Group::new(Subject::Network(Box::new(network.clone())), asked)
}

fn path(path: &Path, context: &Context<'_>) -> Result<Group, Failure> {
    let usage = |fault| Usage { origin: "NET|PLUGIN|DIR", fault };
    let fault = |error| usage(Fault::Path(path.to_owned(), error));
    let path = path.canonicalize().map_err(fault)?;
    if path.is_dir() {
        return Ok(folder(&path, context).map_err(usage)?);
    }
    let name = path.file_name().and_then(|name| PluginType::new(name.to_str()?).ok());
    let (Some(plugin), Some(dir)) = (name, path.parent()) else {
        return Err(fault(io::ErrorKind::InvalidFilename.into()).into());
    };
    let client = ask::client_in(dir, context);
    Ok(Group::new(Subject::Plugin, vec![ask::plugin(&client, plugin)]))
}

/// All plugins of a folder, by name.
fn folder(dir: &Path, context: &Context<'_>) -> Result<Group, Fault> {
    let fault = |error| Fault::Path(dir.to_owned(), error);
    let real = dir.canonicalize().map_err(fault)?;
    let is_same = |other: &&str| Path::new(other).canonicalize().is_ok_and(|other| other == real);
    if PROGRAM_DIRS.iter().any(is_same) {
        return Err(Fault::Programs(dir.to_owned()));
    }
    let mut plugins = Vec::new();
    for entry in fs::read_dir(dir).map_err(fault)? {
        plugins.extend(candidate(&entry.map_err(fault)?.path()));
    }
    plugins.sort_unstable();
    let client = ask::client_in(&real, context);
    let asked = plugins.into_iter().map(|plugin| ask::plugin(&client, plugin)).collect();
    Ok(Group::new(Subject::Dir(dir.to_owned()), asked))
}

/// The plugin's type, if a file may be one: regular, executable, not hidden.
fn candidate(path: &Path) -> Option<PluginType> {
    let name = path.file_name()?.to_str()?;
    let found = fs::metadata(path).ok()?;
    let may_be = found.is_file() && found.permissions().mode() & 0o111 != 0 && !name.starts_with('.');
    if may_be { PluginType::new(name).ok() } else { None }
}
