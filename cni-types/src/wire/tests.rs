use super::{MAX_NESTING, OptText, Text, wire_object};
use crate::ExtraKeys;

#[derive(Debug, Default, PartialEq)]
struct Sample {
    name: String,
    kind: Option<String>,
    extra: ExtraKeys,
}

wire_object! { Sample { "name" => name: Text, "kind" => kind: OptText } }

fn read(json: &str) -> Sample {
    super::decode("sample", json.as_bytes()).unwrap()
}

#[test]
fn the_exact_spelling_wins_wherever_it_stands() {
    assert_eq!(read(r#"{"NAME":"a","name":"b"}"#).name, "b");
    assert_eq!(read(r#"{"name":"b","NAME":"a"}"#).name, "b");
    assert_eq!(read(r#"{"Name":"a","NAME":"c"}"#).name, "c");
}

#[test]
fn null_is_absent_and_the_last_duplicate_wins_whole() {
    assert_eq!(read(r#"{"kind":"x","kind":null}"#).kind, None);
    assert_eq!(read(r#"{"name":"x","name":null}"#).name, "");
}

#[test]
fn unknown_keys_keep_their_text() {
    let json = r#"{"name":"a","big":123456789012345678901234567890,"float":1.10}"#;
    let sample = read(json);
    assert_eq!(serde_json::to_string(&sample).unwrap(), json);
}

#[test]
fn nesting_is_bounded_in_unknown_keys_too() {
    let nested =
        |levels: usize| format!(r#"{{"name":"a","x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    assert!(super::decode::<Sample>("sample", nested(MAX_NESTING).as_bytes()).is_ok());
    let error = super::decode::<Sample>("sample", nested(MAX_NESTING + 1).as_bytes()).unwrap_err();
    assert!(error.message().contains("nested deeper than 127 levels"), "{error}");
    // Brackets within text do not count.
    let text = format!(r#"{{"name":"a","x":"{}\""}}"#, "[".repeat(300));
    assert!(super::decode::<Sample>("sample", text.as_bytes()).is_ok());
}

#[test]
fn an_error_has_path_line_and_column() {
    let error = super::decode::<Sample>("sample", b"{\n  \"name\": 7}").unwrap_err();
    insta::assert_snapshot!(error, @"cannot decode sample: name: invalid type: integer `7`, expected a string at line 2 column 11");
    let error = super::decode::<Sample>("sample", b"{\"name\": \"a\",}").unwrap_err();
    assert!(error.is_syntax());
}
