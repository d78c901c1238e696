//! Decoding the author's own configuration type from a request.
//!
//! The type sees the keys of the request by its own spelling, on every level: a key that differs from a field in letter
//! case alone is taken for it, as Go's plugins do; of duplicates the last wins; and the keys of the protocol are not
//! "unknown" to a type that denies unknown fields.

mod folded;

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use self::folded::{Meaning, Spelt};
use crate::types::__private::{Entries, check_nesting};
use crate::types::config::{VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD};
use crate::types::{DecodeError, ErrorCode, ErrorObject};

/// What this is, in messages.
const WHAT: &str = "network configuration";

/// The keys that the protocol owns, and those of the log.
const PROTOCOL_KEYS: &[&str] = &[
    "args",
    "capabilities",
    "cniVersion",
    "dns",
    "ipam",
    "ipMasq",
    #[cfg(feature = "tracing")]
    crate::trace::log::LOG_FILE,
    #[cfg(feature = "tracing")]
    crate::trace::log::LOG_LEVEL,
    "name",
    "prevResult",
    "runtimeConfig",
    "type",
    VALID_ATTACHMENTS,
    VALID_ATTACHMENTS_OLD,
];

/// Those of them that list attachments.
const LISTS: [&str; 2] = [VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD];

/// Decodes the author's type from the bytes of a request, which are a JSON object.
///
/// # Errors
///
/// Code 7 with the path to the key, the value and what was expected; code 2 for a key that is unknown, when that is an
/// error.
pub(crate) fn decode<T: DeserializeOwned>(json: &[u8], deny_unknown_keys: bool) -> Result<T, ErrorObject> {
    let mut unknown = None;
    let request = Request { json, deny_unknown_keys, unknown: &mut unknown };
    let decoded = serde_path_to_error::deserialize(request);
    if let Some((key, value)) = unknown {
        let msg = format!("unsupported field {key:?} in network configuration");
        return Err(
            ErrorObject::new(ErrorCode::UNSUPPORTED_FIELD, msg).with_details(format!("{key} is {value}"))
        );
    }
    decoded.map_err(|error| {
        let path = error.path().to_string();
        let mut message = error.inner().to_string();
        // The position is within the value of the key, not within the request: the path says more.
        if error.inner().line() > 0
            && let Some(at) = message.rfind(" at line ")
        {
            message.truncate(at);
        }
        let path = if path == "." { "" } else { path.as_str() };
        let error = DecodeError::data(WHAT, path, message);
        ErrorObject::new(ErrorCode::INVALID_NETWORK_CONFIG, error.to_string())
    })
}

/// The request as a deserializer. Only a type that asks for keys makes it parse anything.
struct Request<'r> {
    json: &'r [u8],
    deny_unknown_keys: bool,
    unknown: &'r mut Option<(String, String)>,
}

impl<'de> Request<'de> {
    fn visit<V: Visitor<'de>>(
        self,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        // As text, as everything is read: to read bytes as well takes the parser a second time.
        let json = str::from_utf8(self.json).map_err(serde_json::Error::custom)?;
        let Entries(keys) = serde_json::from_str(json)?;
        let mut spelt = Spelt::default();
        for (key, value) in &keys {
            let protocol = PROTOCOL_KEYS.iter().any(|known| known.eq_ignore_ascii_case(key));
            let meaning = fields.map(|fields| Meaning::of(key, fields));
            // GC's lists are long, and nobody reads them here.
            let is_list = LISTS.iter().any(|list| list.eq_ignore_ascii_case(key));
            if !(is_list && matches!(meaning, Some(Meaning::Unknown))) {
                check_nesting::<serde_json::Error>(value.get())?;
            }
            match meaning {
                Some(Meaning::Unknown) if protocol => {}
                Some(Meaning::Unknown) if self.deny_unknown_keys => {
                    *self.unknown = Some((key.clone(), value.to_string()));
                    return Err(serde_json::Error::custom("unknown key"));
                }
                Some(Meaning::Field { name, exact }) => spelt.set(name, exact, value),
                Some(Meaning::Unknown) | None => spelt.add(key, value),
            }
        }
        visitor.visit_map(spelt.into_access())
    }
}

impl<'de> Deserializer<'de> for Request<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.visit(None, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.visit(Some(fields), visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq tuple tuple_struct map
        enum identifier ignored_any
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        bridge: String,
        is_gateway: Option<bool>,
    }

    fn read(json: &str) -> Result<Sample, ErrorObject> {
        decode(json.as_bytes(), true)
    }

    #[test]
    fn keys_are_found_in_any_letter_case_and_the_exact_one_wins() {
        let json =
            r#"{"cniVersion":"1.0.0","name":"n","type":"t","BRIDGE":"b","isgateway":true,"isGateway":false}"#;
        assert_eq!(read(json), Ok(Sample { bridge: "b".to_owned(), is_gateway: Some(false) }));
    }

    #[test]
    fn keys_are_found_in_any_letter_case_below_the_first_level_too() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Outer {
            ipam: Option<Sample>,
        }
        let json = r#"{"name":"n","IPAM":{"Bridge":"b","isgateway":null,"type":"t"}}"#;
        let ipam = Some(Sample { bridge: "b".to_owned(), is_gateway: None });
        assert_eq!(decode::<Outer>(json.as_bytes(), false), Ok(Outer { ipam }));
        let error = decode::<Outer>(br#"{"ipam":{"Bridge":"b","ISGATEWAY":1}}"#, false).unwrap_err();
        insta::assert_snapshot!(error, @"cannot decode network configuration: ipam.isGateway: invalid type: integer `1`, expected a boolean (code 7)");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_value() {
        let error = read(r#"{"bridge":"b","mtuu":1500}"#).unwrap_err();
        assert_eq!(error.code(), ErrorCode::UNSUPPORTED_FIELD);
        insta::assert_snapshot!(error, @r#"unsupported field "mtuu" in network configuration: mtuu is 1500 (code 2)"#);
    }

    #[test]
    fn a_wrong_value_is_told_with_path_value_and_expectation() {
        let error = read(r#"{"bridge":"b","isGateway":"maybe"}"#).unwrap_err();
        insta::assert_snapshot!(error, @r#"cannot decode network configuration: isGateway: invalid type: string "maybe", expected a boolean (code 7)"#);
        let error = read(r#"{"bridge":"b","isGateway":"not at line 7"}"#).unwrap_err();
        insta::assert_snapshot!(error, @r#"cannot decode network configuration: isGateway: invalid type: string "not at line 7", expected a boolean (code 7)"#);
        let error = read("{}").unwrap_err();
        insta::assert_snapshot!(error, @"cannot decode network configuration: missing field `bridge` (code 7)");
    }

    #[test]
    fn a_type_without_keys_parses_nothing() {
        assert_eq!(decode::<()>(b"not even JSON", false), Ok(()));
    }
}
