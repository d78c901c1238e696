//! Where in a JSON text a key stands, for faults that are only seen once the text is read.
//!
//! Faults of JSON itself come with their place from the decoder; this is for a name that breaks a rule, a missing key and
//! the like.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// The line and column (from 1) of the value at a key path such as `plugins[1].type`; of the innermost value on the way
/// to it, if there is no such key; 0 and 0 if the text is no JSON.
pub(super) fn locate(json: &[u8], path: &str) -> (usize, usize) {
    let Ok(mut value) = serde_json::from_slice::<&RawValue>(json) else { return (0, 0) };
    for step in path.split(['.', '[']) {
        let inner = match step.strip_suffix(']').and_then(|index| index.parse::<usize>().ok()) {
            Some(index) => serde_json::from_str::<Vec<&RawValue>>(value.get())
                .ok()
                .and_then(|items| items.get(index).copied()),
            // Of a key that stands twice, the last counts, as everywhere.
            None => serde_json::from_str::<HashMap<String, &RawValue>>(value.get())
                .ok()
                .and_then(|fields| fields.get(step).copied()),
        };
        match inner {
            Some(inner) => value = inner,
            None => break,
        }
    }
    let Some(start) = (value.get().as_ptr() as usize).checked_sub(json.as_ptr() as usize) else {
        return (0, 0);
    };
    let Some(before) = json.get(..start) else { return (0, 0) };
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    (before.iter().filter(|byte| **byte == b'\n').count() + 1, start - line_start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_path_and_a_missing_key_by_what_should_hold_it() {
        let json = b"{\n \"name\": \"n\",\n \"plugins\": [\n  {\"type\": \"a\"},\n  {\"x\": 1,\n   \"type\": \"../b\"}, {}]}";
        for (path, place) in [
            ("name", (2, 10)),
            ("plugins", (3, 13)),
            ("plugins[1].type", (6, 12)),
            ("plugins[2].type", (6, 21)),
            ("plugins[9].type", (3, 13)),
            ("cniVersion", (1, 1)),
        ] {
            assert_eq!(locate(json, path), place, "{path}");
        }
        assert_eq!(locate(b"{", "name"), (0, 0));
    }
}
