//! Which key path leads to a place in a document: only asked when something is wrong there.

/// What encloses a place.
enum Level<'d> {
    /// An object, and its key, with quotes and escapes, whose value is being read or was read last.
    Object(Option<&'d [u8]>),
    /// A list, and the index of its element.
    List(usize),
}

/// The path, such as `ips[0].address`, to the value that ends or begins at `offset`, or that it lies in; empty for the
/// document as a whole.
///
/// What stands before `offset` has been read as JSON already, so it is not checked again.
pub(super) fn path_at(document: &[u8], offset: usize) -> String {
    let before = document.get(..offset).unwrap_or(document);
    let mut levels = Vec::new();
    let mut at = 0;
    while let Some(byte) = before.get(at) {
        let mut next = at + 1;
        match byte {
            b'{' => levels.push(Level::Object(None)),
            b'[' => levels.push(Level::List(0)),
            b'}' | b']' => drop(levels.pop()),
            b',' => match levels.last_mut() {
                Some(Level::List(index)) => *index += 1,
                Some(Level::Object(key)) => *key = None,
                None => {}
            },
            b'"' => {
                let length = string_length(&before[at..]);
                next = at + length.unwrap_or(before.len() - at);
                if let (Some(Level::Object(key @ None)), Some(_)) = (levels.last_mut(), length) {
                    *key = Some(&before[at..next]);
                }
            }
            _ => {}
        }
        at = next;
    }
    written(&levels)
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

fn written(levels: &[Level<'_>]) -> String {
    let mut path = String::new();
    for level in levels {
        match level {
            Level::List(index) => path.push_str(&format!("[{index}]")),
            Level::Object(None) => {}
            Level::Object(Some(key)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&serde_json::from_slice::<String>(key).unwrap_or_default());
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::path_at;
    use crate::error::decode::offset_of;
    use crate::error::locate::value_at;
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
                prop_assert_eq!(value_at(&document, &path_at(&document, start + value.len())), Some(value));
                if value.starts_with(b"[") || value.starts_with(b"{") {
                    prop_assert_eq!(value_at(&document, &path_at(&document, start)), Some(value));
                }
            }
        }
    }
}
