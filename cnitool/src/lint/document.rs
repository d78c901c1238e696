//! A configuration file in which every key and value has its place.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A line of a file, and a place in it.
#[derive(Debug)]
pub(crate) struct Excerpt {
    pub(crate) line: String,
    /// How many characters stand before the place.
    pub(crate) before: usize,
}

impl Excerpt {
    /// The place at a line and a column, both from 1; 0 is unknown.
    pub(crate) fn of(text: &[u8], line: usize, column: usize) -> Option<Self> {
        let line = text.split(|byte| *byte == b'\n').nth(line.checked_sub(1)?)?;
        let before = line.get(..column.checked_sub(1)?)?;
        Some(Self {
            line: String::from_utf8_lossy(line).trim_end().replace('\t', " "),
            before: String::from_utf8_lossy(before).chars().count(),
        })
    }

    /// Makes another line of it; the place stays where it is in that one, or where the lines part.
    pub(crate) fn redact(&mut self, shown: impl Fn(&str) -> String) {
        let line = shown(&self.line);
        let before: String = self.line.chars().take(self.before).collect();
        let before = shown(&before);
        self.before = line.chars().zip(before.chars()).take_while(|(one, other)| one == other).count();
        self.line = line;
    }
}

/// A file that is JSON.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) file: PathBuf,
    text: String,
}

impl Document {
    /// The document, if the text is JSON.
    pub(crate) fn new(file: PathBuf, text: Vec<u8>) -> Option<Self> {
        let text = String::from_utf8(text).ok()?;
        let is_json = serde_json::from_str::<&RawValue>(&text).is_ok();
        is_json.then_some(Self { file, text })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The whole.
    pub(crate) fn root(&self) -> Node<'_> {
        let raw = serde_json::from_str::<&RawValue>(&self.text).map_or("null", RawValue::get);
        Node { at: offset(&self.text, raw), text: &self.text, raw }
    }

    /// Line and column, from 1, of a byte.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let before = self.bytes().get(..at).unwrap_or_default();
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        (before.iter().filter(|byte| **byte == b'\n').count() + 1, at - line_start + 1)
    }
}

/// Where a part of a text starts.
fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize).filter(|at| *at <= text.len()).unwrap_or(0)
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'d> {
    /// Its first byte in the document.
    pub(crate) at: usize,
    text: &'d str,
    /// Its own text.
    pub(crate) raw: &'d str,
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Entry<'d> {
    pub(crate) key: String,
    /// The first byte of the key in the document.
    pub(crate) at: usize,
    pub(crate) value: Node<'d>,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    List,
    Null,
    Number,
    Object,
    Text,
}

impl<'d> Node<'d> {
    pub(crate) fn kind(self) -> Kind {
        match self.raw.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::Text,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// The entries of an object in their order; none of anything else. Of a key that stands twice, the last.
    pub(crate) fn entries(self) -> Vec<Entry<'d>> {
        let Ok(Entries(raw)) = serde_json::from_str(self.raw) else { return Vec::new() };
        let mut entries: Vec<Entry<'d>> = Vec::with_capacity(raw.len());
        let mut index = HashMap::with_capacity(raw.len());
        let mut end = self.at + 1;
        for (key, value) in raw {
            let between = self.text.as_bytes().get(end..).unwrap_or_default();
            let at = end + between.iter().position(|byte| *byte == b'"').unwrap_or(0);
            let value = self.part(value.get());
            end = value.at + value.raw.len();
            let entry = Entry { key, at, value };
            match index.get(&entry.key).and_then(|at: &usize| entries.get_mut(*at)) {
                Some(known) => *known = entry,
                None => {
                    index.insert(entry.key.clone(), entries.len());
                    entries.push(entry);
                }
            }
        }
        entries
    }

    /// The value of a key in this spelling.
    pub(crate) fn find(self, key: &str) -> Option<Self> {
        self.entries().into_iter().find(|entry| entry.key == key).map(|entry| entry.value)
    }

    /// The elements of a list; none of anything else.
    pub(crate) fn elements(self) -> Vec<Self> {
        let elements = serde_json::from_str::<Vec<&RawValue>>(self.raw).unwrap_or_default();
        elements.into_iter().map(|element| self.part(element.get())).collect()
    }

    pub(crate) fn value(self) -> serde_json::Value {
        serde_json::from_str(self.raw).unwrap_or_default()
    }

    fn part(self, raw: &'d str) -> Self {
        Node { at: offset(self.text, raw), text: self.text, raw }
    }
}

/// Keys and values as they stand there.
struct Entries<'d>(Vec<(String, &'d RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::new("f".into(), text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn keys_and_values_have_their_places() {
        let document = document("{\n \"a\\\"{\": [1, {\"b\" : \"ü\"}],\n\t\"c\":null, \"a\\\"{\": 7}");
        let entries = document.root().entries();
        let seen: Vec<_> = entries
            .iter()
            .map(|entry| (entry.key.as_str(), document.place(entry.at), document.place(entry.value.at)))
            .collect();
        assert_eq!(seen, [("a\"{", (3, 12), (3, 20)), ("c", (3, 2), (3, 6))]);
        let list = document.root().elements();
        assert!(list.is_empty());
        assert_eq!(document.root().find("c").map(Node::kind), Some(Kind::Null));
    }

    #[test]
    fn the_elements_of_a_list_have_theirs() {
        let document = document(" [1, {\"b\" : \"ü\"},\n true]");
        let places: Vec<_> = document
            .root()
            .elements()
            .into_iter()
            .map(|node| (node.kind(), document.place(node.at)))
            .collect();
        assert_eq!(places, [(Kind::Number, (1, 3)), (Kind::Object, (1, 6)), (Kind::Boolean, (2, 2))]);
        let inner = document.root().elements()[1].find("b").unwrap();
        assert_eq!((inner.kind(), inner.value()), (Kind::Text, "ü".into()));
    }

    #[test]
    fn what_is_no_json_is_no_document() {
        for text in [&b"{"[..], b"", b"\xff", b"{} x"] {
            assert!(Document::new("f".into(), text.to_vec()).is_none(), "{text:?}");
        }
    }
}
