//! How objects of the protocol are read and written: keys in any letter case, `null` as absent, unknown keys kept.
//!
//! serde's derive matches keys exactly, refuses duplicates and drops what it does not know. Deployed peers need more:
//! some runtimes write `HostPort` for `hostPort`, and a chained plugin must pass on what it does not understand. One
//! macro, `wire_object!`, makes both directions from one table of keys.
//!
//! - A key is found exactly or in another letter case (ASCII); the exact spelling wins, wherever it stands.
//! - Of duplicates, the last wins as a whole.
//! - `null` is absent.
//! - Whatever is left is kept in `extra`, as text, so that numbers keep their digits.

mod borrowed;
mod codec;
mod declared;
mod distinct;
mod entries;
mod extra;
mod object;
mod pretty;

pub(crate) use borrowed::Borrowed;
pub use codec::check_nesting;
pub(crate) use codec::{
    Codec, Count, DnsIfAny, ListOf, OptAddress, OptIndex, OptRaw, OptText, OptUint, OptValue, Required,
    Switches, Text, TextIfAny, TextList, Uint64, Value, unknown_value,
};
pub(crate) use declared::declared_version;
pub(crate) use distinct::Distinct;
pub use entries::Entries;
pub(crate) use extra::Layout;
pub use extra::{ExtraKeys, RawJson};
pub(crate) use object::{Key, KeySeed, Slot, wire_object};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::DecodeError;

/// How deep a value may nest, unknown ones included: what every serde_json based reader takes by default.
pub const MAX_NESTING: usize = 127;

/// Decodes a document, with the path to the fault if there is one.
///
/// The path costs time, so it is only worked out for a document that failed.
pub(crate) fn decode<T: DeserializeOwned>(what: &str, json: &[u8]) -> Result<T, DecodeError> {
    if let Some(value) = decode_at_once(json) {
        return Ok(value);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| DecodeError::new(what, Some(error.path().to_string()), error.inner()))?;
    // The value is good; what follows it may not be.
    deserializer.end().map_err(|error| DecodeError::new(what, None, &error))?;
    Ok(value)
}

/// Decodes a document without a word on what is wrong with it if it cannot be.
pub(crate) fn decode_at_once<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Option<T> {
    // As text, so that each string in it need not be checked to be some.
    serde_json::from_str(std::str::from_utf8(json).ok()?).ok()
}

/// The text of a value as plugins print it: four spaces a level, no final newline.
pub(crate) fn to_pretty_json(value: &impl serde::Serialize) -> String {
    let mut text = Vec::with_capacity(512);
    // Writing to memory cannot fail, and no type here has a map whose keys are no strings.
    let written =
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, pretty::Pretty::default()));
    debug_assert!(written.is_ok(), "a protocol object has a JSON form");
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
