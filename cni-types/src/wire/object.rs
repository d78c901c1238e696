//! The macro that reads and writes an object, and the small pieces it needs.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Distinct, ExtraKeys, RawJson, unknown_value};

/// A key of an object as it was found.
pub(crate) enum Key {
    /// One of the table's, by its place there, and whether it was spelt exactly so.
    Known(usize, bool),
    /// Any other.
    Unknown(String),
}

/// Reads a key and looks it up in the table.
pub(crate) struct KeySeed(pub(crate) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, found: &str) -> Result<Key, E> {
        if let Some(at) = self.0.iter().position(|key| *key == found) {
            return Ok(Key::Known(at, true));
        }
        match self.0.iter().position(|key| key.eq_ignore_ascii_case(found)) {
            Some(at) => Ok(Key::Known(at, false)),
            None => Ok(Key::Unknown(found.to_owned())),
        }
    }
}

/// The value of one known key while an object is read: the last exact spelling wins, else the last of any.
pub(crate) struct Slot<T> {
    value: Option<T>,
    exact: bool,
}

impl<T> Slot<T> {
    pub(crate) const EMPTY: Self = Self { value: None, exact: false };

    pub(crate) fn set(&mut self, value: Option<T>, exact: bool) {
        if exact || !self.exact {
            self.value = value;
            self.exact = exact;
        }
    }

    pub(crate) fn take(self) -> Option<T> {
        self.value
    }
}

/// What [`wire_object!`] makes of its table for reading.
pub(crate) trait Object: Sized {
    /// The known keys; no more than a `u32` has bits.
    const KEYS: &'static [&'static str];
    /// The required ones among them, a bit each.
    const REQUIRED: u32;

    /// An object without keys.
    fn blank() -> Self;

    /// Reads the value of the key at this place of the table, and says whether there was one.
    fn read<'de, A: MapAccess<'de>>(&mut self, at: usize, map: &mut A) -> Result<bool, A::Error>;

    fn extra(&mut self) -> &mut ExtraKeys;
}

/// The places where there is `true`, a bit each.
pub(crate) const fn bits(of: &[bool]) -> u32 {
    assert!(of.len() <= 32, "a key is a bit");
    let (mut bits, mut at) = (0, 0);
    while at < of.len() {
        bits |= (of[at] as u32) << at;
        at += 1;
    }
    bits
}

/// Reads an object into a blank one: each value where it belongs, the unknown ones as text.
///
/// What is given back instead is moved, and again by each list and object around it.
pub(crate) struct InPlace<'p, T>(pub(crate) &'p mut T);

impl<'de, T: Object> DeserializeSeed<'de> for InPlace<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Object> Visitor<'de> for InPlace<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(object) = self;
        let mut keys = Keys { table: T::KEYS, exact: 0, present: 0, extra: Distinct::new() };
        while let Some((at, counts)) = keys.next_known(&mut map)? {
            if counts {
                let is_there = object.read(at, &mut map)?;
                keys.present = keys.present & !(1 << at) | u32::from(is_there) << at;
            } else {
                T::blank().read(at, &mut map)?;
            }
        }
        *object.extra() = keys.into_extra(T::REQUIRED)?;
        Ok(())
    }
}

/// Reads an object and gives it back.
pub(crate) fn read_object<'de, T: Object, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let mut object = T::blank();
    InPlace(&mut object).deserialize(deserializer)?;
    Ok(object)
}

/// Reads a list of objects, or `null`, into an empty one; says whether there was a list.
pub(crate) struct ListInPlace<'p, T>(pub(crate) &'p mut Vec<T>);

impl<'de, T: Object> DeserializeSeed<'de> for ListInPlace<'_, T> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: Object> Visitor<'de> for ListInPlace<'_, T> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_none<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    /// How serde reads `null` again that it has kept.
    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        self.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<bool, A::Error> {
        while elements.next_element_seed(Onto(self.0))?.is_some() {}
        Ok(true)
    }
}

/// Reads an object onto the end of a list.
struct Onto<'l, T>(&'l mut Vec<T>);

impl<'de, T: Object> DeserializeSeed<'de> for Onto<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.push(T::blank());
        self.0.last_mut().map_or(Ok(()), |last| InPlace(last).deserialize(deserializer))
    }
}

/// The keys of an object while it is read. What is here is the same for all types of objects, and so in a program once.
struct Keys {
    table: &'static [&'static str],
    /// The known keys that have come in their exact spelling, a bit each.
    exact: u32,
    /// Those that have a value.
    present: u32,
    extra: Distinct<RawJson>,
}

impl Keys {
    /// The place in the table of the next known key, and whether its value counts: it does not in another spelling after
    /// the exact one.
    #[inline(never)]
    fn next_known<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<Option<(usize, bool)>, A::Error> {
        while let Some(key) = map.next_key_seed(KeySeed(self.table))? {
            match key {
                Key::Known(at, is_exact) => {
                    let counts = is_exact || self.exact & (1 << at) == 0;
                    self.exact |= u32::from(is_exact) << at;
                    return Ok(Some((at, counts)));
                }
                Key::Unknown(key) => self.extra.set(key, unknown_value(map)?),
            }
        }
        Ok(None)
    }

    /// The unknown keys, unless one of these is missing.
    #[inline(never)]
    fn into_extra<E: Error>(self, required: u32) -> Result<ExtraKeys, E> {
        let missing = required & !self.present;
        match self.table.get(missing.trailing_zeros() as usize) {
            Some(key) => Err(E::missing_field(key)),
            None => Ok(self.extra.into()),
        }
    }
}

/// Makes `Deserialize` and `Serialize` for a struct from one table: `"key" => field: Codec`.
///
/// The struct has every field of the table and `extra: ExtraKeys`, and nothing else. With `decode only` in front there
/// is no `Serialize`.
macro_rules! wire_object {
    ($name:ident { $($key:literal => $field:ident: $codec:ty),* $(,)? }) => {
        $crate::wire::wire_object!(decode only $name { $($key => $field: $codec),* });

        impl $name {
            /// Writes the entries of the table that say something, then the unknown ones.
            pub(crate) fn serialize_entries<M: ::serde::ser::SerializeMap>(&self, map: &mut M) -> ::core::result::Result<(), M::Error> {
                $(if !<$codec as $crate::wire::Codec>::says_nothing(&self.$field) {
                    map.serialize_entry($key, &<$codec as $crate::wire::Codec>::printed(&self.$field))?;
                })*
                for (key, value) in self.extra.iter() {
                    map.serialize_entry(key, value)?;
                }
                Ok(())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                self.serialize_entries(&mut map)?;
                map.end()
            }
        }
    };
    (decode only $name:ident { $($key:literal => $field:ident: $codec:ty),* $(,)? }) => {
        impl $crate::wire::Object for $name {
            const KEYS: &'static [&'static str] = &[$($key),*];
            const REQUIRED: u32 = $crate::wire::bits(&[$(<$codec as $crate::wire::Codec>::IS_REQUIRED),*]);

            fn blank() -> Self {
                Self {
                    $($field: <$codec as $crate::wire::Codec>::absent(),)*
                    extra: ::core::default::Default::default(),
                }
            }

            fn read<'de, A: ::serde::de::MapAccess<'de>>(&mut self, at: usize, map: &mut A) -> ::core::result::Result<bool, A::Error> {
                #[allow(non_camel_case_types, dead_code, reason = "named as the fields are, of which there may be none")]
                enum At { $($field),* }
                match at {
                    $(at if at == At::$field as usize => <$codec as $crate::wire::Codec>::read(&mut self.$field, map),)*
                    // None: the table has every known key.
                    _ => map.next_value::<::serde::de::IgnoredAny>().map(|_| false),
                }
            }

            fn extra(&mut self) -> &mut $crate::wire::ExtraKeys {
                &mut self.extra
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                $crate::wire::read_object(deserializer)
            }
        }
    };
}

pub(crate) use wire_object;
