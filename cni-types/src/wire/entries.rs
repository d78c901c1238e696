//! An object as it stands in its document.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Distinct;

/// The keys of an object and their values as slices of the document, whose places in it can so be told.
#[derive(Debug)]
pub struct Entries<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Distinct::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    entries.set(key, value);
                }
                Ok(Entries(entries.into_entries()))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}
