use super::Json;

fn parse(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn numbers_are_compared_by_text() {
    for (a, b) in [
        ("1", "1.0"),
        ("1e3", "1E3"),
        ("0", "-0"),
        ("1e21", "1e+21"),
        ("9223372036854775807", "9223372036854776000"),
    ] {
        assert_ne!(parse(a), parse(b), "{a} and {b}");
        assert_eq!(parse(a), parse(a));
        assert_eq!(parse(a).to_string(), a);
    }
}

#[test]
fn key_order_is_irrelevant_and_list_order_is_not() {
    assert_eq!(parse(r#"{"a":1,"b":{"c":null,"d":[]}}"#), parse(r#"{ "b":{"d":[],"c":null}, "a":1 }"#));
    assert_ne!(parse("[1,2]"), parse("[2,1]"));
    assert_ne!(parse(r#"{"a":1}"#), parse(r#"{"a":1,"b":2}"#));
    assert_ne!(parse(r#"{"a":1,"b":2}"#), parse(r#"{"a":1}"#));
    assert_ne!(parse(r#"{"a":null}"#), parse("{}"));
}

#[test]
fn what_is_not_one_document_is_refused() {
    for text in [
        "",
        " ",
        "nul",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        "-",
        "1e",
        "+1",
        "1 2",
        "\"\n\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\u12\"",
        "{\"a\":1,\"a\":2}",
        "\"",
        "\"\\",
        "[1}",
    ] {
        assert!(Json::parse(text).is_err(), "{text:?} was taken");
    }
    assert!(Json::parse(&"[".repeat(100_000)).is_err());
}

#[test]
fn escapes_are_read_and_strings_survive_printing() {
    assert_eq!(parse(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#), Json::string("\"\\/\u{8}\u{c}\n\r\té😀"));
    let odd = Json::string("\u{0}\u{1f}\u{7f}\"\\\u{2028}é");
    assert_eq!(parse(&odd.to_string()), odd);
}

#[test]
fn the_last_of_two_keys_wins_where_allowed() {
    assert_eq!(Json::parse_last_wins(r#"{"a":{"x":1},"a":{"y":2}}"#).unwrap(), parse(r#"{"a":{"y":2}}"#));
}

#[test]
fn several_documents_are_told_apart_from_garbage() {
    assert_eq!(Json::parse_all("{}\n[1] ").unwrap(), [parse("{}"), parse("[1]")]);
    assert_eq!(Json::parse_all(" \n").unwrap(), []);
    assert!(Json::parse_all("{} x").is_err());
}

#[test]
fn paths_lead_to_values() {
    let value = parse(r#"{"a":{"b":[{"c":7},[1,2]]}}"#);
    assert_eq!(value.at("a.b[0].c"), Some(&parse("7")));
    assert_eq!(value.at("a.b[1][1]"), Some(&parse("2")));
    assert_eq!(value.at(""), Some(&value));
    for path in ["a.c", "a.b[2]", "a.b[x]", "a[0]", "a.b.c"] {
        assert_eq!(value.at(path), None, "{path}");
    }
    assert!(value.any(&|part| *part == parse("[1,2]")) && !value.any(&|part| *part == parse("3")));
}

#[test]
fn indentation_is_gos() {
    let text = "{\n    \"a\": [\n        1,\n        {}\n    ],\n    \"b\": []\n}";
    assert_eq!(parse(text).indented(), text);
}

#[test]
fn half_a_pair_is_replaced_where_allowed() {
    let read = |text: &str| Json::parse_tolerantly(text).unwrap();
    assert_eq!(read(r#""\ud800x\udc00\ud83d\ude00""#), Json::string("\u{FFFD}x\u{FFFD}😀"));
    assert_eq!(read(r#""\ud800\u0041""#), Json::string("\u{FFFD}A"));
    assert!(Json::parse_tolerantly(r#""\ud8""#).is_err());
}
