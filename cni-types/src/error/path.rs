//! Key paths and the places in a document that they lead to: only asked when something is wrong there.

use crate::wire::MAX_NESTING;

/// What encloses a place.
struct Level<'d> {
    /// The start of the wanted path that leads to it.
    reached: Option<Reached>,
    step: Step<'d>,
}

/// The last step to a place, from what encloses it.
enum Step<'d> {
    /// By the key, with quotes and escapes, whose value is being read or was read last.
    Key(Option<&'d [u8]>),
    /// By the index in a list.
    Index(usize),
}

/// How far along the wanted path a place is.
#[derive(Clone, Copy)]
struct Reached {
    bytes: usize,
    /// Whether all keys so far are spelt as in the path.
    exactly: bool,
}

/// A walk through a document. It has been read as JSON before, or as far as it goes, so that is not checked again.
struct Walk<'d, 'p> {
    document: &'d [u8],
    at: usize,
    /// No more than a reader of the document would take: what is skipped or kept as text may nest as deep as it is long.
    levels: Vec<Level<'d>>,
    /// How many lists and objects are open below those.
    deeper: usize,
    /// Whether what comes next is a value.
    before_value: bool,
    wanted: &'p str,
    /// How far along the wanted path the value is that was begun last.
    reached: Option<Reached>,
}

impl<'d, 'p> Walk<'d, 'p> {
    fn through(document: &'d [u8], wanted: &'p str) -> Self {
        Self { document, at: 0, levels: Vec::new(), deeper: 0, before_value: true, wanted, reached: None }
    }

    /// Goes to where the next value begins, and then, by the next call, past its beginning; `None` at the end.
    fn next_value(&mut self) -> Option<usize> {
        while let Some(byte) = self.document.get(self.at) {
            if self.before_value && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b']') {
                self.before_value = false;
                self.reached = self.value_reached();
                return Some(self.at);
            }
            self.step(*byte);
        }
        None
    }

    /// How far along the wanted path the value is that begins here. Each level has done its part when it began.
    fn value_reached(&self) -> Option<Reached> {
        let Some(level) = self.levels.last() else { return Some(Reached { bytes: 0, exactly: true }) };
        let Reached { bytes, exactly } = level.reached?;
        let step = level.step.written(bytes == 0);
        let found = self.wanted.get(bytes..)?.get(..step.len())?;
        let is_step = found.eq_ignore_ascii_case(&step);
        is_step.then(|| Reached { bytes: bytes + step.len(), exactly: exactly && found == step })
    }

    fn enter(&mut self, step: Step<'d>) {
        self.levels.push(Level { reached: self.reached, step });
    }

    fn step(&mut self, byte: u8) {
        let begin = self.at;
        self.at += 1;
        match byte {
            b'{' | b'[' if self.levels.len() == MAX_NESTING => self.deeper += 1,
            b'}' | b']' if self.deeper > 0 => self.deeper -= 1,
            b':' | b',' if self.deeper > 0 => {}
            b'{' => self.enter(Step::Key(None)),
            b'[' => {
                self.enter(Step::Index(0));
                self.before_value = true;
            }
            b'}' | b']' => {
                self.levels.pop();
                self.before_value = false;
            }
            b':' => self.before_value = true,
            b',' => match self.levels.last_mut().map(|level| &mut level.step) {
                Some(Step::Index(index)) => {
                    *index += 1;
                    self.before_value = true;
                }
                Some(Step::Key(key)) => *key = None,
                None => {}
            },
            b'"' => {
                let length = string_length(&self.document[begin..]);
                self.at = length.map_or(self.document.len(), |length| begin + length);
                if self.deeper == 0
                    && let Some(Level { step: Step::Key(key @ None), .. }) = self.levels.last_mut()
                    && length.is_some()
                {
                    *key = Some(&self.document[begin..self.at]);
                }
            }
            _ => {}
        }
    }
}

impl Step<'_> {
    /// The step as a path has it.
    fn written(&self, first: bool) -> String {
        match self {
            Self::Index(index) => format!("[{index}]"),
            Self::Key(None) => String::new(),
            Self::Key(Some(key)) => {
                let mut key: String = str::from_utf8(key)
                    .ok()
                    .and_then(|key| serde_json::from_str(key).ok())
                    .unwrap_or_default();
                if !first {
                    key.insert(0, '.');
                }
                key
            }
        }
    }
}

/// The bytes of the string that stands at the start, quotes included; `None` if it does not end.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let ends = !escaped && *byte == b'"';
        escaped = !escaped && *byte == b'\\';
        ends
    })?;
    Some(end + 2)
}

/// The path, such as `ips[0].address`, to the value that ends or begins at `offset`, or that it lies in; empty for the
/// document as a whole.
pub(super) fn path_at(document: &[u8], offset: usize) -> String {
    let mut walk = Walk::through(document.get(..offset).unwrap_or(document), "");
    while walk.next_value().is_some() {}
    let mut path = String::new();
    for level in &walk.levels {
        path.push_str(&level.step.written(path.is_empty()));
    }
    path
}

/// Where the value begins that a path leads to.
///
/// Keys are found as the protocol finds them: exactly, or else in another letter case; of duplicates the last.
pub(super) fn start_of(document: &[u8], path: &str) -> Option<usize> {
    let mut walk = Walk::through(document, path);
    let (mut exact, mut folded) = (None, None);
    while let Some(start) = walk.next_value() {
        match walk.reached {
            Some(Reached { bytes, exactly }) if bytes == path.len() => {
                *if exactly { &mut exact } else { &mut folded } = Some(start);
            }
            _ => {}
        }
    }
    exact.or(folded)
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::{MAX_NESTING, path_at, start_of};
    use crate::error::decode::offset_of;
    use crate::wire::Entries;

    #[test]
    fn a_place_is_told_by_the_keys_and_indexes_that_lead_there() {
        let document = br#"{"a": [2, {"b\"\n": [3, {}], "c": "x]}"}], "d": {"e": nu"#;
        for (place, expected) in [
            ("", ""),
            (r#"{"#, ""),
            (r#"{"a"#, ""),
            (r#"{"a": "#, "a"),
            (r#"{"a": [2"#, "a[0]"),
            (r#"{"a": [2, "#, "a[1]"),
            (r#"{"a": [2, {"b\"\n": [3"#, "a[1].b\"\n[0]"),
            (r#"{"a": [2, {"b\"\n": [3, {}"#, "a[1].b\"\n[1]"),
            (r#"{"a": [2, {"b\"\n": [3, {}]"#, "a[1].b\"\n"),
            (r#"{"a": [2, {"b\"\n": [3, {}], "#, "a[1]"),
            (r#"{"a": [2, {"b\"\n": [3, {}], "c": "x]}"#, "a[1].c"),
            (r#"{"a": [2, {"b\"\n": [3, {}], "c": "x]}"}"#, "a[1]"),
            (r#"{"a": [2, {"b\"\n": [3, {}], "c": "x]}"}]"#, "a"),
            (r#"{"a": [2, {"b\"\n": [3, {}], "c": "x]}"}], "d": {"e": nu"#, "d.e"),
        ] {
            assert!(document.starts_with(place.as_bytes()), "{place}");
            assert_eq!(path_at(document, place.len()), expected, "{place}");
        }
        assert_eq!(path_at(document, document.len() + 9), "d.e");
    }

    #[test]
    fn a_path_is_no_longer_than_a_document_may_nest() {
        let open = format!(r#"{{"a": {}"#, "[".repeat(1_000_000));
        let path = path_at(open.as_bytes(), open.len());
        assert_eq!(path, format!("a{}", "[0]".repeat(MAX_NESTING - 1)));
        let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(300), "]".repeat(300));
        for inner in ["", r#"{"b": [1, 2, {"x": "y"}], "c": ","}"#, "[], [1, 2], {}"] {
            let document = format!(r#"{{"a": {}, "b": 7}}"#, nested(inner));
            assert_eq!(start_of(document.as_bytes(), "b"), Some(document.len() - 2), "{document}");
            assert_eq!(path_at(document.as_bytes(), document.len() - 1), "b", "{document}");
        }
    }

    #[test]
    fn a_path_leads_to_its_value() {
        let document =
            br#"{"A": 1, "a": [2, {"b.c": [3], "b": 4}], "IPAM": {"x": 5}, "x": {"Y": 6, "y": 7, "Y": 8}, "X": { }}"#;
        for (path, expected) in [
            ("", Some("{")),
            ("a", Some("[2, ")),
            ("a[0]", Some("2, ")),
            ("a[1]", Some(r#"{"b.c""#)),
            ("a[1].b.c[0]", Some("3]")),
            ("a[1].b", Some("4}")),
            ("ipam.x", Some("5}")),
            ("x.y", Some("7, ")),
            ("x", Some(r#"{"Y""#)),
            ("X", Some("{ }")),
            ("a[7]", None),
            ("a[x]", None),
            ("a[1", None),
            ("a.b", None),
            ("b", None),
            ("a[0].b", None),
            ("..", None),
        ] {
            let found = start_of(document, path).map(|start| &document[start..]);
            assert_eq!(found.is_some(), expected.is_some(), "{path}");
            assert!(found.unwrap_or_default().starts_with(expected.unwrap_or_default().as_bytes()), "{path}");
        }
        assert_eq!(start_of(b"no JSON", "a"), None);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<i8>().prop_map(Value::from), ".*".prop_map(Value::from)];
        leaf.prop_recursive(5, 32, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                btree_map("[a-zé\"\n]{1,3}", inner, 0..4).prop_map(|object| object.into_iter().collect()),
            ]
        })
    }

    /// Every value of a document.
    fn values<'d>(value: &'d RawValue, all: &mut Vec<&'d RawValue>) {
        all.push(value);
        if let Ok(Entries(entries)) = serde_json::from_str(value.get()) {
            entries.iter().for_each(|(_, value)| values(value, all));
        } else if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            elements.iter().for_each(|value| values(value, all));
        }
    }

    proptest! {
        #[test]
        fn the_path_to_where_a_value_ends_or_a_list_or_object_begins_leads_back_to_it(document in value(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
            let document = text.unwrap().into_bytes();
            let mut all = Vec::new();
            values(serde_json::from_slice(&document).unwrap(), &mut all);
            for value in all {
                let value = value.get().as_bytes();
                let start = offset_of(&document, value).unwrap();
                prop_assert_eq!(start_of(&document, &path_at(&document, start + value.len())), Some(start));
                if value.starts_with(b"[") || value.starts_with(b"{") {
                    prop_assert_eq!(start_of(&document, &path_at(&document, start)), Some(start));
                }
            }
        }
    }
}
