//! A network's configuration: a chain of plugins.
//!
//! The keys of a list are found in their exact spelling alone, as deployed runtimes find them, and `null` is none of the
//! values they may have; inside a plugin's configuration both are looser. Whether a list can be *used* (a good name, a
//! known version, plugins at all) is decided by who loads it.

use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::PluginConfig;
use super::flag::Flag;
use crate::error::DecodeError;
use crate::names::InvalidName;
use crate::wire::{self, Entries, ExtraKeys};
use crate::{CniVersion, NetworkName, RawJson, VersionError};

const WHAT: &str = "network configuration list";

/// The most plugins that a list may have. Chains in use have fewer than ten; each plugin is a process for every command,
/// and each faulty one a fault to be told, so a runaway generator of files must not make millions of either.
pub const MAX_PLUGINS: usize = 256;
/// The most entries that `cniVersions` may have. There were seven versions in ten years.
pub const MAX_VERSIONS: usize = 256;

/// A network configuration list: what a `.conflist` file holds.
///
/// ```
/// use cni_types::config::NetworkList;
/// let list = NetworkList::decode(br#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge","mtu":9000.0}]}"#)?;
/// assert_eq!(list.plugins[0].config().plugin_type()?, "bridge");
/// assert_eq!(list.plugins[0].object().find("mtu").unwrap().as_str(), "9000.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
    pub plugins: Vec<ListedPlugin>,
    /// Whether `plugins` was there at all, be it empty: an absent list may be filled from the folder beside the file.
    pub has_plugins_key: bool,
    /// Every other key.
    pub extra: ExtraKeys,
}

impl NetworkList {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object or a key has a wrong type: the first such fault.
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        match Self::decode_all(json) {
            (list, faults) if faults.is_empty() => Ok(list),
            (_, faults) => Err(faults.into_iter().next().unwrap_or_else(|| DecodeError::data(WHAT, "", ""))),
        }
    }

    /// Reads as much of a list as can be read, and tells everything that cannot. A plugin that cannot be read is an empty
    /// one in its place.
    ///
    /// ```
    /// use cni_types::config::NetworkList;
    /// let (list, faults) = NetworkList::decode_all(b"{\"name\": 7,\n \"plugins\": [{\"type\": \"a\"}, 7]}");
    /// assert_eq!(list.plugins.len(), 2);
    /// let faults: Vec<_> = faults.iter().map(|fault| (fault.path().unwrap(), fault.line())).collect();
    /// assert_eq!(faults, [("name", 1), ("plugins[1]", 2)]);
    /// ```
    pub fn decode_all(json: &[u8]) -> (Self, Vec<DecodeError>) {
        let mut list = Self::default();
        let entries = match serde_json::from_slice(json) {
            Ok(Entries(entries)) => entries,
            Err(fault) => return (list, vec![DecodeError::without_path(WHAT, &fault)]),
        };
        let mut reader = Reader { json, faults: Vec::new() };
        let mut extra: Vec<(String, RawJson)> = Vec::new();
        for (key, raw) in &entries {
            match key.as_str() {
                "cniVersion" => {
                    list.cni_version = reader.value(key, raw).filter(|text: &String| !text.is_empty());
                }
                "cniVersions" => {
                    let versions = reader.value(key, raw).unwrap_or_default();
                    list.cni_versions = reader.bounded(key, raw, versions, MAX_VERSIONS);
                }
                "name" => list.name = reader.value(key, raw),
                "disableCheck" => list.disable_check = reader.flag(key, raw),
                "disableGC" => list.disable_gc = reader.flag(key, raw),
                "loadOnlyInlinedPlugins" => list.load_only_inlined_plugins = reader.flag(key, raw),
                "plugins" => {
                    list.has_plugins_key = true;
                    list.plugins = reader.plugins(raw);
                }
                _ => {
                    if let Some(value) = reader.unknown(key, raw) {
                        extra.push((key.clone(), value));
                    }
                }
            }
        }
        list.extra.extend(extra);
        (list, reader.faults)
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

impl Serialize for NetworkList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(version) = &self.cni_version {
            map.serialize_entry("cniVersion", version)?;
        }
        if !self.cni_versions.is_empty() {
            map.serialize_entry("cniVersions", &self.cni_versions)?;
        }
        if let Some(name) = &self.name {
            map.serialize_entry("name", name)?;
        }
        let flags = [
            ("disableCheck", self.disable_check),
            ("disableGC", self.disable_gc),
            ("loadOnlyInlinedPlugins", self.load_only_inlined_plugins),
        ];
        for (key, _) in flags.into_iter().filter(|(_, set)| *set) {
            map.serialize_entry(key, &true)?;
        }
        if self.has_plugins_key || !self.plugins.is_empty() {
            map.serialize_entry("plugins", &self.plugins)?;
        }
        for (key, value) in self.extra.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// One plugin of a list, as it stands there and as the protocol reads it.
///
/// ```
/// use cni_types::config::ListedPlugin;
/// let plugin = ListedPlugin::decode(br#"{"Type": "a", "x": 1e3}"#)?;
/// assert_eq!(plugin.config().plugin_type()?, "a");
/// assert_eq!(serde_json::to_string(&plugin)?, r#"{"Type":"a","x":1e3}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPlugin {
    config: PluginConfig,
    object: ExtraKeys,
}

impl ListedPlugin {
    /// Reads a plugin's configuration. `null` is an empty one.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object or a protocol key has a wrong type. Code 6.
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        let config = PluginConfig::decode(json)?;
        let object = match json.trim_ascii() {
            b"null" => ExtraKeys::default(),
            json => wire::decode("network configuration", json)?,
        };
        Ok(Self { config, object })
    }

    /// What the keys of the protocol say.
    pub fn config(&self) -> &PluginConfig {
        &self.config
    }

    /// All keys as they were given: their spelling, their order, the digits of their numbers.
    pub fn object(&self) -> &ExtraKeys {
        &self.object
    }
}

impl Serialize for ListedPlugin {
    /// As it was given.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(serializer)
    }
}

/// Reads values of one document and collects what is wrong with them.
struct Reader<'a> {
    json: &'a [u8],
    faults: Vec<DecodeError>,
}

impl<'a> Reader<'a> {
    fn value<T: DeserializeOwned>(&mut self, path: &str, raw: &'a RawValue) -> Option<T> {
        self.keep(path, raw, wire::decode(WHAT, raw.get().as_bytes()))
    }

    /// The value of a key that is not known here, unless it nests too deep.
    fn unknown(&mut self, path: &str, raw: &'a RawValue) -> Option<RawJson> {
        let value: RawJson = self.value(path, raw)?;
        let checked = wire::check_nesting::<serde_json::Error>(value.as_str());
        let fault = checked.map_err(|error| DecodeError::without_path(WHAT, &error).located_in(self.json));
        self.keep(path, raw, fault.map(|()| value))
    }

    fn flag(&mut self, path: &str, raw: &'a RawValue) -> bool {
        self.value(path, raw).is_some_and(|Flag(set)| set)
    }

    fn plugins(&mut self, raw: &'a RawValue) -> Vec<ListedPlugin> {
        let items = serde_json::from_str::<Vec<&RawValue>>(raw.get());
        let items = items.map_err(|fault| DecodeError::without_path(WHAT, &fault));
        let items = self.keep("plugins", raw, items).unwrap_or_default();
        let mut plugins = Vec::new();
        for (index, item) in self.bounded("plugins", raw, items, MAX_PLUGINS).into_iter().enumerate() {
            let decoded = ListedPlugin::decode(item.get().as_bytes());
            // One that cannot be read is an empty one, so that the others keep their places.
            plugins.push(self.keep(&format!("plugins[{index}]"), item, decoded).unwrap_or_default());
        }
        plugins
    }

    /// A list, unless it is too long: then it is a fault, and empty.
    fn bounded<T>(&mut self, path: &str, raw: &'a RawValue, list: Vec<T>, most: usize) -> Vec<T> {
        if list.len() <= most {
            return list;
        }
        let message = format!("{} elements, expected at most {most}", list.len());
        let fault = DecodeError::data(WHAT, "", message).within(WHAT, path, self.json, raw.get().as_bytes());
        self.faults.push(fault.located_in(self.json));
        Vec::new()
    }

    fn keep<T>(&mut self, path: &str, raw: &'a RawValue, decoded: Result<T, DecodeError>) -> Option<T> {
        decoded
            .map_err(|fault| self.faults.push(fault.within(WHAT, path, self.json, raw.get().as_bytes())))
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_list_are_found_in_their_exact_spelling_alone() {
        let json = br#"{"Name":"x","CNIVersion":"1.0.0","name":"n1","PLUGINS":[],"plugins":[{"TYPE":"a"}]}"#;
        let list = NetworkList::decode(json).unwrap();
        assert_eq!((list.name.as_deref(), list.cni_version), (Some("n1"), None));
        assert_eq!(list.plugins[0].config().plugin_type.as_deref(), Some("a"));
        assert_eq!(
            list.extra.iter().map(|(key, _)| key).collect::<Vec<_>>(),
            ["Name", "CNIVersion", "PLUGINS"]
        );
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let json = b"{\n  \"name\": null,\n  \"disableGC\": \"yes\",\n  \"cniVersions\": [\"1.0.0\", 7],\n  \"plugins\": [\n    {\"type\": 1},\n    {\"type\": \"b\",\n     \"capabilities\": {\"mac\": 1}},\n    []\n  ]\n}";
        let (_, faults) = NetworkList::decode_all(json);
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        cannot decode network configuration list: name: invalid type: null, expected a string at line 2 column 14
        cannot decode network configuration list: disableGC: invalid value: string "yes", expected true, false, or one of them as a string at line 3 column 20
        cannot decode network configuration list: cniVersions[1]: invalid type: integer `7`, expected a string at line 4 column 28
        cannot decode network configuration list: plugins[0].type: invalid type: integer `1`, expected a string at line 6 column 14
        cannot decode network configuration list: plugins[1].capabilities.mac: invalid type: integer `1`, expected a boolean at line 8 column 30
        cannot decode network configuration list: plugins[2]: invalid type: sequence, expected an object at line 9 column 4
        "#);
    }

    #[test]
    fn a_list_prints_its_plugins_as_they_were_given() {
        let text = r#"{"name":"n1","disableGC":true,"plugins":[{"Type":"a","x":1.0,"type":"b","dns":{}}],"own":[1]}"#;
        assert_eq!(serde_json::to_string(&NetworkList::decode(text.as_bytes()).unwrap()).unwrap(), text);
    }

    #[test]
    fn lists_are_bounded_and_the_error_says_by_how_many() {
        let list = |plugins: usize, versions: usize| {
            let plugins = vec![r#"{"type":"a"}"#; plugins].join(",");
            let versions = vec![r#""1.0.0""#; versions].join(",");
            let json = format!("{{\"name\":\"n\",\n\"cniVersions\":[{versions}],\n\"plugins\":[{plugins}]}}");
            let (list, faults) = NetworkList::decode_all(json.as_bytes());
            (
                list.plugins.len(),
                list.cni_versions.len(),
                faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
        };
        assert_eq!(list(MAX_PLUGINS, MAX_VERSIONS), (256, 256, vec![]));
        let (plugins, versions, faults) = list(MAX_PLUGINS + 1, MAX_VERSIONS + 1);
        assert_eq!((plugins, versions), (0, 0));
        insta::assert_snapshot!(faults.join("\n"), @"
        cannot decode network configuration list: cniVersions: 257 elements, expected at most 256 at line 2 column 15
        cannot decode network configuration list: plugins: 257 elements, expected at most 256 at line 3 column 11
        ");
    }

    #[test]
    fn of_duplicate_keys_the_last_counts() {
        let list =
            NetworkList::decode(br#"{"name":"a","plugins":[{"type":"x"}],"name":"b","plugins":[]}"#).unwrap();
        assert_eq!((list.name.as_deref(), list.plugins.len(), list.has_plugins_key), (Some("b"), 0, true));
    }
}
