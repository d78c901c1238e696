//! The macro that reads and writes an object, and the small pieces it needs.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Visitor};

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
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                struct ObjectVisitor;

                impl<'de> ::serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: ::serde::de::MapAccess<'de>>(self, mut map: A) -> ::core::result::Result<$name, A::Error> {
                        const KEYS: &[&str] = &[$($key),*];
                        #[allow(non_camel_case_types, dead_code, reason = "named as the fields are, of which there may be none")]
                        enum At { $($field),* }
                        $(let mut $field = $crate::wire::Slot::EMPTY;)*
                        let mut extra = $crate::wire::Distinct::<$crate::wire::RawJson>::new();
                        while let Some(key) = map.next_key_seed($crate::wire::KeySeed(KEYS))? {
                            match key {
                                $($crate::wire::Key::Known(at, exact) if at == At::$field as usize => {
                                    $field.set(<$codec as $crate::wire::Codec>::decode(&mut map)?, exact);
                                })*
                                // None: the table has every known key.
                                $crate::wire::Key::Known(..) => {
                                    map.next_value::<::serde::de::IgnoredAny>()?;
                                }
                                $crate::wire::Key::Unknown(key) => {
                                    extra.set(key, $crate::wire::unknown_value(&mut map)?);
                                }
                            }
                        }
                        Ok($name {
                            $($field: match $field.take() {
                                Some(value) => value,
                                None => <$codec as $crate::wire::Codec>::absent($key)?,
                            },)*
                            extra: extra.into(),
                        })
                    }
                }

                deserializer.deserialize_map(ObjectVisitor)
            }
        }
    };
}

pub(crate) use wire_object;
