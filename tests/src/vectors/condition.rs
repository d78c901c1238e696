//! The words in which the list of deviations narrows its entries down to some cases.
//!
//! A condition is a few words; values stand in single quotes. Each may begin with `not`:
//! * `go accepts`, `go refuses`, `go refuses code N`, `go panics`, `go says 'TEXT'`
//! * `plain words`: the wording of Go's error is CNI's own
//! * `input FIELD has 'TEXT'`, `input FIELD is 'TEXT'`, `input FIELD given`, `input FIELD among 'A,B,C'`
//! * `input FIELD is a version`: empty, or three plain decimal numbers
//! * `input FIELD has a lone surrogate`: it would be JSON but for half of a UTF-16 pair
//! * `input FIELD has duplicate keys`: it would be JSON but for a key that stands twice
//! * `go gives 'TEXT'`: what Go's success holds, as compact JSON, has the text
//! * `go at PATH is JSON`: a field of Go's answer in the common form
//! * `within one layout`: the versions `from` and `to` of the input share a layout of results

use super::{case::Case, clause::words, json::Json};

/// A condition on a case.
#[derive(Debug, Clone)]
pub struct Condition {
    negated: bool,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    GoAccepts,
    GoRefuses { code: Option<String> },
    GoPanics,
    GoSays(String),
    InputHas { field: String, text: String },
    InputIs { field: String, text: String },
    InputGiven { field: String },
    InputAmong { field: String, allowed: String },
    InputIsVersion { field: String },
    LoneSurrogate { field: String },
    DuplicateKeys { field: String },
    GoGives(String),
    GoAt { path: String, value: Json },
    OneLayout,
    PlainWords,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// Words that are no condition.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = words(text)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (negated, words) = match words.split_first() {
            Some((&"not", rest)) => (true, rest),
            _ => (false, &words[..]),
        };
        let test = match *words {
            ["go", "accepts"] => Test::GoAccepts,
            ["go", "refuses"] => Test::GoRefuses { code: None },
            ["go", "refuses", "code", code] => Test::GoRefuses { code: Some(code.to_owned()) },
            ["go", "panics"] => Test::GoPanics,
            ["go", "says", text] => Test::GoSays(text.to_owned()),
            ["input", field, "has", "duplicate", "keys"] => Test::DuplicateKeys { field: field.to_owned() },
            ["go", "at", path, "is", value] => Test::GoAt {
                path: path.to_owned(),
                value: Json::parse(value).map_err(|error| format!("{text:?}: {error}"))?,
            },
            ["go", "gives", text] => Test::GoGives(text.to_owned()),
            ["within", "one", "layout"] => Test::OneLayout,
            ["input", field, "has", "a", "lone", "surrogate"] => {
                Test::LoneSurrogate { field: field.to_owned() }
            }
            ["input", field, "has", text] => {
                Test::InputHas { field: field.to_owned(), text: text.to_owned() }
            }
            ["plain", "words"] => Test::PlainWords,
            ["input", field, "among", allowed] => {
                Test::InputAmong { field: field.to_owned(), allowed: allowed.to_owned() }
            }
            ["input", field, "is", "a", "version"] => Test::InputIsVersion { field: field.to_owned() },
            ["input", field, "is", text] => Test::InputIs { field: field.to_owned(), text: text.to_owned() },
            ["input", field, "given"] => Test::InputGiven { field: field.to_owned() },
            _ => return Err(format!("{text:?} is no condition")),
        };
        Ok(Self { negated, test })
    }

    /// Whether it holds for a case, given Go's answer in the common form.
    pub fn holds(&self, case: &Case, go: &Json) -> bool {
        let error = go.field("error");
        let holds = match &self.test {
            Test::GoAccepts => go.field("ok").is_some(),
            Test::GoRefuses { code: None } => error.is_some(),
            Test::GoRefuses { code: Some(code) } => {
                error.and_then(|error| error.field("code")) == Some(&Json::number(code))
            }
            Test::GoPanics => go.field("panic").is_some(),
            Test::GoSays(text) => ["text", "details"].iter().any(|key| {
                error.and_then(|e| e.field(key)?.as_str()).is_some_and(|said| said.contains(text))
            }),
            Test::InputHas { field, text } => case.input.at(field).is_some_and(|value| match value {
                Json::String(value) => value.contains(text),
                other => other.to_string().contains(text),
            }),
            Test::InputIs { field, text } => case.input.at(field).is_some_and(|value| match value {
                Json::String(value) => value == text,
                other => other.to_string() == *text,
            }),
            Test::InputAmong { field, allowed } => {
                case.input.at(field).and_then(Json::as_str).is_none_or(|list| {
                    list.split(',').all(|item| allowed.split(',').any(|known| known == item))
                })
            }
            Test::InputIsVersion { field } => {
                case.input.at(field).and_then(Json::as_str).is_some_and(is_version)
            }
            Test::GoAt { path, value } => go.at(path) == Some(value),
            Test::GoGives(text) => go.field("ok").is_some_and(|ok| ok.to_string().contains(text)),
            Test::DuplicateKeys { field } => {
                case.input.at(field).and_then(Json::as_str).is_some_and(|text| {
                    Json::parse(text).is_err_and(|why| why.what.starts_with("duplicate key"))
                })
            }
            Test::LoneSurrogate { field } => {
                case.input.at(field).and_then(Json::as_str).is_some_and(|text| {
                    Json::parse_last_wins(text).is_err_and(|why| why.what == "lone surrogate")
                })
            }
            Test::OneLayout => case.text("from").map(layout) == case.text("to").map(layout),
            Test::PlainWords => !case.stdlib_text,
            Test::InputGiven { field } => case.input.at(field).is_some(),
        };
        holds != self.negated
    }
}

/// The oldest version of the result layout that a version has; absent and empty mean 0.1.0.
fn layout(version: &str) -> &str {
    match version {
        "" | "-absent-" | "0.1.0" | "0.2.0" => "0.1.0",
        "0.3.0" | "0.3.1" | "0.4.0" => "0.3.0",
        "1.0.0" | "1.1.0" => "1.0.0",
        other => other,
    }
}

/// Whether a text is empty, or three decimal numbers without sign and leading zero.
fn is_version(text: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    text.is_empty() || (text.split('.').count() == 3 && text.split('.').all(plain))
}

#[cfg(test)]
mod tests;
