//! Prints what came of a vector file: one summary line, and each failure so that it can be understood without the file.

use std::fmt::Write as _;

use super::{
    diff::Diff,
    json::Json,
    run::{Failure, Summary},
};

/// Longer texts are cut in the middle of a report.
const MAX_TEXT: usize = 1200;

/// `results_convert: 2865 cases, 2601 equal, 264 listed deviations`
pub fn line(summary: &Summary) -> String {
    let mut out = format!(
        "{}: {} cases, {} equal, {} listed deviations",
        summary.file, summary.cases, summary.equal, summary.listed
    );
    for (count, what) in [
        (summary.skipped.len(), "skipped"),
        (summary.failures.len(), "FAILED"),
        (summary.stale.len(), "stale entries in the list"),
    ] {
        if count > 0 {
            let _ = write!(out, ", {count} {what}");
        }
    }
    out
}

/// The summary line and, at most, the first `limit` failures.
pub fn full(summary: &Summary, limit: usize) -> String {
    let mut out = String::new();
    for failure in summary.failures.iter().take(limit) {
        describe(&mut out, failure);
    }
    if summary.failures.len() > limit {
        let _ = writeln!(out, "... and {} more failures:", summary.failures.len() - limit);
        for failure in &summary.failures[limit..] {
            let _ = writeln!(out, "    {}: {}", failure.case.name, failure.why);
        }
    }
    for stale in &summary.stale {
        let _ = writeln!(out, "STALE {stale}");
    }
    out + &line(summary)
}

fn describe(out: &mut String, failure: &Failure) {
    let case = &failure.case;
    let _ = writeln!(out, "{}: {:?} {}", case.file, case.name, failure.why);
    let _ = writeln!(out, "  input");
    for (key, value) in case.input.as_object().unwrap_or_default() {
        let _ = writeln!(out, "    {key}: {}", cut(value));
    }
    let _ = writeln!(out, "  expected\n    {}", cut(&case.expect));
    if let Some(ours) = &failure.ours {
        let _ = writeln!(out, "  got\n    {}", cut(ours));
    }
    for diff in &failure.diffs {
        let _ = writeln!(out, "  {}", cut_text(diff_text(diff)));
    }
    out.push('\n');
}

fn diff_text(diff: &Diff) -> String {
    format!("- {diff}")
}

fn cut(value: &Json) -> String {
    cut_text(value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}")))
}

fn cut_text(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        None => text,
        Some((at, _)) => format!("{} ... ({} bytes)", &text[..at], text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::case;

    fn summary(failures: usize) -> Summary {
        let text = r#"[{"name":"a/b","family":"f","input":{"json":"{\"x\":1}"},"expect":{"ok":1}}]"#;
        let case = case::parse("validate", text).unwrap().remove(0);
        let failure = Failure {
            why: "differs and is not listed".to_owned(),
            case,
            ours: Some(Json::object([("ok", Json::number(2))])),
            diffs: vec![Diff::Changed { path: "ok".to_owned(), go: Json::number(1), ours: Json::number(2) }],
        };
        Summary {
            file: "validate",
            cases: 10,
            equal: 7,
            listed: 2,
            skipped: Vec::new(),
            failures: vec![failure; failures],
            stale: Vec::new(),
            uses: Vec::new(),
        }
    }

    #[test]
    fn the_line_names_only_what_there_is() {
        assert_eq!(line(&summary(0)), "validate: 10 cases, 7 equal, 2 listed deviations");
        assert_eq!(line(&summary(1)), "validate: 10 cases, 7 equal, 2 listed deviations, 1 FAILED");
    }

    #[test]
    fn a_failure_shows_name_input_expectation_answer_and_difference() {
        assert_eq!(
            full(&summary(1), 5),
            "validate: \"a/b\" differs and is not listed\n  input\n    json: \"{\\\"x\\\":1}\"\n  expected\n    {\"ok\":1}\n  \
             got\n    {\"ok\":2}\n  - ok: changed\n    go:   1\n    ours: 2\n\n\
             validate: 10 cases, 7 equal, 2 listed deviations, 1 FAILED"
        );
        assert!(full(&summary(3), 1).contains("... and 2 more failures:\n    a/b: differs"));
    }
}
