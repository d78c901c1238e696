//! The one key that is the same in every document of the protocol: `cniVersion`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{Key, KeySeed, Slot};
use crate::error::DecodeError;

/// The `cniVersion` of a document, wherever it stands; absent, empty and `null` are `None`. The rest is only skipped.
pub(crate) fn declared_version(what: &str, json: &[u8]) -> Result<Option<String>, DecodeError> {
    let Declared(version) = super::decode(what, json).or_else(|error| {
        // What is no UTF-8 elsewhere does not keep the version from being told.
        let Cow::Owned(text) = String::from_utf8_lossy(json) else { return Err(error) };
        match super::decode::<Declared>(what, text.as_bytes()) {
            Ok(Declared(Some(version))) if !version.contains(char::REPLACEMENT_CHARACTER) => {
                Ok(Declared(Some(version)))
            }
            _ => Err(error),
        }
    })?;
    Ok(version.filter(|text| !text.is_empty()))
}

struct Declared(Option<String>);

impl<'de> Deserialize<'de> for Declared {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DeclaredVisitor;

        impl<'de> Visitor<'de> for DeclaredVisitor {
            type Value = Declared;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Declared, A::Error> {
                let mut version = Slot::EMPTY;
                while let Some(key) = map.next_key_seed(KeySeed(&["cniVersion"]))? {
                    match key {
                        Key::Known(_, exact) => version.set(map.next_value()?, exact),
                        Key::Unknown(_) => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Declared(version.take()))
            }
        }

        deserializer.deserialize_map(DeclaredVisitor)
    }
}
