//! Values of the configuration, on every level below the first: the keys of an object are found in any letter case, for
//! every struct that the author's type is made of.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

use crate::types::__private::Entries;

/// By this name, and no other way, serde_json is asked for a value's text.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// What an object's key means to a type with these fields: the field that is spelt so, or else the one that differs in
/// letter case alone.
pub(super) enum Meaning {
    /// A field, and whether it is spelt exactly so.
    Field { name: &'static str, exact: bool },
    /// No field.
    Unknown,
}

impl Meaning {
    pub(super) fn of(key: &str, fields: &[&'static str]) -> Self {
        let exact = fields.iter().find(|field| **field == key);
        match exact.or_else(|| fields.iter().find(|field| field.eq_ignore_ascii_case(key))) {
            Some(name) => Self::Field { name, exact: exact.is_some() },
            None => Self::Unknown,
        }
    }
}

/// Keys by the type's spelling, with their values; of spellings of a field, the exact one wherever it stands, or else the
/// last.
#[derive(Default)]
pub(super) struct Spelt<'k, 'de> {
    entries: Vec<(&'k str, &'de RawValue)>,
    /// The type's fields among them: no more than the type has, however many keys there are.
    fields: Vec<Known>,
}

/// A field that has come.
struct Known {
    name: &'static str,
    /// Where its entry stands.
    at: usize,
    /// Whether it came in its exact spelling.
    exact: bool,
}

impl<'k, 'de> Spelt<'k, 'de> {
    /// Sets a field of the type, which may have come in another spelling already.
    pub(super) fn set(&mut self, name: &'static str, exact: bool, value: &'de RawValue) {
        let Some(known) = self.fields.iter_mut().find(|known| known.name == name) else {
            self.fields.push(Known { name, at: self.entries.len(), exact });
            return self.add(name, value);
        };
        if known.exact && !exact {
            return;
        }
        known.exact = exact;
        if let Some(entry) = self.entries.get_mut(known.at) {
            entry.1 = value;
        }
    }

    /// Adds a key that is no field's, which an object has once.
    pub(super) fn add(&mut self, key: &'k str, value: &'de RawValue) {
        self.entries.push((key, value));
    }

    pub(super) fn into_access(self) -> EntryAccess<'k, 'de> {
        EntryAccess { left: self.entries.into_iter(), value: None }
    }
}

/// The entries of an object, each value parsed when it is asked for.
pub(super) struct EntryAccess<'k, 'de> {
    left: std::vec::IntoIter<(&'k str, &'de RawValue)>,
    value: Option<&'de RawValue>,
}

impl<'de> MapAccess<'de> for EntryAccess<'_, 'de> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Self::Error> {
        let value = self.value.take().ok_or_else(|| Self::Error::custom("a value without a key"))?;
        seed.deserialize(Folded(value))
    }
}

/// The elements of a list.
struct Elements<'de>(std::vec::IntoIter<&'de RawValue>);

impl<'de> SeqAccess<'de> for &mut Elements<'de> {
    type Error = serde_json::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Self::Error> {
        self.0.next().map(|value| seed.deserialize(Folded(value))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A value as a deserializer.
struct Folded<'de>(&'de RawValue);

/// The deserializer of what has no keys to fold.
macro_rules! plain {
    ($value:expr) => {
        &mut serde_json::Deserializer::from_str($value.0.get())
    };
}

impl Folded<'_> {
    fn starts_with(&self, first: char) -> bool {
        self.0.get().starts_with(first)
    }
}

impl<'de> Deserializer<'de> for Folded<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if !self.starts_with('{') {
            return plain!(self).deserialize_struct(name, fields, visitor);
        }
        let Entries(keys) = serde_json::from_str(self.0.get())?;
        let mut spelt = Spelt::default();
        for (key, value) in &keys {
            match Meaning::of(key, fields) {
                Meaning::Field { name, exact } => spelt.set(name, exact, value),
                Meaning::Unknown => spelt.add(key, value),
            }
        }
        visitor.visit_map(spelt.into_access())
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if !self.starts_with('{') {
            return plain!(self).deserialize_map(visitor);
        }
        let Entries(keys) = serde_json::from_str(self.0.get())?;
        let mut spelt = Spelt::default();
        for (key, value) in &keys {
            spelt.add(key, value);
        }
        visitor.visit_map(spelt.into_access())
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if !self.starts_with('[') {
            return plain!(self).deserialize_seq(visitor);
        }
        let elements: Vec<&RawValue> = serde_json::from_str(self.0.get())?;
        let length = elements.len();
        let mut elements = Elements(elements.into_iter());
        let value = visitor.visit_seq(&mut elements)?;
        match elements.0.len() {
            0 => Ok(value),
            left => Err(Self::Error::invalid_length(length, &format!("{} elements", length - left).as_str())),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Self::Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.get() == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if name == RAW_VALUE {
            return plain!(self).deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_enum(name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_byte_buf(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_i128(visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_u128(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_f32(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        plain!(self).deserialize_unit_struct(name, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_unit()
    }

    // What serde_json reads the same way, asked or not.
    forward_to_deserialize_any! { bool i8 i16 i32 i64 u8 u16 u32 u64 f64 char str string unit identifier }
}

impl fmt::Debug for Folded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folded").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::types::RawJson;

    fn read<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
        T::deserialize(Folded(serde_json::from_str(json).unwrap()))
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Trunk {
        #[serde(default)]
        min_id: Option<u16>,
        #[serde(default)]
        nested: Vec<Trunk>,
    }

    #[test]
    fn keys_are_found_in_any_letter_case_on_every_level() {
        let trunk: Trunk =
            read(r#"{"MINID":1,"Nested":[{"minid":2},{"minId":3,"MinID":4,"x":[5]},{"minid":null}]}"#)
                .unwrap();
        let leaf = |min_id| Trunk { min_id, nested: Vec::new() };
        assert_eq!(trunk, Trunk { min_id: Some(1), nested: vec![leaf(Some(2)), leaf(Some(3)), leaf(None)] });
        let by_key: BTreeMap<String, Option<Trunk>> = read(r#"{"Kept":{"MINID":1},"NULL":null}"#).unwrap();
        assert_eq!(
            by_key,
            BTreeMap::from([("Kept".to_owned(), Some(leaf(Some(1)))), ("NULL".to_owned(), None)])
        );
        let pair: (Trunk, u8) = read(r#"[{"MINID":1},2]"#).unwrap();
        assert_eq!(pair, (leaf(Some(1)), 2));
    }

    #[test]
    fn the_exact_spelling_wins_wherever_it_stands_and_else_the_last() {
        for (json, expected) in [
            (r#"{"minId":1,"MINID":2,"minid":3}"#, 1),
            (r#"{"MINID":2,"minId":1,"minid":3}"#, 1),
            (r#"{"MINID":2,"minid":3,"minId":1}"#, 1),
            (r#"{"MINID":2,"minid":3}"#, 3),
        ] {
            assert_eq!(read::<Trunk>(json).unwrap().min_id, Some(expected), "{json}");
        }
    }

    #[test]
    fn a_great_many_spellings_of_a_field_are_read_in_one_pass() {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Vlan {
            preserve_default_vlan: usize,
        }
        const FIELD: &str = "preserveDefaultVlan";
        let spelling = |number: usize| -> String {
            let upper = |at: usize| number >> at & 1 == 1;
            let letters = FIELD.char_indices();
            letters
                .map(
                    |(at, letter)| {
                        if upper(at) { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
                    },
                )
                .collect()
        };
        // Comparing each with each, this would not end.
        let all = (0..1 << 18).rev().map(spelling).enumerate();
        let keys: Vec<_> = all.map(|(number, key)| format!("{key:?}:{number}")).collect();
        let exact = keys.iter().position(|key| key.contains(FIELD)).unwrap();
        let vlan: Vlan = read(&format!("{{{}}}", keys.join(","))).unwrap();
        assert_eq!(vlan.preserve_default_vlan, exact);
    }

    #[test]
    fn everything_else_is_read_as_ever() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Wrapped(Trunk);
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Mode {
            Bridge,
            Vepa { strict: bool },
        }
        #[derive(Debug, PartialEq, Deserialize)]
        struct Unit;
        assert_eq!(read::<Wrapped>(r#"{"minid":1}"#).unwrap().0.min_id, Some(1));
        assert_eq!(
            read::<Vec<Mode>>(r#"["bridge",{"vepa":{"strict":true}}]"#).unwrap(),
            [Mode::Bridge, Mode::Vepa { strict: true }]
        );
        assert_eq!(read::<RawJson>("[1.50,  2]").unwrap().as_str(), "[1.50,  2]");
        assert_eq!(
            read::<Option<RawJson>>("12345678901234567890123").unwrap().unwrap().as_str(),
            "12345678901234567890123"
        );
        assert_eq!(
            read::<serde_json::Value>(r#"{"A":[1,{"b":null}]}"#).unwrap(),
            serde_json::json!({"A": [1, {"b": null}]})
        );
        assert_eq!(
            read::<(u128, i128, f32, f64, char, bool)>(r#"[18446744073709551616,-1,0.5,1e3,"x",true]"#)
                .unwrap(),
            (1 << 64, -1, 0.5, 1e3, 'x', true)
        );
        assert_eq!(read::<Unit>("null").unwrap(), Unit);
        assert_eq!(read::<Option<()>>("null").unwrap(), None);
    }

    #[test]
    fn what_has_the_wrong_type_is_told_as_serde_json_does() {
        for (json, expected) in [
            (r#""text""#, r#"invalid type: string "text", expected struct Trunk"#),
            (r#"{"minid":"x"}"#, r#"invalid type: string "x", expected u16"#),
            (r#"{"nested":{}}"#, "invalid type: map, expected a sequence"),
            (r#"{"minid":70000}"#, "invalid value: integer `70000`, expected u16"),
        ] {
            let error = read::<Trunk>(json).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{json}: {error}");
        }
        let error = read::<(u8, u8)>("[1,2,3]").unwrap_err().to_string();
        assert_eq!(error, "invalid length 3, expected 2 elements");
    }
}
