//! What a plugin says of itself when somebody asks it by `--describe`, which is no part of the protocol.
//!
//! The document alone: how a plugin finds out what stands in it is `cni-skel`'s business, and how one is asked that of
//! whoever runs it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use crate::Command;
use crate::error::DecodeError;
use crate::wire::{self, Blank, ExtraKeys, OptValue, Required, TextIfAny, TextList, Value, wire_object};

/// The argument by which a plugin is asked.
pub const DESCRIBE: &str = "--describe";

/// The meaning of the document's keys. Keys that are added later do not change it.
const FORMAT: u64 = 1;

/// What this is, in messages.
const WHAT: &str = "plugin description";

/// Who a plugin is and what it does, as it tells itself.
///
/// A plugin of this SDK prints it on stdout when it is run with the only argument `--describe` and without
/// `CNI_COMMAND`. Other plugins know no such question: what they answer does not decode.
///
/// ```
/// use cni_types::{Command, Handling, PluginDescription};
///
/// let description = PluginDescription::decode(
///     br#"{"formatVersion": 1, "name": "hello", "supportedVersions": ["1.0.0", "1.1.0"],
///          "commands": {"ADD": "handled", "DEL": "handled", "CHECK": "no-op"}}"#,
/// )?;
/// assert_eq!(description.handling(Command::Check), Handling::NoOp);
/// assert_eq!(description.handling(Command::Gc), Handling::Unknown);
/// # Ok::<(), cni_types::DecodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginDescription {
    format_version: Format,
    /// The plugin's name, which is the `type` in configurations.
    pub name: String,
    /// The plugin's own version; empty for none.
    pub version: String,
    /// One line about the plugin.
    pub about: String,
    /// The spec versions that the plugin claims, as text, as in its answer to VERSION.
    pub supported_versions: Vec<String>,
    /// What the plugin does for each command, by the command's text. VERSION is left out: every plugin answers it.
    pub commands: BTreeMap<String, Handling>,
    /// The capabilities whose values the plugin takes from `runtimeConfig`.
    pub capabilities: Vec<String>,
    /// The keys of `CNI_ARGS` that the plugin reads.
    pub arguments: Vec<String>,
    /// Whether a configuration key that the plugin does not know is an error, rather than ignored.
    pub denies_unknown_keys: bool,
    /// The JSON Schema of the plugin's own configuration keys, without those of the protocol; `None` if it does not say.
    pub config_schema: Option<Json>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

/// What a plugin does for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Handling {
    /// It has code of its own for it.
    Handled,
    /// It succeeds without action.
    NoOp,
    /// The plugin cannot tell, or says what this crate does not know.
    #[serde(other)]
    Unknown,
}

impl fmt::Display for Handling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Handled => "handled",
            Self::NoOp => "no-op",
            Self::Unknown => "unknown",
        })
    }
}

wire_object! {
    PluginDescription {
        "formatVersion" => format_version: Required<Format>,
        "name" => name: Required<String>,
        "version" => version: TextIfAny,
        "about" => about: TextIfAny,
        "supportedVersions" => supported_versions: TextList,
        "commands" => commands: Value<BTreeMap<String, Handling>>,
        "capabilities" => capabilities: Value<Vec<String>>,
        "arguments" => arguments: Value<Vec<String>>,
        "deniesUnknownKeys" => denies_unknown_keys: Value<bool>,
        "configSchema" => config_schema: OptValue<Json>,
    }
}

impl PluginDescription {
    /// A description with a name and nothing else.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            format_version: Format,
            name: name.into(),
            version: String::new(),
            about: String::new(),
            supported_versions: Vec::new(),
            commands: BTreeMap::new(),
            capabilities: Vec::new(),
            arguments: Vec::new(),
            denies_unknown_keys: false,
            config_schema: None,
            extra: ExtraKeys::default(),
        }
    }

    /// Reads what a plugin printed.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object, `formatVersion` or `name` is missing, the format is one that this crate does not
    /// know, or a key is not of its type.
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        wire::decode(WHAT, json)
    }

    /// The JSON text as plugins print it: indented, with a newline, since people read it as well.
    pub fn to_json(&self) -> String {
        let mut text = wire::to_pretty_json(self);
        text.push('\n');
        text
    }

    /// What the plugin does for a command, whatever version of the spec it takes part in.
    pub fn handling(&self, command: Command) -> Handling {
        match self.commands.get(command.as_str()) {
            Some(handling) => *handling,
            None if command == Command::Version => Handling::Handled,
            None => Handling::Unknown,
        }
    }
}

/// The number of the format that this crate knows. In a document of another, each key may mean something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format;

impl Blank for Format {
    fn blank() -> Self {
        Self
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(FORMAT)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FormatVisitor;

        impl Visitor<'_> for FormatVisitor {
            type Value = Format;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the number of a format")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Format, E> {
                if number == FORMAT {
                    Ok(Format)
                } else {
                    Err(E::custom(format_args!("unknown format {number}, expected {FORMAT}")))
                }
            }
        }

        deserializer.deserialize_u64(FormatVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> PluginDescription {
        let mut full = PluginDescription::new("hello");
        full.version = "1.2.3".to_owned();
        full.about = "says hello".to_owned();
        full.supported_versions = vec!["1.0.0".to_owned(), "1.1.0".to_owned()];
        full.commands = [("ADD", Handling::Handled), ("CHECK", Handling::NoOp), ("GC", Handling::Unknown)]
            .map(|(command, handling)| (command.to_owned(), handling))
            .into();
        full.capabilities = vec!["mac".to_owned()];
        full.arguments = vec!["IP".to_owned()];
        full.denies_unknown_keys = true;
        full.config_schema =
            Some(serde_json::json!({"type": "object", "properties": {"mtu": {"type": "integer"}}}));
        full
    }

    #[test]
    fn what_is_printed_is_what_is_read() {
        for description in [full(), PluginDescription::new("hello")] {
            let text = description.to_json();
            assert_eq!(PluginDescription::decode(text.as_bytes()), Ok(description.clone()), "{text}");
            assert_eq!(serde_json::from_str::<PluginDescription>(&text).unwrap(), description, "{text}");
        }
        insta::assert_snapshot!(full().to_json(), @r#"
        {
            "formatVersion": 1,
            "name": "hello",
            "version": "1.2.3",
            "about": "says hello",
            "supportedVersions": [
                "1.0.0",
                "1.1.0"
            ],
            "commands": {
                "ADD": "handled",
                "CHECK": "no-op",
                "GC": "unknown"
            },
            "capabilities": [
                "mac"
            ],
            "arguments": [
                "IP"
            ],
            "deniesUnknownKeys": true,
            "configSchema": {
                "properties": {
                    "mtu": {
                        "type": "integer"
                    }
                },
                "type": "object"
            }
        }
        "#);
    }

    #[test]
    fn a_later_plugin_may_say_more() {
        let json =
            br#"{"formatVersion":1,"name":"n","commands":{"ADD":"handled","MOVE":"half"},"maturity":"beta"}"#;
        let description = PluginDescription::decode(json).unwrap();
        assert_eq!(description.commands["MOVE"], Handling::Unknown);
        assert_eq!(description.extra.find("maturity").unwrap().as_str(), r#""beta""#);
        assert!(description.to_json().contains("maturity"));
    }

    #[test]
    fn what_other_programs_print_is_no_description() {
        let said = |json: &str| PluginDescription::decode(json.as_bytes()).unwrap_err().to_string();
        insta::assert_snapshot!(said(""), @"cannot decode plugin description: EOF while parsing a value at line 1 column 0");
        insta::assert_snapshot!(said(r#"{"cniVersion":"1.0.0","supportedVersions":["1.0.0"]}"#), @"cannot decode plugin description: missing field `formatVersion` at line 1 column 52");
        insta::assert_snapshot!(said(r#"{"formatVersion":2,"name":"n"}"#), @"cannot decode plugin description: formatVersion: unknown format 2, expected 1 at line 1 column 18");
        insta::assert_snapshot!(said(r#"{"formatVersion":1,"name":"n","commands":["ADD"]}"#), @"cannot decode plugin description: commands: invalid type: sequence, expected a map at line 1 column 41");
    }

    #[test]
    fn every_plugin_answers_version() {
        assert_eq!(PluginDescription::new("n").handling(Command::Version), Handling::Handled);
        assert_eq!(PluginDescription::new("n").handling(Command::Add), Handling::Unknown);
        assert_eq!(full().handling(Command::Check), Handling::NoOp);
    }

    #[test]
    fn it_reads_as_it_is_written_for_people() {
        for handling in [Handling::Handled, Handling::NoOp, Handling::Unknown] {
            assert_eq!(serde_json::to_value(handling).unwrap(), handling.to_string());
        }
    }
}
