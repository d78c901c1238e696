//! A list of plugins becomes a network.

use std::path::Path;

use cni_types::VersionError;
use cni_types::config::{ListedPlugin, NetworkList};

use super::Problem;
use super::file::{drop_ins, plugin};
use crate::network::{Network, UnsupportedVersion, Version};

impl Network {
    /// A network from the text of a list, without a drop-in folder.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    #[doc(alias = "ConfListFromBytes")]
    #[doc(alias = "NetworkConfFromBytes")]
    pub fn from_list(json: &[u8]) -> Result<Self, Vec<Problem>> {
        from_list(json, None).map_err(|faulty| faulty.problems)
    }
}

/// A list that gives no network.
#[derive(Debug)]
pub(super) struct Faulty {
    /// The network's name, if that much can be read.
    pub(super) name: Option<String>,
    pub(super) problems: Vec<Problem>,
}

/// A network from a list; with a folder, from the drop-ins for it in there, too.
pub(super) fn from_list(json: &[u8], folder: Option<&Path>) -> Result<Network, Faulty> {
    let (list, faults) = NetworkList::decode_all(json);
    let mut check = Check { json, problems: faults.into_iter().map(Problem::from).collect() };
    if check.problems.iter().any(|problem| problem.path.is_none()) {
        // No object at all: nothing more can be said.
        return Err(Faulty { name: None, problems: check.problems });
    }
    let name = check.keep("name", list.network_name().map_err(|error| error.to_string()));
    let version = check.version(&list);
    let mut plugins = Vec::new();
    for (index, listed) in list.plugins.iter().enumerate() {
        plugins.extend(check.plugin(index, listed));
    }
    if !list.has_plugins_key && list.load_only_inlined_plugins {
        check.tell("plugins", "missing, and 'loadOnlyInlinedPlugins' is true, so that nothing could be run");
    } else if list.has_plugins_key && list.plugins.is_empty() {
        check.tell("plugins", "no plugins in list, expected at least one");
    }
    // A folder is only looked for under a name that has been checked: it is joined to a path.
    if let (Some(folder), Some(name), false) = (folder, &name, list.load_only_inlined_plugins) {
        match drop_ins(&folder.join(name.as_str())) {
            Ok(dropped) => plugins.extend(dropped),
            Err(problems) => check.problems.extend(problems),
        }
    }
    if plugins.is_empty() && check.problems.is_empty() {
        check.tell("plugins", &no_plugins(&list, folder));
    }
    match (name, version) {
        (Some(name), Some(version)) if check.problems.is_empty() => Ok(Network {
            name,
            version,
            disable_check: list.disable_check,
            disable_gc: list.disable_gc,
            plugins,
            bytes: json.to_vec(),
            file: None,
            skipped: Vec::new(),
        }),
        (name, _) => {
            // Those of the list itself in the order of its lines, then those of the folder.
            check.problems.sort_by_key(|problem| match problem.file {
                None => (false, problem.line, problem.column),
                Some(_) => (true, 0, 0),
            });
            Err(Faulty { name: name.map(|name| name.to_string()), problems: check.problems })
        }
    }
}

fn no_plugins(list: &NetworkList, folder: Option<&Path>) -> String {
    if list.extra.find("type").is_some() {
        return "missing, but there is a 'type': this is the configuration of a single plugin, and the name of its file \
                should end in .conf"
            .to_owned();
    }
    match (folder, &list.name) {
        (Some(folder), Some(name)) => {
            format!(
                "missing, and there is no .conf file in {}, expected at least one plugin",
                folder.join(name).display()
            )
        }
        _ => "missing, expected a list of at least one plugin".to_owned(),
    }
}

/// Collects what breaks a rule, leaving out what the decoder has told already.
struct Check<'a> {
    json: &'a [u8],
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn tell(&mut self, path: &str, message: &str) {
        let told = |problem: &Problem| problem.path.as_deref().is_some_and(|told| is_within(told, path));
        if !self.problems.iter().any(told) {
            self.problems.push(Problem::at(self.json, path, message));
        }
    }

    fn keep<T>(&mut self, path: &str, checked: Result<T, String>) -> Option<T> {
        checked.map_err(|message| self.tell(path, &message)).ok()
    }

    fn version(&mut self, list: &NetworkList) -> Option<Version> {
        let mut good = true;
        let entries = list.cni_versions.iter().enumerate();
        let claims = list.cni_version.iter().map(|text| ("cniVersion".to_owned(), text));
        let claims: Vec<_> =
            claims.chain(entries.map(|(index, text)| (format!("cniVersions[{index}]"), text))).collect();
        for (path, text) in &claims {
            if let Err(error @ VersionError::NotAVersion(_)) = text.parse::<cni_types::CniVersion>() {
                self.tell(path, &error.to_string());
                good = false;
            }
        }
        match list.version() {
            Ok(_) if claims.is_empty() => Some(Version::Absent),
            Ok(version) => Some(Version::Released(version)),
            Err(_) if good => {
                let claimed = claims.into_iter().map(|(_, text)| text.clone()).collect();
                Some(Version::Unsupported(UnsupportedVersion { claimed }))
            }
            Err(_) => None,
        }
    }

    fn plugin(&mut self, index: usize, listed: &ListedPlugin) -> Option<crate::Plugin> {
        let path = format!("plugins[{index}]");
        if self
            .problems
            .iter()
            .any(|problem| problem.path.as_deref().is_some_and(|told| is_within(told, &path)))
        {
            return None;
        }
        self.keep(&format!("{path}.type"), plugin(listed.clone(), None))
    }
}

/// Whether a path is that of a value or of something inside it.
fn is_within(path: &str, value: &str) -> bool {
    path.strip_prefix(value).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
