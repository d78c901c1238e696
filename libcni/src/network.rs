//! A network as it is run: a checked name, a version, a chain of plugins.
//!
//! What a file has to look like to become one is decided in `conf`; this is only the result. A network whose version this
//! library does not know can still be had, because its attachments must be torn down somehow: see [`Network::version`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cni_types::config::{ListedPlugin, NetworkList, PluginConfig};
use cni_types::{CniVersion, ErrorCode, ExtraKeys, NetworkName, PluginType, VersionNumber};

use crate::conf::Skipped;

/// A network's configuration, ready to be run by a [`Client`](crate::Client).
///
/// ```
/// use libcni::Network;
///
/// let network = Network::from_list(
///     br#"{"cniVersion": "0.4.0", "cniVersions": ["1.0.0", "9.9.9"], "name": "n1", "plugins": [{"type": "bridge"}]}"#,
/// ).unwrap();
/// assert_eq!(network.version().unwrap().to_string(), "1.0.0");
/// assert_eq!(network.plugins()[0].plugin_type(), &"bridge");
/// ```
#[doc(alias = "NetworkConfigList")]
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) name: NetworkName,
    pub(crate) version: Version,
    pub(crate) disable_check: bool,
    pub(crate) disable_gc: bool,
    pub(crate) plugins: Vec<Plugin>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) file: Option<PathBuf>,
    pub(crate) skipped: Vec<Skipped>,
}

impl Network {
    /// The network's name.
    pub fn name(&self) -> &NetworkName {
        &self.name
    }

    /// The version in which the plugins are called: the highest released one of `cniVersion` and `cniVersions`; 0.1.0 if
    /// there is neither.
    ///
    /// # Errors
    ///
    /// When none of them is a released version. Such a network can only be torn down: ADD, CHECK, STATUS, GC and
    /// validation refuse it before anything is run, and DEL goes on in the version of the cached result, or else in the
    /// highest one that is not above the configuration's. Code 1.
    pub fn version(&self) -> Result<CniVersion, UnsupportedVersion> {
        match &self.version {
            Version::Absent => Ok(CniVersion::WHEN_ABSENT),
            Version::Released(version) => Ok(*version),
            Version::Unsupported(error) => Err(error.clone()),
        }
    }

    /// Whether CHECK is never to be run.
    pub fn disable_check(&self) -> bool {
        self.disable_check
    }

    /// Whether GC is never to be run.
    pub fn disable_gc(&self) -> bool {
        self.disable_gc
    }

    /// The plugins, in the order of ADD; at least one.
    pub fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// The configuration as it was given, without the drop-in folder.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The configuration that the cache keeps: as it was given, with the plugins of the drop-in folder in it, so that it
    /// says all that DEL needs to know when file and folder have been changed since.
    pub(crate) fn whole(&self) -> Cow<'_, [u8]> {
        if self.plugins.iter().all(|plugin| plugin.file.is_none()) {
            return Cow::Borrowed(&self.bytes);
        }
        let (mut list, _) = NetworkList::decode_all(&self.bytes);
        list.plugins = self.plugins.iter().map(|plugin| plugin.listed.clone()).collect();
        list.load_only_inlined_plugins = true;
        // A list that came out of JSON has a JSON form.
        serde_json::to_vec(&list).map_or(Cow::Borrowed(&self.bytes), Cow::Owned)
    }

    /// The file it was read from.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The files of its folder that gave no network, when it was loaded from a folder.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }
}

/// What a configuration says about its version.
#[derive(Clone, Debug)]
pub(crate) enum Version {
    /// Nothing, which means 0.1.0 and is sent as nothing.
    Absent,
    /// A released version.
    Released(CniVersion),
    /// Only versions that this library does not know.
    Unsupported(UnsupportedVersion),
}

/// One plugin of a network.
#[doc(alias = "NetworkConfig")]
#[derive(Clone, Debug)]
pub struct Plugin {
    pub(crate) plugin_type: PluginType,
    pub(crate) listed: ListedPlugin,
    pub(crate) file: Option<PathBuf>,
}

impl Plugin {
    /// The plugin's type, which is the name of its binary.
    pub fn plugin_type(&self) -> &PluginType {
        &self.plugin_type
    }

    /// What the keys of the protocol say in its configuration.
    pub fn config(&self) -> &PluginConfig {
        self.listed.config()
    }

    /// Its configuration as it was given, key by key.
    pub fn object(&self) -> &ExtraKeys {
        self.listed.object()
    }

    /// The file of the drop-in folder that it was read from; `None` for one that stands in the list itself.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// A configuration is only for spec versions that this library does not know. Code 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("configuration version {} is not supported, expected one of {}", quoted(claimed), known())]
#[non_exhaustive]
pub struct UnsupportedVersion {
    /// What the configuration says, in its words.
    pub claimed: Vec<String>,
}

impl UnsupportedVersion {
    /// The CNI code: 1.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::INCOMPATIBLE_CNI_VERSION
    }

    /// The highest released version that is not above any claimed one; the first one if all are above.
    pub(crate) fn nearest(&self) -> CniVersion {
        let claimed = self.claimed.iter().filter_map(|text| text.parse::<VersionNumber>().ok()).max();
        let below =
            |version: &CniVersion| claimed.is_some_and(|claimed| VersionNumber::from(*version) <= claimed);
        CniVersion::ALL.into_iter().rfind(below).unwrap_or(CniVersion::WHEN_ABSENT)
    }
}

fn quoted(claimed: &[String]) -> String {
    claimed.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ")
}

fn known() -> String {
    CniVersion::ALL.map(CniVersion::as_str).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_version_is_near_to_a_released_one() {
        let near = |claimed: &[&str]| {
            UnsupportedVersion { claimed: claimed.iter().map(|text| (*text).to_owned()).collect() }
                .nearest()
                .as_str()
        };
        assert_eq!(near(&["1.0.1"]), "1.0.0");
        assert_eq!(near(&["9.9.9", "0.5.0"]), "1.1.0");
        assert_eq!(near(&["0.3.2"]), "0.3.1");
        assert_eq!(near(&["0.0.1"]), "0.1.0");
    }
}
