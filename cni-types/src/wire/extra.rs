//! Values kept as the text they came in.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::Distinct;

/// A JSON value kept as text: numbers keep their digits, objects their order.
///
/// ```
/// use cni_types::RawJson;
/// let raw = RawJson::new(&serde_json::json!({"a": [1, 2]}))?;
/// assert_eq!(raw.as_str(), r#"{"a":[1,2]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// The value as JSON text.
    ///
    /// # Errors
    ///
    /// When the value has no JSON form, such as a map whose keys are no strings.
    pub fn new(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Takes over text that is JSON.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Decodes the value.
    ///
    /// # Errors
    ///
    /// When it is not what was expected.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Keys of an object that this crate does not know, in the order they came, with their values as text.
///
/// Also any object whose keys are all of that kind: it reads and prints itself as one.
///
/// In a result they survive decoding and encoding within one layout. When a result is converted to another layout they are set
/// aside, since that layout may give the same key another meaning, and come back when the result returns to theirs.
///
/// ```
/// use cni_types::ExtraKeys;
/// let mut extra = ExtraKeys::default();
/// extra.insert("example.com/id", &12345678901234567890_u64)?;
/// assert_eq!(extra.find("example.com/id").unwrap().as_str(), "12345678901234567890");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ExtraKeys(
    // Most objects have none, and a request may have a hundred thousand of them: no more than a pointer each. Never empty.
    Option<Box<Keys>>,
);

#[derive(Clone, Default, PartialEq, Eq)]
struct Keys {
    entries: Vec<(String, RawJson)>,
    /// What belongs to another layout, and waits for it to come back.
    aside: Option<(Layout, Vec<(String, RawJson)>)>,
}

/// The shapes that results have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `ip4` and `ip6`: 0.1.0 and 0.2.0.
    V020,
    /// `ips` with `version`: 0.3.0 to 0.4.0.
    V040,
    /// 1.0.0 and later.
    V100,
}

impl ExtraKeys {
    fn new(entries: Vec<(String, RawJson)>, aside: Option<(Layout, Vec<(String, RawJson)>)>) -> Self {
        let any = !entries.is_empty() || aside.is_some();
        Self(any.then(|| Box::new(Keys { entries, aside })))
    }

    fn entries(&self) -> &[(String, RawJson)] {
        self.0.as_ref().map_or(&[], |keys| &keys.entries)
    }

    /// The value of a key, spelt exactly so.
    pub fn find(&self, key: &str) -> Option<&RawJson> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.entries().iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets a key, in its old place if it was there.
    ///
    /// # Errors
    ///
    /// When the value has no JSON form.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        value: &impl Serialize,
    ) -> Result<(), serde_json::Error> {
        self.insert_raw(key.into(), RawJson::new(value)?);
        Ok(())
    }

    /// Sets a key to JSON text, in its old place if it was there.
    pub fn insert_raw(&mut self, key: String, value: RawJson) {
        let entries = &mut self.0.get_or_insert_default().entries;
        match entries.iter_mut().find(|(name, _)| *name == key) {
            Some(entry) => entry.1 = value,
            None => entries.push((key, value)),
        }
    }

    /// Removes a key and gives its value back.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        let at = self.entries().iter().position(|(name, _)| name == key)?;
        let Keys { mut entries, aside } = *self.0.take()?;
        let (_, value) = entries.remove(at);
        *self = Self::new(entries, aside);
        Some(value)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Sets the keys of one layout aside and brings back those of the other.
    pub(crate) fn moved(self, from: Layout, to: Layout) -> Self {
        let Some(keys) = self.0 else { return self };
        let (back, aside) = match keys.aside {
            Some((layout, entries)) if layout == to => (entries, None),
            aside => (Vec::new(), aside),
        };
        Self::new(back, if keys.entries.is_empty() { aside } else { Some((from, keys.entries)) })
    }
}

impl From<Distinct<RawJson>> for ExtraKeys {
    fn from(keys: Distinct<RawJson>) -> Self {
        Self::new(keys.into_entries(), None)
    }
}

impl Extend<(String, RawJson)> for ExtraKeys {
    /// Sets each key, as [`ExtraKeys::insert_raw`] does; quicker where they are many.
    fn extend<I: IntoIterator<Item = (String, RawJson)>>(&mut self, keys: I) {
        let Keys { entries, aside } = self.0.take().map(|keys| *keys).unwrap_or_default();
        let mut distinct = Distinct::of(entries);
        for (key, value) in keys {
            distinct.set(key, value);
        }
        *self = Self::new(distinct.into_entries(), aside);
    }
}

impl FromIterator<(String, RawJson)> for ExtraKeys {
    fn from_iter<I: IntoIterator<Item = (String, RawJson)>>(keys: I) -> Self {
        let mut all = Self::default();
        all.extend(keys);
        all
    }
}

impl Serialize for ExtraKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for ExtraKeys {
    /// Reads a whole object: every key is unknown.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;

        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = ExtraKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ExtraKeys, A::Error> {
                let mut keys = Distinct::new();
                while let Some(key) = map.next_key()? {
                    keys.set(key, super::unknown_value(&mut map)?);
                }
                Ok(keys.into())
            }
        }

        deserializer.deserialize_map(ObjectVisitor)
    }
}

impl fmt::Debug for ExtraKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries().iter().map(|(key, value)| (key, value.as_str()))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtraKeys, Layout};

    #[test]
    fn no_keys_are_the_same_however_they_came_about() {
        let none = ExtraKeys::default();
        let read: ExtraKeys = serde_json::from_str("{}").unwrap();
        let mut emptied: ExtraKeys = serde_json::from_str(r#"{"a":1,"b":2}"#).unwrap();
        assert_eq!(emptied.remove("b").unwrap().as_str(), "2");
        assert_eq!(emptied.remove("c"), None);
        assert_eq!(emptied.len(), 1);
        assert_eq!(emptied.remove("a").unwrap().as_str(), "1");
        let mut extended = none.clone();
        extended.extend([]);
        let moved = none.clone().moved(Layout::V040, Layout::V100);
        for keys in [read, emptied, extended, moved] {
            assert!(keys == none && keys.is_empty());
        }
    }
}
