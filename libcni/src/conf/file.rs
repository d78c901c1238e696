//! One file becomes a network, or a plugin of one.

use std::path::Path;

use cni_types::config::ListedPlugin;

use super::dir::conf_files;
use super::list::{Faulty, from_list};
use super::problem::{Problem, ProblemKind};
use super::single::from_plugin;
use crate::file::read;
use crate::network::{Network, Plugin};

impl Network {
    /// Reads one file: `.conf` and `.json` hold a single plugin's configuration, any other a list. A list's drop-in
    /// folder, which lies beside the file and has the network's name, is read along.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the file and the folder.
    #[doc(alias = "ConfListFromFile")]
    #[doc(alias = "NetworkConfFromFile")]
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Vec<Problem>> {
        from_file(path.as_ref()).map_err(|faulty| faulty.problems)
    }
}

pub(super) fn from_file(path: &Path) -> Result<Network, Faulty> {
    let single = path.extension().is_some_and(|extension| extension == "conf" || extension == "json");
    let json = read(path).map_err(|error| Faulty { name: None, problems: vec![unreadable(path, &error)] })?;
    let network = if single {
        from_plugin(&json).map(Network::into_list)
    } else {
        // The folder of a bare file name is the working directory.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        from_list(&json, Some(folder))
    };
    match network {
        Ok(network) => Ok(Network { file: Some(path.to_owned()), ..network }),
        Err(Faulty { name, problems }) => {
            Err(Faulty { name, problems: problems.into_iter().map(|problem| problem.within(path)).collect() })
        }
    }
}

/// The plugins of a drop-in folder, in the order of their files' names; none if there is no such folder.
pub(super) fn drop_ins(folder: &Path) -> Result<Vec<Plugin>, Vec<Problem>> {
    let files = conf_files(folder, &[".conf"]).map_err(|error| vec![unreadable(folder, &error)])?;
    let (mut plugins, mut problems) = (Vec::new(), Vec::new());
    for path in files {
        match drop_in(&path) {
            Ok(plugin) => plugins.push(plugin),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(plugins) } else { Err(problems) }
}

fn drop_in(path: &Path) -> Result<Plugin, Problem> {
    let json = read(path).map_err(|error| unreadable(path, &error))?;
    let listed = ListedPlugin::decode(&json).map_err(|error| Problem::from(error).within(path))?;
    plugin(listed, Some(path)).map_err(|message| Problem::at(&json, "type", message).within(path))
}

/// A plugin of a usable type.
pub(super) fn plugin(listed: ListedPlugin, file: Option<&Path>) -> Result<Plugin, String> {
    let plugin_type = listed.config().plugin_type().map_err(|error| error.to_string())?;
    Ok(Plugin { plugin_type, listed, file: file.map(Path::to_owned) })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::of_file(path, ProblemKind::Io, format!("cannot read: {error}"))
}
