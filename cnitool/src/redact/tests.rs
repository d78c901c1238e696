use super::*;

fn redaction(keys: &[&str]) -> Redaction {
    Redaction::new(keys.iter().map(ToString::to_string))
}

#[test]
fn secrets_are_told_by_their_names() {
    let redaction = redaction(&["Pin", "site.Key"]);
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "github_token",
        "DB_PASSWORD",
        "SSH_AUTH_SOCK",
        "SIGNING_KEY",
        "PG_PASS",
        "apiKey",
        "privateKey",
        "k8s-auth-token",
        "PIN",
        "site.key",
    ] {
        assert!(redaction.is_secret(name), "{name}");
    }
    for name in ["PATH", "HOME", "CNI_ARGS", "TRACEPARENT", "KEYBOARD", "COMPASS", "spin", "pins", "key"] {
        assert!(!redaction.is_secret(name), "{name}");
    }
    assert!(super::Redaction::new(["CNI_NETNS".to_owned()]).is_secret("cni_netns"), "if it is given, it is");
}

#[test]
fn what_stands_behind_a_key_is_hidden_at_any_depth_and_in_any_quotes() {
    let redaction = redaction(&["pin"]);
    for (value, shown) in [
        (r#""a1b2""#, r#""(hidden)""#),
        (r#""a\"}, 'b\\""#, r#""(hidden)""#),
        (r#""""#, r#""(hidden)""#),
        ("1234", r#""(hidden)""#),
        ("-1.5e3", r#""(hidden)""#),
        ("true", r#""(hidden)""#),
        ("null", r#""(hidden)""#),
        (r#"{"x": ["]}", {"y": 1}], "z": "\\"}"#, r#""(hidden)""#),
        (r#"[1, "]", [2]]"#, r#""(hidden)""#),
    ] {
        for key in ["pin", "PIN", "p\\u0069n"] {
            let document = |value: &str| {
                format!(r#"{{"a": [{{"{key}" : {value} , "b": 1}}], "c": "pin", "d": {{"pinned": 5}}}}"#)
            };
            let (mut text, mut expected) = (document(value), document(shown));
            for depth in 0..3 {
                assert_eq!(redaction.text(&text), expected, "{depth}: {text}");
                (text, expected) = (format!("said {text:?} today"), format!("said {expected:?} today"));
            }
            let within = serde_json::json!({"stdin": document(value)}).to_string();
            assert_eq!(redaction.json(&within), serde_json::json!({"stdin": document(shown)}).to_string());
        }
    }
}

#[test]
fn what_is_cut_off_or_no_json_is_hidden_as_far_as_it_goes() {
    let redaction = redaction(&["pin"]);
    for (text, shown) in [
        (r#"{"pin":"a1"#, r#"{"pin":"(hidden)"#),
        (r#"{"pin":{"x":"a1"#, r#"{"pin":"(hidden)""#),
        (
            r#"x "{\"pin\":\"a1" (the first 9 of 99 bytes)"#,
            r#"x "{\"pin\":\"(hidden)" (the first 9 of 99 bytes)"#,
        ),
        (r#"x "{\"pin\":\"a1\\" (the first"#, r#"x "{\"pin\":\"(hidden)" (the first"#),
        (r#"x "{\"pin\":[\"a1\",\"b2" (the"#, r#"x "{\"pin\":\"(hidden)\"" (the"#),
        (r#"log: {"pin":"a1" oops "pin": 5"#, r#"log: {"pin":"(hidden)" oops "pin": "(hidden)""#),
        ("{\\n  \\\"pin\\\":\\n  \\\"a1\\\"}", "{\\n  \\\"pin\\\":\\n  \\\"(hidden)\\\"}"),
        // Here it is a word.
        (r#"key "pin": expected a string"#, r#"key "pin": expected a string"#),
        (r#""pin""#, r#""pin""#),
        (r#"{"pin":"#, r#"{"pin":"#),
        ("\"\\\\\\\"pin\\", "\"\\\\\\\"pin\\"),
        ("é\"pin\":\"é\"é", "é\"pin\":\"(hidden)\"é"),
    ] {
        assert_eq!(redaction.text(text), shown, "{text}");
    }
}

#[test]
fn pairs_are_hidden_as_well() {
    let redaction = redaction(&["k8s_pin"]);
    for (text, shown) in [
        ("IgnoreUnknown=1;K8S_PIN=a1;x=y", "IgnoreUnknown=1;K8S_PIN=(hidden);x=y"),
        ("--args 'k8s_pin=a1;x=y'", "--args 'k8s_pin=(hidden);x=y'"),
        ("DB_PASSWORD=x=y\nHOME=/", "DB_PASSWORD=(hidden)\nHOME=/"),
        (r#"invalid pair "K8S_PIN=a1", expected"#, r#"invalid pair "K8S_PIN=(hidden)", expected"#),
        (r#"stderr "x\nK8S_PIN=a1\nx""#, r#"stderr "x\nK8S_PIN=(hidden)\nx""#),
        ("K8S_PIN=;x=1==", "K8S_PIN=;x=1=="),
        ("=a1", "=a1"),
    ] {
        assert_eq!(redaction.text(text), shown, "{text}");
    }
}

#[test]
fn what_is_learnt_is_hidden_wherever_it_shows() {
    let redaction = redaction(&["pin"]);
    let config = r#"{"a": {"Pin": "se\"cret\\"}, "pin": ["other", 98765, true, "abc"], "x": "free",
        "authToken": "line number one\n second line ", "pin": "duplicate"}"#;
    redaction.learn_document(config.as_bytes());
    redaction.learn_args("IgnoreUnknown=1;PIN=pair value");
    for text in [
        r#"bad value se"cret\ of key"#,
        r#"bad value "se\"cret\\" of key"#,
        r#"said "bad value \"se\\\"cret\\\\\" of key""#,
        "an other one",
        "98765 are too many",
        "it is pair value",
        "duplicate keys",
        "read line number one",
        "read second line",
    ] {
        let shown = redaction.text(text);
        assert!(shown.contains("(hidden)"), "{text}: {shown}");
        for secret in ["cret", "other", "98765", "pair", "duplicate", "number", "second"] {
            assert!(!shown.contains(secret), "{text}: {shown}");
        }
        let json = serde_json::json!({"msg": text, "code": 98765}).to_string();
        let shown: serde_json::Value = serde_json::from_str(&redaction.json(&json)).unwrap();
        assert_eq!(shown, serde_json::json!({"msg": redaction.text(text), "code": 98765}));
    }
    // Too short to be looked for, words, and what is nobody's secret.
    for text in ["abc", "true", "free", "IgnoreUnknown=1"] {
        assert_eq!(redaction.text(text), text);
    }
}

#[test]
fn no_part_of_a_value_is_left_where_a_quote_is_cut() {
    let redaction = redaction(&["pin"]);
    redaction.learn_document(br#"{"pin": "0123456789"}"#);
    for (text, shown) in [
        (
            r#"stdout "abc 01234" (the first 9 of 99 bytes), stderr """#,
            r#"stdout "abc (hidden)" (the first 9 of 99 bytes), stderr """#,
        ),
        (
            r#"stdout "", stderr "56789 abc" (the last 9 of 99 bytes)"#,
            r#"stdout "", stderr "(hidden) abc" (the last 9 of 99 bytes)"#,
        ),
        ("23456789 abc", "(hidden) abc"),
        ("abc 01234567", "abc (hidden)"),
        ("abc 0123456", "abc 0123456"),
        ("abc 34567 abc", "abc 34567 abc"),
    ] {
        assert_eq!(redaction.text(text), shown);
    }
}

#[test]
fn nothing_else_is_changed_whatever_the_text() {
    let redaction = redaction(&["pin"]);
    for text in [
        "",
        "\"",
        "\\\"",
        "\"\"\"\"",
        "{\"a\":\"\\\\\"}",
        "\u{feff}{\"a\":\"é\\u00e9\"}",
        "\"a\":{{{{[[",
        "\\\\\\\\\\\"x\\\\\\\\\\\":",
    ] {
        assert_eq!((redaction.text(text), redaction.json(text)), (text.to_owned(), text.to_owned()));
    }
}
