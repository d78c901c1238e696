//! The configuration of a single plugin becomes a network of one.
//!
//! The form is from before lists. What only a list has (`disableCheck`, `disableGC`, `cniVersions`) counts for nothing
//! in it, as in Go's library.

use cni_types::VersionError;
use cni_types::config::ListedPlugin;

use super::Problem;
use super::file::plugin;
use super::list::Faulty;
use crate::network::{Network, UnsupportedVersion, Version};

impl Network {
    /// A network from the text of a single plugin's configuration.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    #[doc(alias = "ConfFromBytes")]
    pub fn from_plugin(json: &[u8]) -> Result<Self, Vec<Problem>> {
        let network = from_plugin(json).map_err(|faulty| faulty.problems)?;
        // What the cache keeps of it must not be taken for a list later.
        let looks_like_a_list = network.plugins.iter().any(|plugin| plugin.config().is_list());
        Ok(if looks_like_a_list { network.into_list() } else { network })
    }
}

pub(super) fn from_plugin(json: &[u8]) -> Result<Network, Faulty> {
    let listed = match ListedPlugin::decode(json) {
        Ok(listed) => listed,
        Err(error) => return Err(Faulty { name: None, problems: vec![error.into()] }),
    };
    let mut problems = Vec::new();
    let config = listed.config();
    let name = config
        .network_name()
        .map_err(|error| problems.push(Problem::at(json, "name", error.to_string())))
        .ok();
    let version = match (config.cni_version.as_deref(), config.version()) {
        (None, _) => Some(Version::Absent),
        (Some(_), Ok(version)) => Some(Version::Released(version)),
        (Some(text), Err(VersionError::Unreleased(_))) => {
            Some(Version::Unsupported(UnsupportedVersion { claimed: vec![text.to_owned()] }))
        }
        (Some(_), Err(error)) => {
            problems.push(Problem::at(json, "cniVersion", error.to_string()));
            None
        }
    };
    let plugin = if config.is_list() && config.plugin_type.is_none() {
        let message =
            "this is a network configuration list, and the name of its file should end in .conflist";
        problems.push(Problem::at(json, "plugins", message));
        None
    } else {
        plugin(listed, None).map_err(|message| problems.push(Problem::at(json, "type", message))).ok()
    };
    match (name, version, plugin) {
        (Some(name), Some(version), Some(plugin)) => Ok(Network {
            name,
            version,
            disable_check: false,
            disable_gc: false,
            plugins: vec![plugin],
            bytes: json.to_vec(),
            file: None,
            skipped: Vec::new(),
        }),
        (name, ..) => Err(Faulty { name: name.map(|name| name.to_string()), problems }),
    }
}

impl Network {
    /// The same network with a list as its text, as Go's library writes it to the cache for a `.conf` file.
    pub(super) fn into_list(mut self) -> Self {
        let Some(plugin) = self.plugins.first() else { return self };
        let mut list = cni_types::config::NetworkList::default();
        list.cni_version = plugin.config().cni_version.clone();
        list.name = Some(self.name.to_string());
        list.plugins = vec![plugin.listed.clone()];
        // A list whose plugins came out of JSON has a JSON form.
        if let Ok(bytes) = serde_json::to_vec(&list) {
            self.bytes = bytes;
        }
        self
    }
}
