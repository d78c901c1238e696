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

mod address;
mod borrowed;
mod codec;
mod declared;
mod distinct;
mod entries;
mod extra;
mod object;
mod parsed;
mod pretty;

pub(crate) use address::{AddressText, Printed, parse_address};
pub(crate) use borrowed::Borrowed;
pub use codec::check_nesting;
pub(crate) use codec::{
    Blank, Codec, Count, DnsIfAny, ListOf, OptAddress, OptIndex, OptRaw, OptText, OptUint, OptValue,
    Required, Switches, Text, TextIfAny, TextList, Uint64, Value, unknown_value,
};
pub(crate) use declared::declared_version;
pub(crate) use distinct::Distinct;
pub use entries::Entries;
pub(crate) use extra::Layout;
pub use extra::{ExtraKeys, RawJson};
pub(crate) use object::{InPlace, Key, KeySeed, ListInPlace, Object, Slot, bits, read_object, wire_object};
pub(crate) use parsed::parsed;

use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed};

use crate::error::DecodeError;

/// How deep a value may nest, unknown ones included: what every serde_json based reader takes by default.
pub const MAX_NESTING: usize = 127;

/// Decodes a document. An error has the path to the fault.
///
/// A type that refuses a text or number must do so in its visitor: only then does the parser know where that was.
pub(crate) fn decode<'de, T: Deserialize<'de>>(what: &str, json: &'de [u8]) -> Result<T, DecodeError> {
    decode_by(PhantomData, what, json)
}

/// The same by a seed, which may know more of what is to be read.
pub(crate) fn decode_by<'de, S: DeserializeSeed<'de>>(
    seed: S,
    what: &str,
    json: &'de [u8],
) -> Result<S::Value, DecodeError> {
    // As text, so that each string in it need not be checked to be some.
    let text =
        std::str::from_utf8(json).map_err(|error| DecodeError::not_utf8(what, json, error.valid_up_to()))?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    seed.deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| DecodeError::parsing(what, json, &error))
}

/// The text of a value as plugins print it: four spaces a level, no final newline.
pub(crate) fn to_pretty_json(value: &impl serde::Serialize) -> String {
    let mut text = Vec::with_capacity(1024);
    // Writing to memory cannot fail, and no type here has a map whose keys are no strings.
    let written =
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, pretty::Pretty::default()));
    debug_assert!(written.is_ok(), "a protocol object has a JSON form");
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
