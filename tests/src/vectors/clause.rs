//! The words in which a deviation is declared: conditions on a case, and the ways in which our answer may differ.
//!
//! A clause is a few words; values stand in single quotes and may name fields of the input as `{field}`.
//!
//! Conditions (`where`; each may begin with `not`):
//! * `go accepts`, `go refuses`, `go refuses code N`, `go panics`, `go says 'TEXT'`
//! * `input FIELD has 'TEXT'`, `input FIELD is 'TEXT'`, `input FIELD given`
//!
//! Differences (`ours`):
//! * `refused [code N] [saying 'TEXT' ...]`: we report an error where Go succeeds or crashes
//! * `accepted`: we succeed where Go reports an error or crashes
//! * `own words [saying 'TEXT' ...]`: both report an error; ours is worded otherwise and names every value that Go quotes
//! * `more details`: both report an error with the same message; our details go on where Go's end
//! * `code N`, `stage 'NAME'`: both report an error; ours has this code, is noticed at this stage
//! * `adds PATH [JSON]`, `drops PATH`, `gives PATH JSON`: a value that only we have, only Go has, that is another one
//! * `as the input has it PATH`: as `adds` or `gives`, for a value that stands in the input just like this
//! * `no counterpart`: the question cannot be put to our code
//!
//! `PATH` is a pattern with `*` over paths such as `ok.ips[0].address`.

use super::{case::Case, diff::Diff, glob, json::Json};

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
            ["input", field, "has", text] => {
                Test::InputHas { field: field.to_owned(), text: text.to_owned() }
            }
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
            Test::InputGiven { field } => case.input.at(field).is_some(),
        };
        holds != self.negated
    }
}

/// A way in which our answer may differ.
#[derive(Debug, Clone)]
pub enum Clause {
    /// An error where Go succeeds.
    Refused { code: Option<String>, saying: Vec<String> },
    /// Success where Go reports an error.
    Accepted,
    /// Another wording of the same error.
    OwnWords { saying: Vec<String> },
    /// The same message, with more after Go's details.
    MoreDetails,
    /// Another value of a field of the error.
    ErrorField { path: String, value: Json },
    /// A value that only we have.
    Adds { path: String, value: Option<Json> },
    /// A value that only Go has.
    Drops { path: String },
    /// Another value.
    Gives { path: String, value: Json },
    /// A value that stands in the input.
    AsInput { path: String },
    /// Nothing to ask.
    NoCounterpart,
}

impl Clause {
    /// Reads a clause.
    ///
    /// # Errors
    /// Words that are no clause, or a value that is not JSON.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = words(text)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let saying = |rest: &[&str]| match rest {
            [] => Ok(Vec::new()),
            ["saying", first, more @ ..] => {
                Ok([*first].iter().chain(more).map(|text| (*text).to_owned()).collect::<Vec<_>>())
            }
            _ => Err(format!("{text:?} is no clause")),
        };
        let json = |value: &str| Json::parse(value).map_err(|error| format!("{text:?}: {error}"));
        Ok(match *words {
            ["refused", "code", code, ref rest @ ..] => {
                Self::Refused { code: Some(code.to_owned()), saying: saying(rest)? }
            }
            ["refused", ref rest @ ..] => Self::Refused { code: None, saying: saying(rest)? },
            ["accepted"] => Self::Accepted,
            ["own", "words", ref rest @ ..] => Self::OwnWords { saying: saying(rest)? },
            ["more", "details"] => Self::MoreDetails,
            ["code", code] => Self::ErrorField { path: "error.code".to_owned(), value: json(code)? },
            ["stage", stage] => {
                Self::ErrorField { path: "error.stage".to_owned(), value: Json::string(stage) }
            }
            ["adds", path] => Self::Adds { path: path.to_owned(), value: None },
            ["adds", path, value] => Self::Adds { path: path.to_owned(), value: Some(json(value)?) },
            ["drops", path] => Self::Drops { path: path.to_owned() },
            ["gives", path, value] => Self::Gives { path: path.to_owned(), value: json(value)? },
            ["as", "the", "input", "has", "it", path] => Self::AsInput { path: path.to_owned() },
            ["no", "counterpart"] => Self::NoCounterpart,
            _ => return Err(format!("{text:?} is no clause")),
        })
    }

    /// Whether this is what happens in `diff`. `source` is the document that went in, if it is one.
    pub fn explains(&self, diff: &Diff, case: &Case, source: Option<&Json>) -> bool {
        match (self, diff) {
            (Self::Refused { code, saying }, Diff::Refused { ours, .. }) => refusal(ours, code, saying, case),
            (Self::Refused { code, saying }, Diff::Panicked { ours }) => {
                ours.field("error").is_some_and(|error| refusal(error, code, saying, case))
            }
            (Self::Accepted, Diff::Accepted { .. }) => true,
            (Self::Accepted, Diff::Panicked { ours }) => ours.field("ok").is_some(),
            (Self::OwnWords { saying }, Diff::Worded { go, ours }) => {
                let text = wording(ours);
                ours.field("text").is_some_and(|text| *text != Json::string(""))
                    && quoted(&wording(go)).iter().all(|value| text.contains(value))
                    && says_all(&text, saying, case)
            }
            (Self::MoreDetails, Diff::Worded { go, ours }) => {
                let details =
                    |side: &Json| side.field("details").and_then(Json::as_str).unwrap_or_default().to_owned();
                go.field("text") == ours.field("text") && details(ours).starts_with(&details(go))
            }
            (Self::ErrorField { path: want, value }, Diff::Changed { path, ours, .. }) => {
                want == path && ours == value
            }
            (Self::Adds { path: want, value }, Diff::Extra { path, ours }) => {
                glob::matches(want, path) && value.as_ref().is_none_or(|value| ours == value)
            }
            (Self::Drops { path: want }, Diff::Missing { path, .. }) => glob::matches(want, path),
            (Self::Gives { path: want, value }, Diff::Changed { path, ours, .. }) => {
                glob::matches(want, path) && ours == value
            }
            (Self::AsInput { path: want }, Diff::Changed { path, ours, .. } | Diff::Extra { path, ours }) => {
                glob::matches(want, path) && source.is_some_and(|source| source.contains(ours))
            }
            (Self::NoCounterpart, Diff::NoCounterpart { .. }) => true,
            _ => false,
        }
    }
}

fn refusal(error: &Json, code: &Option<String>, saying: &[String], case: &Case) -> bool {
    let text = wording(error);
    error.field("text").is_some_and(|text| *text != Json::string(""))
        && code.as_ref().is_none_or(|code| error.field("code") == Some(&Json::number(code)))
        && says_all(&text, saying, case)
}

/// Message and details of an error.
fn wording(error: &Json) -> String {
    let said = |key| error.field(key).and_then(Json::as_str).unwrap_or_default();
    format!("{} {}", said("text"), said("details"))
}

fn says_all(text: &str, saying: &[String], case: &Case) -> bool {
    saying.iter().all(|wanted| {
        let wanted = fill(wanted, case);
        // A quoted value may be shown escaped.
        let escaped = wanted.escape_debug().to_string();
        text.contains(&wanted) || text.contains(&escaped)
    })
}

/// Puts fields of the input in the place of `{field}`.
fn fill(template: &str, case: &Case) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((field, after)) = after.split_once('}') else { break };
        out.push_str(before);
        match case.input.at(field) {
            Some(Json::String(text)) => out.push_str(text),
            Some(other) => out.push_str(&other.to_string()),
            None => {}
        }
        rest = after;
    }
    out + rest
}

/// The plain values between double quotes in a message of Go's.
fn quoted(text: &str) -> Vec<&str> {
    let parts: Vec<&str> = text.split('"').collect();
    if text.contains('\\') || parts.len().is_multiple_of(2) {
        return Vec::new();
    }
    parts.into_iter().skip(1).step_by(2).filter(|value| !value.is_empty()).collect()
}

/// Splits at spaces; what stands in single quotes is one word.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => {
                quoted.split_once('\'').ok_or_else(|| format!("{text:?}: a quote is not closed"))?
            }
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        out.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
