//! One plugin's configuration: what a plugin gets on stdin, or one entry of a list.
//!
//! Only the protocol's keys are typed, and those loosely: *when* a missing name or an unknown version is an error, and
//! with which code, is decided by who reads it. Everything else is kept as text.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::capability;
use super::gc::{Attachment, AttachmentList, Listed, Lists, VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD};
use crate::error::DecodeError;
use crate::names::InvalidName;
use crate::result::VersionedResult;
use crate::wire::{self, DnsIfAny, ExtraKeys, OptRaw, OptText, OptValue, Switches, wire_object};
use crate::{CniVersion, Dns, NetworkName, PluginType, RawJson, VersionError};

/// What this is, in messages.
const WHAT: &str = "network configuration";

/// A plugin's configuration.
///
/// ```
/// use cni_types::config::PluginConfig;
///
/// let config = PluginConfig::decode(br#"{"cniVersion":"1.0.0","name":"n1","type":"bridge","bridge":"cni0"}"#)?;
/// assert_eq!(config.network_name()?.as_str(), "n1");
/// assert_eq!(config.extra.find("bridge").unwrap().as_str(), r#""cni0""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#plugin-configuration-objects).
#[doc(alias = "NetConf")]
#[doc(alias = "PluginConf")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginConfig {
    /// `cniVersion` as text; see [`PluginConfig::version`].
    pub cni_version: Option<String>,
    /// `name` as text; see [`PluginConfig::network_name`].
    pub name: Option<String>,
    /// `type` as text; see [`PluginConfig::plugin_type`].
    pub plugin_type: Option<String>,
    /// Which capabilities the plugin wants to be given, and which it does not.
    pub capabilities: Option<BTreeMap<String, bool>>,
    /// The IPAM plugin's configuration.
    pub ipam: Option<Ipam>,
    /// Name resolution that the configuration asks for. Left out when empty.
    pub dns: Dns,
    /// Arguments from the configuration (`args`), as text.
    pub args: Option<RawJson>,
    /// What the runtime gives for the declared capabilities, as text.
    pub runtime_config: Option<RawJson>,
    /// The result of the plugins before this one, as text; see [`PluginConfig::decode_prev_result`].
    pub prev_result: Option<RawJson>,
    /// The valid attachments of a GC request; see [`PluginConfig::valid_attachments`].
    pub(super) valid_attachments: Option<AttachmentList>,
    /// The same under the older key.
    pub(super) attachments_old: Option<AttachmentList>,
    /// Every other key: the plugin's own.
    pub extra: ExtraKeys,
}

wire_object! {
    PluginConfig {
        "cniVersion" => cni_version: OptText,
        "name" => name: OptText,
        "type" => plugin_type: OptText,
        "capabilities" => capabilities: Switches,
        "ipam" => ipam: OptValue<Ipam>,
        "dns" => dns: DnsIfAny,
        "args" => args: OptRaw,
        "runtimeConfig" => runtime_config: OptRaw,
        "prevResult" => prev_result: OptRaw,
        "cni.dev/valid-attachments" => valid_attachments: Listed,
        "cni.dev/attachments" => attachments_old: Listed,
    }
}

/// The IPAM part of a configuration: the type of the plugin, and that plugin's own keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ipam {
    /// The type of the IPAM plugin. Absent or empty: no IPAM is wanted.
    pub plugin_type: Option<String>,
    /// The IPAM plugin's own keys.
    pub extra: ExtraKeys,
}

wire_object! { Ipam { "type" => plugin_type: OptText } }

impl PluginConfig {
    /// Reads a configuration. `null` is an empty one.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object or a protocol key has a wrong type. Code 6.
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        Self::decode_keeping(json, None)
    }

    /// Reads a configuration that may list many attachments, and be long for that: they keep it rather than copies of
    /// their names.
    ///
    /// # Errors
    ///
    /// As for [`PluginConfig::decode`].
    pub fn decode_shared(json: &Arc<Vec<u8>>) -> Result<Self, DecodeError> {
        Self::decode_keeping(json, Some(json))
    }

    fn decode_keeping(json: &[u8], document: Option<&Arc<Vec<u8>>>) -> Result<Self, DecodeError> {
        if json.trim_ascii() == b"null" {
            return Ok(Self::default());
        }
        // Where a list of attachments is faulty it is kept as text: only GC looks at it.
        wire::decode_by(Lists::Straight(document), WHAT, json)
            .or_else(|_| wire::decode_by(Lists::ByText, WHAT, json))
    }

    /// The version; absent and empty mean 0.1.0.
    ///
    /// # Errors
    ///
    /// When it is no version (code 6), or none that was released (code 1).
    pub fn version(&self) -> Result<CniVersion, VersionError> {
        self.cni_version.as_deref().unwrap_or_default().parse()
    }

    /// The network's name.
    ///
    /// # Errors
    ///
    /// When it is missing or invalid. Code 7.
    pub fn network_name(&self) -> Result<NetworkName, InvalidName> {
        NetworkName::new(self.name.as_deref().unwrap_or_default())
    }

    /// The plugin's type.
    ///
    /// # Errors
    ///
    /// When it is missing or a path. Code 7.
    pub fn plugin_type(&self) -> Result<PluginType, InvalidName> {
        PluginType::new(self.plugin_type.as_deref().unwrap_or_default())
    }

    /// The type of the IPAM plugin; `None` when no IPAM is wanted: no `ipam` key, or one without a type.
    pub fn ipam_type(&self) -> Option<&str> {
        self.ipam.as_ref().and_then(|ipam| ipam.plugin_type.as_deref())
    }

    /// Whether this is a whole list: it has `plugins`, which no plugin's configuration has.
    pub fn is_list(&self) -> bool {
        self.extra.find("plugins").is_some()
    }

    /// The capabilities that the plugin wants to be given.
    pub fn wanted_capabilities(&self) -> impl Iterator<Item = &str> {
        self.capabilities.iter().flatten().filter(|(_, wanted)| **wanted).map(|(name, _)| name.as_str())
    }

    /// The result of the plugins before this one, in the version that it says itself, or else in the configuration's.
    ///
    /// `None` when there is none. Call [`VersionedResult::convert`] or
    /// [`into_add_result`](VersionedResult::into_add_result) for another version.
    ///
    /// # Errors
    ///
    /// When the configuration's version is no released one, or the result does not fit its version: the error names
    /// both. Code 6. [`DecodeError::located_in`] gives it line and column.
    #[doc(alias = "ParsePrevResult")]
    pub fn decode_prev_result(&self) -> Result<Option<VersionedResult>, DecodeError> {
        let Some(raw) = &self.prev_result else { return Ok(None) };
        let config = self.cni_version.as_deref().unwrap_or("0.1.0");
        let version: CniVersion = config
            .parse()
            .map_err(|error: VersionError| DecodeError::data(WHAT, "cniVersion", error.to_string()))?;
        VersionedResult::decode_with_default(version, raw.as_str().as_bytes()).map(Some).map_err(|error| {
            let own = wire::declared_version("prevResult", raw.as_str().as_bytes()).ok().flatten();
            let own = own.map_or_else(
                || "without a version of its own".to_owned(),
                |own| format!("of version {own:?}"),
            );
            let what = format!("prevResult {own} in a configuration of version {config:?}");
            error.under(what, "prevResult")
        })
    }

    /// The attachments that GC must leave alone; `null` is an empty list, `None` an absent one.
    ///
    /// The older key counts where the newer one is absent or `null`: a list that is overlooked is a list of what is removed.
    ///
    /// # Errors
    ///
    /// When the value is no list of attachments. Code 7.
    pub fn valid_attachments(&self) -> Result<Option<&[Attachment]>, DecodeError> {
        let keys =
            [(VALID_ATTACHMENTS, &self.valid_attachments), (VALID_ATTACHMENTS_OLD, &self.attachments_old)];
        let mut found: Option<&[Attachment]> = None;
        for (key, value) in keys {
            match value {
                None => {}
                Some(AttachmentList::Good(Some(list))) => return Ok(Some(list)),
                Some(AttachmentList::Good(None)) => found = Some(&[]),
                Some(AttachmentList::Faulty(faulty)) => return Err(faulty.1.clone().under(WHAT, key)),
            }
        }
        Ok(found)
    }

    /// The capabilities' values, by key.
    ///
    /// # Errors
    ///
    /// When `runtimeConfig` is no object. Code 7.
    pub fn runtime_values(&self) -> Result<capability::Values, DecodeError> {
        let Some(raw) = &self.runtime_config else { return Ok(capability::Values::default()) };
        wire::decode(WHAT, raw.as_str().as_bytes()).map_err(|error| error.under(WHAT, "runtimeConfig"))
    }
}

/// The `cniVersion` of a configuration as text, and nothing else of it; absent, empty and `null` are `None`.
///
/// For whoever passes a configuration on and needs no more than the version that the answer will be in.
///
/// ```
/// let version = cni_types::config::declared_version(br#"{"cniVersion":"1.0.0","ipam":"not looked at"}"#)?;
/// assert_eq!(version.as_deref(), Some("1.0.0"));
/// # Ok::<(), cni_types::DecodeError>(())
/// ```
///
/// # Errors
///
/// When the bytes are no JSON object, or the version is no string. Code 6.
pub fn declared_version(json: &[u8]) -> Result<Option<String>, DecodeError> {
    if json.trim_ascii() == b"null" {
        return Ok(None);
    }
    wire::declared_version(WHAT, json)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::PluginConfig;

    #[test]
    fn a_capability_that_is_null_is_not_wanted() {
        let config = PluginConfig::decode(br#"{"capabilities":{"a":null,"b":true,"c":false}}"#).unwrap();
        assert_eq!(config.wanted_capabilities().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn valid_attachments_that_are_null_are_none_to_keep_unless_the_older_key_lists_some() {
        let valid = |json: &str| {
            let config = PluginConfig::decode(json.as_bytes()).unwrap();
            config.valid_attachments().map(|list| list.map(<[_]>::len)).map_err(|error| error.to_string())
        };
        assert_eq!(valid("{}"), Ok(None));
        assert_eq!(valid(r#"{"cni.dev/valid-attachments":null}"#), Ok(Some(0)));
        assert_eq!(valid(r#"{"cni.dev/attachments":null}"#), Ok(Some(0)));
        assert_eq!(valid(r#"{"cni.dev/valid-attachments":null,"cni.dev/attachments":[{}]}"#), Ok(Some(1)));
        assert_eq!(valid(r#"{"cni.dev/valid-attachments":[],"cni.dev/attachments":[{}]}"#), Ok(Some(0)));
        assert!(valid(r#"{"cni.dev/attachments":[null]}"#).unwrap_err().contains("cni.dev/attachments[0]"));
    }

    #[test]
    fn attachments_keep_the_request_that_is_shared_and_only_that() {
        let json = r#"{"cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"},{"containerID":"c\u0031"}]}"#;
        let json = Arc::new(json.as_bytes().to_vec());
        let copied = PluginConfig::decode(&json).unwrap();
        assert_eq!(Arc::strong_count(&json), 1);
        let shared = PluginConfig::decode_shared(&json).unwrap();
        // The second one's name is not there as it is meant, so it has a copy.
        assert_eq!(Arc::strong_count(&json), 2);
        let names = |config: &PluginConfig| {
            let list = config.valid_attachments().unwrap().unwrap().to_vec();
            list.iter().map(|it| (it.container_id().to_owned(), it.ifname().to_owned())).collect::<Vec<_>>()
        };
        let expected = [("c1", "eth0"), ("c1", "")].map(|(id, ifname)| (id.to_owned(), ifname.to_owned()));
        assert_eq!(names(&shared), expected);
        assert_eq!(names(&copied), expected);
    }

    #[test]
    fn lists_of_attachments_are_the_same_read_straight_or_by_way_of_their_text() {
        let list =
            r#"[{"IFNAME":"x","containerID":"c1","ifname":"eth\u0030","x":1.50},{"containerID":null}]"#;
        let printed = r#"[{"containerID":"c1","ifname":"eth0","x":1.50},{"containerID":"","ifname":""}]"#;
        for (json, printed, is_good) in [
            (format!(r#"{{"cni.dev/valid-attachments":{list},"a":1}}"#), printed, true),
            (
                format!(r#"{{"CNI.dev/valid-attachments":7,"a":1,"cni.dev/valid-attachments":{list}}}"#),
                printed,
                true,
            ),
            (
                format!(r#"{{"cni.dev/valid-attachments":{list},"a":1,"CNI.dev/Valid-attachments":[]}}"#),
                printed,
                true,
            ),
            (
                format!(r#"{{"cni.dev/valid-attachments":[],"a":1,"cni.dev/valid-attachments":{list}}}"#),
                printed,
                true,
            ),
            (r#"{"cni.dev/valid-attachments":null,"a":1}"#.to_owned(), "null", true),
            (
                r#"{"cni.dev/valid-attachments":{ "b" : [2.0] },"a":1}"#.to_owned(),
                r#"{ "b" : [2.0] }"#,
                false,
            ),
        ] {
            let config = PluginConfig::decode(json.as_bytes()).unwrap();
            assert_eq!(serde_json::from_str::<PluginConfig>(&json).unwrap(), config, "{json}");
            assert_eq!(
                PluginConfig::decode_shared(&Arc::new(json.clone().into_bytes())).unwrap(),
                config,
                "{json}"
            );
            assert_eq!(
                serde_json::to_string(&config).unwrap(),
                format!(r#"{{"cni.dev/valid-attachments":{printed},"a":1}}"#)
            );
            assert_eq!(config.valid_attachments().is_ok(), is_good, "{json}");
        }
    }
}
