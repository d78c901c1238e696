//! What several laws ask of JSON and of the errors about it.

use cni_types::{DecodeError, ErrorCode, ErrorObject};

/// How deep a JSON text nests.
pub(crate) fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// An error about a document says something, has a code, and lies within the document.
pub(crate) fn check_error(error: &DecodeError, document: &[u8]) {
    assert!(!error.message().is_empty(), "an error without a message");
    check_place(error.line(), error.column(), document);
    let located = error.clone().located_in(document);
    check_place(located.line(), located.column(), document);
    assert!(located.to_string().starts_with("cannot decode "), "{located}");
    assert_ne!(ErrorObject::from(located).code(), ErrorCode::new(0), "an error without a code");
}

/// A line and a column are those of the document, or unknown.
pub(crate) fn check_place(line: usize, column: usize, document: &[u8]) {
    let lines = document.split(|byte| *byte == b'\n');
    if let Some(index) = line.checked_sub(1) {
        let length = lines.clone().nth(index).map(<[u8]>::len);
        // The end of a line is a place, too.
        assert!(
            length.is_some_and(|length| column <= length + 1),
            "there is no line {line}, column {column}"
        );
    }
}
