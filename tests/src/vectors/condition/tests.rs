use super::*;
use crate::vectors::case;

fn sample() -> Case {
    let text = r#"[{"name":"n","family":"f","input":{"value":"a\nb","json":"{\"mtu\":1e3}","n":5,"list":"a,b","version":"1.10.0",
        "dup":"{\"a\":1,\"a\":2}","half":"\"\\ud800\""},"expect":{}}]"#;
    case::parse("validate", text).unwrap().remove(0)
}

#[test]
fn conditions_look_at_go_and_at_the_input() {
    let case = sample();
    let holds = |condition: &str, go: &str| {
        Condition::parse(condition).unwrap().holds(&case, &Json::parse(go).unwrap())
    };
    let error = r#"{"error":{"text":"no way","code":6}}"#;
    for (condition, go) in [
        ("go accepts", r#"{"ok":1}"#),
        ("go refuses", error),
        ("go refuses code 6", error),
        ("not go refuses code 7", error),
        ("go panics", r#"{"panic":"x"}"#),
        ("go says 'no way'", error),
        ("not go says 'no way'", r#"{"ok":1}"#),
        ("input json has '1e3'", error),
        ("input n is '5'", error),
        ("input n given", error),
        ("not input m given", error),
        ("plain words", error),
        ("input list among 'b,a,c'", error),
        ("not input list among 'a'", error),
        ("input version is a version", error),
        ("not input value is a version", error),
        ("input dup has duplicate keys", error),
        ("not input json has duplicate keys", error),
        ("input half has a lone surrogate", error),
        ("not input dup has a lone surrogate", error),
        ("go gives '[null]'", r#"{"ok":{"a":[null]}}"#),
        ("not go gives 'null'", error),
        ("go at error.code is 6", error),
        ("not go at error.code is '\"6\"'", error),
    ] {
        assert!(holds(condition, go), "{condition}");
        let opposite = condition.strip_prefix("not ").map_or(format!("not {condition}"), str::to_owned);
        assert!(!holds(&opposite, go), "{opposite}");
    }
}

#[test]
fn unknown_words_are_refused() {
    for condition in ["", "go", "go refuses 4", "not", "input x", "go says 'x"] {
        assert!(Condition::parse(condition).is_err(), "{condition}");
    }
}
