use super::*;
use crate::vectors::{case, deviations};

/// Answers with the input's field `ours`; panics if it is the text `panic`.
struct Echo;

impl Adapter for Echo {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        expect.clone()
    }

    fn answer(&self, case: &Case) -> Answer {
        match case.input.field("ours") {
            Some(Json::String(text)) if text == "panic" => panic!("as asked"),
            Some(Json::String(text)) if text == "skip" => Answer::Skipped("as asked".to_owned()),
            Some(Json::String(text)) => Answer::NoCounterpart(text.clone()),
            ours => Answer::Given(ours.unwrap().clone()),
        }
    }

    fn source(&self, _: &Case) -> Option<Json> {
        None
    }
}

const REFUSAL: &str = r#"{"row":1,"file":"validate","names":["a/*"],"ours":["refused code 4"],"reason":"r"}"#;

fn outcomes(cases: &[(&str, &str, &str)], list: &str, committed: bool) -> Summary {
    let cases: Vec<String> = cases
        .iter()
        .map(|(name, expect, ours)| {
            format!(r#"{{"name":"{name}","family":"f","input":{{"ours":{ours}}},"expect":{expect}}}"#)
        })
        .collect();
    let cases = case::parse("validate", &format!("[{}]", cases.join(","))).unwrap();
    run("validate", &cases, &Echo, &deviations::parse(&format!("[{list}]")).unwrap(), committed)
}

fn whys(summary: &Summary) -> Vec<&str> {
    summary.failures.iter().map(|failure| failure.why.as_str()).collect()
}

const OK: &str = r#"{"ok":1}"#;
const ERR4: &str = r#"{"error":{"text":"t","code":4}}"#;
const ERR7: &str = r#"{"error":{"text":"t","code":7}}"#;

#[test]
fn as_go_and_as_listed_pass() {
    let summary = outcomes(&[("b", OK, OK), ("a/1", OK, ERR4)], REFUSAL, true);
    assert_eq!((summary.cases, summary.equal, summary.listed), (2, 1, 1));
    assert!(summary.failures.is_empty() && summary.stale.is_empty());
}

#[test]
fn an_unlisted_difference_fails() {
    assert_eq!(whys(&outcomes(&[("b", OK, ERR4)], REFUSAL, false)), ["differs and is not listed"]);
}

#[test]
fn a_difference_of_another_kind_fails() {
    for ours in [ERR7, r#"{"ok":2}"#, r#"{"error":{"text":"t","code":4},"calls":1}"#] {
        let summary = outcomes(&[("a/1", OK, ours)], REFUSAL, false);
        assert_eq!(whys(&summary), ["differs otherwise than listed under row 1 (validate: a/*)"], "{ours}");
    }
}

#[test]
fn a_listed_case_that_no_longer_differs_fails_in_any_folder() {
    for committed in [true, false] {
        let summary = outcomes(&[("a/1", OK, OK)], REFUSAL, committed);
        assert_eq!(whys(&summary), ["is listed, but does not differ so: row 1 (validate: a/*)"]);
    }
}

#[test]
fn an_entry_for_some_cases_needs_one_of_them() {
    let list = REFUSAL.replace("\"names\"", "\"some\"");
    let summary = outcomes(&[("a/1", OK, OK), ("a/2", OK, ERR4)], &list, true);
    assert_eq!((summary.equal, summary.listed, summary.stale.len()), (1, 1, 0));
    assert_eq!(outcomes(&[("a/1", OK, OK)], &list, true).stale.len(), 2);
    assert_eq!(outcomes(&[("a/1", OK, ERR7)], &list, true).failures.len(), 1);
}

#[test]
fn a_pattern_or_clause_that_nothing_needs_is_told_for_the_committed_folder() {
    let wide = REFUSAL.replace(r#"["a/*"]"#, r#"["a/*","c"]"#).replace("code 4\"]", "code 4\",\"accepted\"]");
    let cases = [("a/1", OK, ERR4)];
    assert_eq!(
        outcomes(&cases, &wide, true).stale,
        [
            r#"row 1 (validate: a/*, c): no case differs by the pattern "c""#,
            r#"row 1 (validate: a/*, c): no case differs as in "accepted""#
        ]
    );
    assert!(outcomes(&cases, &wide, false).stale.is_empty());
}

#[test]
fn an_entry_for_other_folders_must_have_no_case_in_this_one() {
    let list = REFUSAL.replace("\"ours\"", "\"elsewhere\":true,\"ours\"");
    assert!(outcomes(&[("b", OK, OK)], &list, true).stale.is_empty());
    assert_eq!(outcomes(&[("a/1", OK, ERR4)], &list, true).stale.len(), 1);
    assert_eq!(outcomes(&[("a/1", OK, ERR4)], &list, false).listed, 1);
}

#[test]
fn a_crash_of_gos_allows_any_answer_unless_the_list_says_which() {
    let panic = r#"{"panic":"p"}"#;
    assert_eq!(outcomes(&[("b", panic, OK), ("b2", panic, ERR7)], "", true).equal, 2);
    assert_eq!(outcomes(&[("a/1", panic, ERR4)], REFUSAL, true).listed, 1);
    assert_eq!(outcomes(&[("a/1", panic, OK), ("a/2", panic, ERR7)], REFUSAL, true).failures.len(), 2);
}

#[test]
fn a_panic_of_ours_fails_whatever_is_listed() {
    let list = REFUSAL.replace("refused code 4", "no counterpart");
    assert_eq!(whys(&outcomes(&[("a/1", OK, "\"panic\"")], &list, true)), ["our code panics"]);
}

#[test]
fn a_question_without_counterpart_must_be_listed() {
    let list = REFUSAL.replace("refused code 4", "no counterpart");
    assert_eq!(outcomes(&[("a/1", OK, "\"no typed nil\"")], &list, true).listed, 1);
    assert_eq!(outcomes(&[("a/1", OK, "\"no typed nil\"")], "", true).failures.len(), 1);
}

#[test]
fn skips_are_counted_and_do_not_pass_for_equal() {
    let summary = outcomes(&[("a/1", OK, "\"skip\""), ("b", OK, OK)], REFUSAL, true);
    assert_eq!((summary.equal, summary.skipped.len()), (1, 1));
    assert!(summary.stale.is_empty(), "the skipped case may need the pattern");
}

#[test]
fn either_of_gos_json_packages_will_do() {
    let text =
        r#"[{"name":"x","family":"f","input":{"ours":{"ok":2}},"expect":{"ok":1},"expect_jsonv1":{"ok":2}}]"#;
    let cases = case::parse("validate", text).unwrap();
    assert_eq!(run("validate", &cases, &Echo, &[], true).equal, 1);
}
