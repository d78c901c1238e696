//! Where in a document a key path leads: only asked when something is wrong there, so it parses anew.

use serde_json::value::RawValue;

use crate::wire::Entries;

/// The value at a path such as `ips[0].address`, as a slice of the document.
///
/// Keys are found as the protocol finds them: exactly, or else in another letter case.
pub(super) fn value_at<'d>(document: &'d [u8], path: &str) -> Option<&'d [u8]> {
    let mut value: &'d RawValue = serde_json::from_slice(document).ok()?;
    let mut rest = path;
    while !rest.is_empty() {
        (value, rest) = match rest.strip_prefix('[') {
            Some(index) => element(value, index)?,
            None => entry(value, rest.strip_prefix('.').unwrap_or(rest))?,
        };
    }
    Some(value.get().as_bytes())
}

/// The element of a list at `7]…`, and what follows the bracket.
fn element<'d, 'p>(list: &'d RawValue, path: &'p str) -> Option<(&'d RawValue, &'p str)> {
    let (index, rest) = path.split_once(']')?;
    let elements: Vec<&'d RawValue> = serde_json::from_str(list.get()).ok()?;
    Some((*elements.get(index.parse::<usize>().ok()?)?, rest))
}

/// The value of an object at `key…`, and what follows the key.
fn entry<'d, 'p>(object: &'d RawValue, path: &'p str) -> Option<(&'d RawValue, &'p str)> {
    let Entries(entries) = serde_json::from_str(object.get()).ok()?;
    let leads_on = |key: &str| {
        path.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key))
            && matches!(path.as_bytes().get(key.len()), None | Some(b'.' | b'['))
    };
    let found = entries.iter().filter(|(key, _)| !key.is_empty() && leads_on(key));
    // A key may hold dots itself, so the longest is meant.
    let (key, value) = found.max_by_key(|(key, _)| (key.len(), path.starts_with(key.as_str())))?;
    Some((*value, &path[key.len()..]))
}

#[cfg(test)]
mod tests {
    use super::value_at;

    #[test]
    fn a_path_leads_to_its_value() {
        let document =
            br#"{"A": 1, "a": [2, {"b.c": [3], "b": 4}], "IPAM": {"x": 5}, "x": {"Y": 6, "y": 7, "Y": 8}}"#;
        let text = |path| value_at(document, path).map(|value| std::str::from_utf8(value).unwrap());
        for (path, expected) in [
            ("a[0]", Some("2")),
            ("a[1].b.c[0]", Some("3")),
            ("a[1].b", Some("4")),
            ("ipam.x", Some("5")),
            ("x.y", Some("7")),
            ("a[7]", None),
            ("a[x]", None),
            ("a[1", None),
            ("a.b", None),
            ("b", None),
            ("a[0].b", None),
            ("..", None),
        ] {
            assert_eq!(text(path), expected, "{path}");
        }
        assert_eq!(value_at(b"no JSON", "a"), None);
    }
}
