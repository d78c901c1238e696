//! Compares what Go did with what we did, and says where they part.
//!
//! Both sides come as one object in the adapters' common form: exactly one of
//! * `ok`: whatever success gives,
//! * `error`: an object of `text`, `details` (both wording) and further fields such as `code` and `stage` (substance),
//! * `panic`: Go only; we may answer as we like, short of crashing,
//!
//! and beside it any number of fields for effects (files left, programs called), which count whatever the verdict was.

use std::fmt;

use super::json::Json;

/// One place in which two answers part. Paths read like `ok.ips[0].address`.
#[derive(Debug, Clone, PartialEq)]
pub enum Diff {
    /// Go succeeded, we report an error.
    Refused {
        /// What Go gave.
        go: Json,
        /// Our error.
        ours: Json,
    },
    /// Go reported an error, we succeed.
    Accepted {
        /// Go's error.
        go: Json,
        /// What we gave.
        ours: Json,
    },
    /// Go crashed, we answer.
    Panicked {
        /// Our answer, in the common form.
        ours: Json,
    },
    /// The question cannot be put to our code.
    NoCounterpart {
        /// Why not.
        why: String,
    },
    /// Both report an error; the words (`text` and `details`) differ.
    Worded {
        /// Go's words.
        go: Json,
        /// Our words.
        ours: Json,
    },
    /// Go has a value here, we have none.
    Missing {
        /// Where.
        path: String,
        /// Go's value.
        go: Json,
    },
    /// We have a value here, Go has none.
    Extra {
        /// Where.
        path: String,
        /// Our value.
        ours: Json,
    },
    /// Both have a value, not the same one.
    Changed {
        /// Where.
        path: String,
        /// Go's value.
        go: Json,
        /// Our value.
        ours: Json,
    },
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { go, ours } => {
                write!(f, "Go accepts, we refuse\n    go:   {go}\n    ours: {ours}")
            }
            Self::Accepted { go, ours } => {
                write!(f, "Go refuses, we accept\n    go:   {go}\n    ours: {ours}")
            }
            Self::Panicked { ours } => write!(f, "Go panics\n    ours: {ours}"),
            Self::NoCounterpart { why } => write!(f, "cannot be asked of us: {why}"),
            Self::Worded { go, ours } => write!(f, "worded otherwise\n    go:   {go}\n    ours: {ours}"),
            Self::Missing { path, go } => write!(f, "{path}: missing\n    go:   {go}"),
            Self::Extra { path, ours } => write!(f, "{path}: extra\n    ours: {ours}"),
            Self::Changed { path, go, ours } => {
                write!(f, "{path}: changed\n    go:   {go}\n    ours: {ours}")
            }
        }
    }
}

/// Compares two answers in the common form. `stdlib_text`: the wording of Go's error means nothing.
pub fn compare(go: &Json, ours: &Json, stdlib_text: bool) -> Vec<Diff> {
    let mut diffs = Vec::new();
    match (verdict(go), verdict(ours)) {
        (Some(("panic", _)), Some((key, value))) => {
            diffs.push(Diff::Panicked { ours: Json::object([(key, value.clone())]) });
        }
        (Some(("ok", go)), Some(("error", ours))) => {
            diffs.push(Diff::Refused { go: go.clone(), ours: ours.clone() });
        }
        (Some(("error", go)), Some(("ok", ours))) => {
            diffs.push(Diff::Accepted { go: go.clone(), ours: ours.clone() });
        }
        (Some(("ok", go)), Some(("ok", ours))) => values("ok", Some(go), Some(ours), &mut diffs),
        (Some(("error", go)), Some(("error", ours))) => errors(go, ours, stdlib_text, &mut diffs),
        (go, ours) => diffs.push(Diff::Changed {
            path: "verdict".to_owned(),
            go: Json::string(format!("{go:?}")),
            ours: Json::string(format!("{ours:?}")),
        }),
    }
    for key in keys(go, ours).into_iter().filter(|key| !VERDICTS.contains(key)) {
        values(key, go.field(key), ours.field(key), &mut diffs);
    }
    diffs
}

const VERDICTS: [&str; 3] = ["ok", "error", "panic"];
const WORDING: [&str; 2] = ["text", "details"];

fn verdict(answer: &Json) -> Option<(&'static str, &Json)> {
    VERDICTS.into_iter().find_map(|key| answer.field(key).map(|value| (key, value)))
}

fn errors(go: &Json, ours: &Json, stdlib_text: bool, diffs: &mut Vec<Diff>) {
    let words =
        |side: &Json| Json::object(WORDING.iter().filter_map(|key| Some((*key, side.field(key)?.clone()))));
    if !stdlib_text && !says_as_much(go, ours) {
        diffs.push(Diff::Worded { go: words(go), ours: words(ours) });
    }
    for key in keys(go, ours).into_iter().filter(|key| !WORDING.contains(key)) {
        values(&format!("error.{key}"), go.field(key), ours.field(key), diffs);
    }
}

/// Whether our error holds Go's message and details, whole: programs search for such texts, and what stands around them
/// (where it was found, what was expected) does them no harm. An empty message must be empty.
fn says_as_much(go: &Json, ours: &Json) -> bool {
    let word = |side: &Json, key| side.field(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let (go_text, ours_text) = (word(go, "text"), word(ours, "text"));
    let text = if go_text.is_empty() { ours_text.is_empty() } else { ours_text.contains(&go_text) };
    text && (ours_text + &word(ours, "details")).contains(&word(go, "details"))
}

fn keys<'a>(go: &'a Json, ours: &'a Json) -> Vec<&'a str> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in go.as_object().unwrap_or_default().iter().chain(ours.as_object().unwrap_or_default()) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    keys
}

fn values(path: &str, go: Option<&Json>, ours: Option<&Json>, diffs: &mut Vec<Diff>) {
    let path_of = || path.to_owned();
    match (go, ours) {
        (None, None) => {}
        (Some(go), None) => diffs.push(Diff::Missing { path: path_of(), go: go.clone() }),
        (None, Some(ours)) => diffs.push(Diff::Extra { path: path_of(), ours: ours.clone() }),
        (Some(go), Some(ours)) if go == ours => {}
        (Some(go @ Json::Object(_)), Some(ours @ Json::Object(_))) => {
            for key in keys(go, ours) {
                values(&format!("{path}.{key}"), go.field(key), ours.field(key), diffs);
            }
        }
        (Some(Json::Array(go)), Some(Json::Array(ours))) => {
            for index in 0..go.len().max(ours.len()) {
                values(&format!("{path}[{index}]"), go.get(index), ours.get(index), diffs);
            }
        }
        (Some(go), Some(ours)) => {
            diffs.push(Diff::Changed { path: path_of(), go: go.clone(), ours: ours.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diffs(go: &str, ours: &str, stdlib_text: bool) -> Vec<String> {
        let (go, ours) = (Json::parse(go).unwrap(), Json::parse(ours).unwrap());
        compare(&go, &ours, stdlib_text)
            .iter()
            .map(|diff| diff.to_string().replace("\n    ", " ").replace(":   ", ": "))
            .collect()
    }

    #[test]
    fn equal_answers_do_not_differ() {
        assert!(diffs(r#"{"ok":{"a":1,"b":2}}"#, r#"{"ok":{"b":2,"a":1}}"#, false).is_empty());
        assert!(
            diffs(r#"{"error":{"text":"x","code":4}}"#, r#"{"error":{"text":"x","code":4}}"#, false)
                .is_empty()
        );
    }

    #[test]
    fn every_leaf_that_differs_is_told_with_its_path() {
        assert_eq!(
            diffs(r#"{"ok":{"a":[1,{"b":2}],"c":0}}"#, r#"{"ok":{"a":[1,{"b":3},4],"d":null}}"#, false),
            [
                "ok.a[1].b: changed go: 2 ours: 3",
                "ok.a[2]: extra ours: 4",
                "ok.c: missing go: 0",
                "ok.d: extra ours: null"
            ],
        );
    }

    #[test]
    fn verdicts_that_differ_are_one_difference() {
        assert_eq!(
            diffs(r#"{"ok":{"a":1}}"#, r#"{"error":{"text":"t"}}"#, true),
            [r#"Go accepts, we refuse go: {"a":1} ours: {"text":"t"}"#]
        );
        assert_eq!(
            diffs(r#"{"error":{"text":"t"}}"#, r#"{"ok":null}"#, true),
            [r#"Go refuses, we accept go: {"text":"t"} ours: null"#]
        );
        assert_eq!(diffs(r#"{"panic":"p"}"#, r#"{"ok":null}"#, false), [r#"Go panics ours: {"ok":null}"#]);
    }

    #[test]
    fn wording_counts_unless_it_is_the_standard_librarys_and_the_code_always() {
        let (go, ours) = (r#"{"error":{"text":"a","code":4}}"#, r#"{"error":{"text":"b","code":7}}"#);
        assert_eq!(
            diffs(go, ours, false),
            [r#"worded otherwise go: {"text":"a"} ours: {"text":"b"}"#, "error.code: changed go: 4 ours: 7"]
        );
        assert_eq!(diffs(go, ours, true), ["error.code: changed go: 4 ours: 7"]);
    }

    #[test]
    fn a_message_may_stand_within_ours_but_not_be_shortened_or_replaced() {
        let go = r#"{"error":{"text":"bad x","details":"x"}}"#;
        for ours in [r#"{"text":"net1: bad x, expected y","details":"x: more"}"#, r#"{"text":"bad x"}"#] {
            assert!(diffs(go, &format!(r#"{{"error":{ours}}}"#), false).is_empty(), "{ours}");
        }
        for ours in [r#"{"text":"bad","details":"x"}"#, r#"{"text":""}"#, r#"{"details":"bad x"}"#] {
            assert_eq!(diffs(go, &format!(r#"{{"error":{ours}}}"#), false).len(), 1, "{ours}");
        }
        assert_eq!(diffs(r#"{"error":{"text":""}}"#, r#"{"error":{"text":"some"}}"#, false).len(), 1);
    }

    #[test]
    fn effects_count_whatever_the_verdict() {
        assert_eq!(
            diffs(r#"{"ok":1,"calls":[]}"#, r#"{"error":{},"calls":[7]}"#, false),
            ["Go accepts, we refuse go: 1 ours: {}", "calls[0]: extra ours: 7"]
        );
    }

    #[test]
    fn an_answer_without_verdict_never_passes() {
        assert_eq!(diffs(r#"{"ok":1}"#, "{}", false).len(), 1);
        assert_eq!(diffs("{}", "{}", false).len(), 1);
    }
}
