//! A network's configuration: a chain of plugins.

use super::PluginConfig;
use super::flag::Flag;
use crate::error::DecodeError;
use crate::names::InvalidName;
use crate::wire::{self, ExtraKeys, ListOf, Object, OptText, OptValue, wire_object};
use crate::{CniVersion, NetworkName, VersionError};

const WHAT: &str = "network configuration list";

/// A network configuration list: what a `.conflist` file holds.
///
/// ```
/// use cni_types::config::NetworkList;
/// let list = NetworkList::decode(br#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge"}]}"#)?;
/// assert_eq!(list.plugins.len(), 1);
/// # Ok::<(), cni_types::DecodeError>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#configuration-format).
#[doc(alias = "NetConfList")]
#[doc(alias = "conflist")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkList {
    /// `cniVersion` as text; see [`NetworkList::version`].
    pub cni_version: Option<String>,
    /// Every version that the list may be used in, as text. From 1.1.0.
    pub cni_versions: Vec<String>,
    /// `name` as text; see [`NetworkList::network_name`].
    pub name: Option<String>,
    /// Whether CHECK is never to be run.
    pub disable_check: bool,
    /// Whether GC is never to be run. From 1.1.0.
    pub disable_gc: bool,
    /// Whether the folder beside the list is not to be read. From 1.1.0.
    pub load_only_inlined_plugins: bool,
    /// The plugins, in the order of ADD.
    pub plugins: Vec<PluginConfig>,
    /// Whether `plugins` was there at all, be it empty: an absent list may be filled from the folder beside the file.
    pub has_plugins_key: bool,
    /// Every other key.
    pub extra: ExtraKeys,
}

struct Wire {
    cni_version: Option<String>,
    cni_versions: Vec<String>,
    name: Option<String>,
    disable_check: Flag,
    disable_gc: Flag,
    load_only_inlined_plugins: Flag,
    plugins: Option<Vec<PluginConfig>>,
    extra: ExtraKeys,
}

wire_object! {
    Wire {
        "cniVersion" => cni_version: OptText,
        "cniVersions" => cni_versions: ListOf<String>,
        "name" => name: OptText,
        "disableCheck" => disable_check: Object<Flag>,
        "disableGC" => disable_gc: Object<Flag>,
        "loadOnlyInlinedPlugins" => load_only_inlined_plugins: Object<Flag>,
        "plugins" => plugins: OptValue<Vec<PluginConfig>>,
    }
}

impl NetworkList {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object or a key has a wrong type.
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        let found: Wire = wire::decode(WHAT, json)?;
        Ok(Self {
            cni_version: found.cni_version,
            cni_versions: found.cni_versions,
            name: found.name,
            disable_check: found.disable_check.0,
            disable_gc: found.disable_gc.0,
            load_only_inlined_plugins: found.load_only_inlined_plugins.0,
            has_plugins_key: found.plugins.is_some(),
            plugins: found.plugins.unwrap_or_default(),
            extra: found.extra,
        })
    }

    /// The network's name.
    ///
    /// # Errors
    ///
    /// When it is missing or invalid. Code 7.
    pub fn network_name(&self) -> Result<NetworkName, InvalidName> {
        NetworkName::new(self.name.as_deref().unwrap_or_default())
    }

    /// The version to use: the highest released one of `cniVersion` and `cniVersions`; 0.1.0 if neither is there.
    ///
    /// # Errors
    ///
    /// When an entry is no version, with its index; or when none of them was released, all of them listed.
    pub fn version(&self) -> Result<CniVersion, DecodeError> {
        let own = self.cni_version.as_deref();
        let claimed = self.cni_versions.iter().enumerate();
        let mut claims: Vec<(String, &str)> =
            claimed.map(|(index, text)| (format!("cniVersions[{index}]"), text.as_str())).collect();
        match own {
            Some(text) => claims.insert(0, ("cniVersion".to_owned(), text)),
            None if claims.is_empty() => return Ok(CniVersion::WHEN_ABSENT),
            None => {}
        }
        let mut best = None;
        for (path, text) in &claims {
            match text.parse::<CniVersion>() {
                Ok(version) => best = best.max(Some(version)),
                Err(VersionError::Unreleased(_)) => {}
                Err(error) => return Err(DecodeError::data(WHAT, path.as_str(), error.to_string())),
            }
        }
        best.ok_or_else(|| {
            let found: Vec<_> = claims.iter().map(|(_, text)| *text).collect();
            let known = CniVersion::ALL.map(CniVersion::as_str).join(", ");
            DecodeError::data(
                WHAT,
                claims[0].0.as_str(),
                format!("none of {found:?} is a released version, expected one of {known}"),
            )
        })
    }
}

impl serde::Serialize for NetworkList {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = Wire {
            cni_version: self.cni_version.clone(),
            cni_versions: self.cni_versions.clone(),
            name: self.name.clone(),
            disable_check: Flag(self.disable_check),
            disable_gc: Flag(self.disable_gc),
            load_only_inlined_plugins: Flag(self.load_only_inlined_plugins),
            plugins: (self.has_plugins_key || !self.plugins.is_empty()).then(|| self.plugins.clone()),
            extra: self.extra.clone(),
        };
        wire.serialize(serializer)
    }
}
