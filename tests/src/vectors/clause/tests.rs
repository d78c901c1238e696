use super::*;
use crate::vectors::{case, diff};

fn sample() -> Case {
    let text = r#"[{"name":"n","family":"f","input":{"value":"a\nb","json":"{\"mtu\":1e3}","n":5,"list":"a,b","version":"1.10.0",
        "dup":"{\"a\":1,\"a\":2}","half":"\"\\ud800\""},"expect":{}}]"#;
    case::parse("validate", text).unwrap().remove(0)
}

/// Whether `clause` explains every difference between the two answers.
fn explained(clause: &str, go: &str, ours: &str) -> bool {
    let case = sample();
    let source = Json::parse(r#"{"mtu":1e3,"x":{"y":[1]}}"#).unwrap();
    let diffs = diff::compare(&Json::parse(go).unwrap(), &Json::parse(ours).unwrap(), false);
    assert!(!diffs.is_empty(), "nothing to explain");
    let clause = Clause::parse(clause).unwrap();
    diffs.iter().all(|diff| clause.explains(diff, &case, Some(&source)))
}

#[test]
fn a_refusal_is_checked_for_code_and_words() {
    let (go, ours) = (r#"{"ok":1}"#, r#"{"error":{"text":"bad \"a\\nb\"","code":4,"details":"at ips[0]"}}"#);
    for clause in
        ["refused", "refused code 4", "refused code 4 saying 'ips[0]'", "refused saying '{value}' 'bad'"]
    {
        assert!(explained(clause, go, ours), "{clause}");
        assert!(explained(clause, r#"{"panic":"p"}"#, ours), "{clause}");
    }
    for clause in
        ["refused code 7", "refused saying 'ips[1]'", "accepted", "own words", "drops ok", "no counterpart"]
    {
        assert!(!explained(clause, go, ours), "{clause}");
    }
    assert!(!explained("refused", go, r#"{"error":{"text":"","code":4}}"#), "an empty message");
}

#[test]
fn own_words_keep_the_code_and_every_quoted_value() {
    let go = r#"{"error":{"text":"no \"x1\" in \"y2\"","code":4}}"#;
    assert!(explained("own words", go, r#"{"error":{"text":"cannot find `x1`, searched y2","code":4}}"#));
    assert!(!explained("own words", go, r#"{"error":{"text":"cannot find x1","code":4}}"#));
    assert!(!explained("own words", go, r#"{"error":{"text":"x1 y2","code":7}}"#));
    assert!(!explained("own words saying 'z'", go, r#"{"error":{"text":"x1 y2","code":4}}"#));
    assert!(!explained("own words", go, r#"{"ok":1}"#));
    assert!(explained(
        "other words saying 'cannot' '{list}'",
        go,
        r#"{"error":{"text":"cannot a,b","code":4}}"#
    ));
    assert!(!explained(
        "other words saying 'cannot' '{list}'",
        go,
        r#"{"error":{"text":"cannot a","code":4}}"#
    ));
}

#[test]
fn values_are_explained_at_their_path_alone() {
    let (go, ours) = (r#"{"ok":{"a":[{"b":1}]}}"#, r#"{"ok":{"a":[{"b":2}]}}"#);
    assert!(explained("gives ok.a[*].b 2", go, ours));
    assert!(!explained("gives ok.a[*].b 3", go, ours));
    assert!(!explained("gives ok.b 2", go, ours));
    assert!(explained("changes ok.a*", go, ours) && !explained("changes ok.b", go, ours));
    assert!(explained("says ok 'x' 'y'", r#"{"ok":"a"}"#, r#"{"ok":"y x"}"#));
    assert!(!explained("says ok 'x' 'y'", r#"{"ok":"a"}"#, r#"{"ok":"x"}"#));
    assert!(explained("adds ok.c", r#"{"ok":{}}"#, r#"{"ok":{"c":null}}"#));
    assert!(!explained("adds ok.c 'true'", r#"{"ok":{}}"#, r#"{"ok":{"c":null}}"#));
    assert!(explained("gives ok.c from mtu else 7", r#"{"ok":{}}"#, r#"{"ok":{"c":1e3}}"#));
    assert!(explained("gives ok.c from mtu else 7", r#"{"ok":{"c":1000}}"#, r#"{"ok":{"c":1e3}}"#));
    assert!(explained("gives ok.c from no else 7", r#"{"ok":{}}"#, r#"{"ok":{"c":7}}"#));
    assert!(!explained("gives ok.c from mtu else 7", r#"{"ok":{}}"#, r#"{"ok":{"c":7}}"#));
    assert!(explained("drops ok.*", r#"{"ok":{"c":1}}"#, r#"{"ok":{}}"#));
    assert!(explained("code 7", r#"{"error":{"code":4}}"#, r#"{"error":{"code":7}}"#));
    assert!(!explained("code 6", r#"{"error":{"code":4}}"#, r#"{"error":{"code":7}}"#));
    assert!(explained("accepted", r#"{"error":{}}"#, r#"{"ok":1}"#));
    assert!(explained("accepted giving v from mtu else 7", r#"{"error":{}}"#, r#"{"ok":{"v":1e3}}"#));
    assert!(!explained("accepted giving v from mtu else 7", r#"{"error":{}}"#, r#"{"ok":{"v":7}}"#));
    let both = "accepted giving v from mtu else 7 giving w from none else nothing";
    assert!(explained(both, r#"{"error":{}}"#, r#"{"ok":{"v":1e3}}"#));
    assert!(!explained(both, r#"{"error":{}}"#, r#"{"ok":{"v":1e3,"w":null}}"#));
    assert!(!explained(both, r#"{"error":{}}"#, r#"{"ok":{"v":7}}"#));
}

#[test]
fn as_the_input_has_it_means_the_very_value() {
    assert!(explained("as the input has it ok.mtu", r#"{"ok":{"mtu":1000}}"#, r#"{"ok":{"mtu":1e3}}"#));
    assert!(!explained("as the input has it *", r#"{"ok":{"mtu":1000}}"#, r#"{"ok":{"mtu":1E3}}"#));
    assert!(!explained("as the input has it *", r#"{"ok":{}}"#, r#"{"ok":{"mtu":1e3}}"#));
}

#[test]
fn a_kept_number_is_the_same_one_and_stands_in_the_input() {
    let ours = r#"{"ok":{"mtu":1e3}}"#;
    assert!(explained("keeps the number ok.*", r#"{"ok":{"mtu":1000}}"#, ours));
    assert!(!explained("keeps the number ok.*", r#"{"ok":{"mtu":1001}}"#, ours));
    assert!(!explained("keeps the number ok.*", r#"{"ok":{"mtu":"1000"}}"#, ours));
    assert!(!explained("keeps the number ok.*", r#"{"ok":{"mtu":1000}}"#, r#"{"ok":{"mtu":1000.0}}"#));
}

#[test]
fn a_kept_address_is_the_mapped_one() {
    let go = r#"{"ok":"10.1.0.5/16"}"#;
    assert!(explained("keeps the mapped address ok", go, r#"{"ok":"::ffff:10.1.0.5/112"}"#));
    for ours in ["::ffff:10.1.0.6/112", "10.1.0.5/24", "2001:db8::5/64", "x"] {
        assert!(!explained("keeps the mapped address ok", go, &format!(r#"{{"ok":"{ours}"}}"#)), "{ours}");
    }
}

#[test]
fn a_kept_key_has_its_value() {
    assert!(explained("keeps the unknown key ok.*", r#"{"ok":{}}"#, r#"{"ok":{"x":{"y":[1]}}}"#));
    assert!(explained("keeps the unknown key ok.*", r#"{"ok":{"a":{}}}"#, r#"{"ok":{"a":{"y":[1]}}}"#));
    for ours in [r#"{"ok":{"x":{"y":[2]}}}"#, r#"{"ok":{"z":{"y":[1]}}}"#, r#"{"ok":{"yy":[1]}}"#] {
        assert!(!explained("keeps the unknown key ok.*", r#"{"ok":{}}"#, ours), "{ours}");
    }
}

#[test]
fn unknown_words_are_refused() {
    for clause in [
        "",
        "refuse",
        "refused 4",
        "refused saying",
        "code x",
        "adds",
        "gives a",
        "own words 'x'",
        "gives a 'x",
    ] {
        assert!(Clause::parse(clause).is_err(), "{clause}");
    }
}

#[test]
fn own_bytes_are_laid_out_as_gos() {
    let text = |text: &str| Json::object([("ok", Json::string(text))]).to_string();
    let go = text("{\n    \"a\": 1,\n    \"b\": []\n}");
    for ours in [
        "{\n    \"b\": [],\n    \"a\": \"\\u003c\\\" {,\"\n}",
        "{}",
        "{\n    \"x\": {\"raw\":[1, 2]},\n    \"y\": [\n        7\n    ]\n}",
    ] {
        assert!(explained("own bytes ok", &go, &text(ours)), "{ours}");
    }
    for ours in
        ["{\n  \"b\": []\n}", "{\n    \"b\": []\n}\n", "{\"b\":[]}", "{\n    \"b\": 1, \"c\": 2 \n}", "x"]
    {
        assert!(!explained("own bytes ok", &go, &text(ours)), "{ours}");
    }
}
