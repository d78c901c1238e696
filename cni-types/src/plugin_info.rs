//! The VERSION reply, and whether a plugin can work with a configuration.

use std::fmt;

use crate::CniVersion;
use crate::error::{DecodeError, ErrorCode, ErrorObject};
use crate::wire::{self, ExtraKeys, OptText, OptValue, wire_object};

/// What a plugin answers to VERSION.
///
/// ```
/// use cni_types::{CniVersion, PluginInfo};
/// let info = PluginInfo::decode(br#"{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}"#)?;
/// assert!(info.supports(CniVersion::V0_4_0));
/// # Ok::<(), cni_types::DecodeError>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#version-success).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// The version that the reply is in, as text.
    pub cni_version: String,
    /// The versions that the plugin claims, as text: some claim what this crate does not know.
    pub supported_versions: Vec<String>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

struct Wire {
    cni_version: Option<String>,
    supported_versions: Option<Vec<String>>,
    extra: ExtraKeys,
}

wire_object! {
    decode only Wire {
        "cniVersion" => cni_version: OptText,
        "supportedVersions" => supported_versions: OptValue<Vec<String>>,
    }
}

impl PluginInfo {
    /// A reply in one version that claims some.
    pub fn new(version: CniVersion, supported: &[CniVersion]) -> Self {
        Self {
            cni_version: version.to_string(),
            supported_versions: supported.iter().map(ToString::to_string).collect(),
            extra: ExtraKeys::default(),
        }
    }

    /// What a plugin from before VERSION existed supports: 0.1.0 alone.
    pub fn of_plugin_without_version() -> Self {
        Self::new(CniVersion::V0_1_0, &[CniVersion::V0_1_0])
    }

    /// Reads a VERSION reply.
    ///
    /// A reply of 0.2.0 without `supportedVersions` means 0.1.0 and 0.2.0, as plugins of that time had it.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object, `cniVersion` or `supportedVersions` is missing or empty, or an entry is no
    /// string.
    #[doc(alias = "PluginDecoder")]
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "version info";
        let missing = |key: &str| DecodeError::data(WHAT, "", format!("missing field {key}"));
        let found: Wire = wire::decode(WHAT, json)?;
        let cni_version = found.cni_version.ok_or_else(|| missing("cniVersion"))?;
        let supported_versions = match found.supported_versions {
            Some(list) if !list.is_empty() => list,
            _ if cni_version == "0.2.0" => vec!["0.1.0".to_owned(), "0.2.0".to_owned()],
            _ => return Err(missing("supportedVersions")),
        };
        Ok(Self { cni_version, supported_versions, extra: found.extra })
    }

    /// The JSON text as plugins print it: on one line, with a newline, as Go's library has it.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The claimed versions that exist, oldest first.
    pub fn released(&self) -> impl Iterator<Item = CniVersion> + '_ {
        CniVersion::ALL.into_iter().filter(|version| self.supports(*version))
    }

    /// Whether the plugin claims a version.
    pub fn supports(&self, version: CniVersion) -> bool {
        self.supported_versions.iter().any(|claimed| claimed == version.as_str())
    }
}

impl serde::Serialize for PluginInfo {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cniVersion", &self.cni_version)?;
        map.serialize_entry("supportedVersions", &self.supported_versions)?;
        for (key, value) in self.extra.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Whether a plugin that supports these versions can take a configuration of this one.
///
/// Both sides are text, and compared as such: `1.0` is not `1.0.0`.
///
/// # Errors
///
/// When it cannot. Code 1, with both sides in the details.
///
/// ```
/// let error = cni_types::reconcile("1.1.0", &["0.4.0", "1.0.0"]).unwrap_err();
/// assert_eq!(error.details(), r#"config is "1.1.0", plugin supports ["0.4.0" "1.0.0"]"#);
/// ```
#[doc(alias = "Reconciler")]
pub fn reconcile<S: AsRef<str>>(config: &str, supported: &[S]) -> Result<(), IncompatibleVersion> {
    if supported.iter().any(|version| version.as_ref() == config) {
        return Ok(());
    }
    Err(IncompatibleVersion {
        config: config.to_owned(),
        supported: supported.iter().map(|version| version.as_ref().to_owned()).collect(),
    })
}

/// A configuration's version is not among those a plugin supports. Code 1.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncompatibleVersion {
    /// The configuration's version, as text.
    pub config: String,
    /// The plugin's versions, as text.
    pub supported: Vec<String>,
}

impl IncompatibleVersion {
    /// Both sides, in the form that Go's library has.
    pub fn details(&self) -> String {
        let supported: Vec<_> = self.supported.iter().map(|version| format!("{version:?}")).collect();
        format!("config is {:?}, plugin supports [{}]", self.config, supported.join(" "))
    }
}

impl fmt::Display for IncompatibleVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "incompatible CNI versions: {}", self.details())
    }
}

impl std::error::Error for IncompatibleVersion {}

impl From<IncompatibleVersion> for ErrorObject {
    fn from(error: IncompatibleVersion) -> Self {
        Self::new(ErrorCode::INCOMPATIBLE_CNI_VERSION, "incompatible CNI versions")
            .with_details(error.details())
    }
}

#[cfg(test)]
mod tests {
    use super::PluginInfo;

    #[test]
    fn only_a_reply_of_0_2_0_may_leave_the_list_out_or_empty() {
        for reply in [r#"{"cniVersion":"0.2.0"}"#, r#"{"cniVersion":"0.2.0","supportedVersions":[]}"#] {
            assert_eq!(PluginInfo::decode(reply.as_bytes()).unwrap().supported_versions, ["0.1.0", "0.2.0"]);
        }
        for reply in [r#"{"cniVersion":"1.0.0"}"#, r#"{"cniVersion":"1.0.0","supportedVersions":[]}"#] {
            assert_eq!(
                PluginInfo::decode(reply.as_bytes()).unwrap_err().message(),
                "missing field supportedVersions"
            );
        }
    }
}
