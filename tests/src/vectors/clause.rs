//! The words in which a deviation is declared: the ways in which our answer may differ.
//!
//! A clause is a few words; values stand in single quotes and may name fields of the input as `{field}`.
//!
//! * `refused [code N] [saying 'TEXT' ...]`: we report an error where Go succeeds or crashes
//! * `accepted`: we succeed where Go reports an error or crashes; with `giving PATH from FIELD else JSON ...` also what comes
//!   out: the value of a field of the document that went in, or else the one told (`nothing`: no value)
//! * `own words [saying 'TEXT' ...]`: both report an error; ours is worded otherwise and names every value that Go quotes
//! * `other words saying 'TEXT' ...`: both report an error; ours speaks of something else, and says this
//! * `code N`, `stage 'NAME'`: both report an error; ours has this code, is noticed at this stage
//! * `adds PATH [JSON]`, `drops PATH`, `gives PATH JSON`: a value that only we have, only Go has, that is another one
//! * `changes PATH`: another value, whichever; `says PATH 'TEXT' ...`: another text, or one that only we have, with all of this
//! * `gives PATH from FIELD else JSON`: a value that only we have, or that is another one: that of a field of the document
//!   that went in, or else the one told
//! * `own bytes PATH`: a printed document in another order or with other escapes, laid out as Go does: indented by four
//!   spaces, without final newline; what came with the input may stand in it as it came
//! * `keeps the number PATH`: another text of what is the same number to Go, the one that stands in the input
//! * `keeps the mapped address PATH`: an IPv4-mapped address or network where Go has the IPv4 one
//! * `keeps the unknown key PATH`: a key that only we have, with the value that it has somewhere in the input
//! * `as the input has it PATH`: another value, which stands somewhere in the input
//! * `no counterpart`: the question cannot be put to our code
//!
//! `PATH` is a pattern with `*` over paths such as `ok.ips[0].address`.

use std::net::IpAddr;

use super::{case::Case, diff::Diff, glob, json::Json};

/// A way in which our answer may differ.
#[derive(Debug, Clone)]
pub struct Clause(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// An error where Go succeeds.
    Refused { code: Option<String>, saying: Vec<String> },
    /// Success where Go reports an error.
    Accepted { giving: Vec<From> },
    /// Another wording of the same error.
    OwnWords { saying: Vec<String> },
    /// Another message of the same kind of error.
    OtherWords { saying: Vec<String> },
    /// Another value of a field of the error.
    ErrorField { path: String, value: Json },
    /// A value that only we have.
    Adds { path: String, value: Option<Json> },
    /// Another value, or one that only we have, taken from the document that went in.
    GivesFrom(From),
    /// The same kind of document, printed otherwise.
    OwnBytes { path: String },
    /// A value that only Go has.
    Drops { path: String },
    /// Another value, whichever.
    Changes { path: String },
    /// Another text, which says something.
    Says { path: String, saying: Vec<String> },
    /// Another value.
    Gives { path: String, value: Json },
    /// A number in the input's words.
    KeepsNumber { path: String },
    /// An IPv4-mapped address.
    KeepsMapped { path: String },
    /// A key of the input.
    KeepsKey { path: String },
    /// A value that stands in the input.
    AsInput { path: String },
    /// Nothing to ask.
    NoCounterpart,
}

/// A value that is expected at a path of our answer because it stands in a field of the document that went in.
#[derive(Debug, Clone)]
struct From {
    path: String,
    field: String,
    /// What is expected where the document has no such field: a value, or none.
    otherwise: Option<Json>,
}

impl From {
    fn value<'a>(&'a self, source: Option<&'a Json>) -> Option<&'a Json> {
        source.and_then(|source| source.at(&self.field)).or(self.otherwise.as_ref())
    }
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
        let otherwise_of = |value: &str| (value != "nothing").then(|| json(value)).transpose();
        Ok(Self(match *words {
            ["refused", "code", code, ref rest @ ..] => {
                Kind::Refused { code: Some(code.to_owned()), saying: saying(rest)? }
            }
            ["refused", ref rest @ ..] => Kind::Refused { code: None, saying: saying(rest)? },
            ["accepted", ref giving @ ..] => {
                let giving = giving.chunks(6).map(|one| match *one {
                    ["giving", path, "from", field, "else", otherwise] => Ok(From {
                        path: path.to_owned(),
                        field: field.to_owned(),
                        otherwise: otherwise_of(otherwise)?,
                    }),
                    _ => Err(format!("{text:?} is no clause")),
                });
                Kind::Accepted { giving: giving.collect::<Result<_, _>>()? }
            }
            ["own", "words", ref rest @ ..] => Kind::OwnWords { saying: saying(rest)? },
            ["other", "words", "saying", ref rest @ ..] if !rest.is_empty() => {
                Kind::OtherWords { saying: rest.iter().map(|text| (*text).to_owned()).collect() }
            }
            ["code", code] => Kind::ErrorField { path: "error.code".to_owned(), value: json(code)? },
            ["stage", stage] => {
                Kind::ErrorField { path: "error.stage".to_owned(), value: Json::string(stage) }
            }
            ["gives", path, "from", field, "else", otherwise] => Kind::GivesFrom(From {
                path: path.to_owned(),
                field: field.to_owned(),
                otherwise: otherwise_of(otherwise)?,
            }),
            ["changes", path] => Kind::Changes { path: path.to_owned() },
            ["says", path, ref rest @ ..] if !rest.is_empty() => {
                let saying = rest.iter().map(|text| (*text).to_owned()).collect();
                Kind::Says { path: path.to_owned(), saying }
            }
            ["own", "bytes", path] => Kind::OwnBytes { path: path.to_owned() },
            ["adds", path] => Kind::Adds { path: path.to_owned(), value: None },
            ["adds", path, value] => Kind::Adds { path: path.to_owned(), value: Some(json(value)?) },
            ["drops", path] => Kind::Drops { path: path.to_owned() },
            ["gives", path, value] => Kind::Gives { path: path.to_owned(), value: json(value)? },
            ["keeps", "the", "number", path] => Kind::KeepsNumber { path: path.to_owned() },
            ["keeps", "the", "mapped", "address", path] => Kind::KeepsMapped { path: path.to_owned() },
            ["keeps", "the", "unknown", "key", path] => Kind::KeepsKey { path: path.to_owned() },
            ["as", "the", "input", "has", "it", path] => Kind::AsInput { path: path.to_owned() },
            ["no", "counterpart"] => Kind::NoCounterpart,
            _ => return Err(format!("{text:?} is no clause")),
        }))
    }

    /// Whether it says that we succeed, or that we report an error.
    pub fn speaks_of_the_verdict(&self) -> bool {
        matches!(self.0, Kind::Refused { .. } | Kind::Accepted { .. })
    }

    /// Whether this is what happens in `diff`. `source` is the document that went in, if it is one.
    pub fn explains(&self, diff: &Diff, case: &Case, source: Option<&Json>) -> bool {
        match (&self.0, diff) {
            (Kind::Refused { code, saying }, Diff::Refused { ours, .. }) => refusal(ours, code, saying, case),
            (Kind::Refused { code, saying }, Diff::Panicked { ours }) => {
                ours.field("error").is_some_and(|error| refusal(error, code, saying, case))
            }
            (Kind::Accepted { giving }, Diff::Accepted { ours, .. }) => {
                giving.iter().all(|from| ours.at(&from.path) == from.value(source))
            }
            (Kind::Accepted { .. }, Diff::Panicked { ours }) => ours.field("ok").is_some(),
            (Kind::OwnWords { saying }, Diff::Worded { go, ours }) => {
                let text = wording(ours);
                ours.field("text").is_some_and(|text| *text != Json::string(""))
                    && quoted(&wording(go)).iter().all(|value| text.contains(value))
                    && says_all(&text, saying, case)
            }
            (Kind::OtherWords { saying }, Diff::Worded { ours, .. }) => {
                says_all(&wording(ours), saying, case)
            }
            (Kind::ErrorField { path: want, value }, Diff::Changed { path, ours, .. }) => {
                want == path && ours == value
            }
            (Kind::Adds { path: want, value }, Diff::Extra { path, ours }) => {
                glob::matches(want, path) && value.as_ref().is_none_or(|value| ours == value)
            }
            (Kind::GivesFrom(from), Diff::Extra { path, ours } | Diff::Changed { path, ours, .. }) => {
                glob::matches(&from.path, path) && Some(ours) == from.value(source)
            }
            (Kind::Changes { path: want }, Diff::Changed { path, .. }) => glob::matches(want, path),
            (
                Kind::Says { path: want, saying },
                Diff::Changed { path, ours, .. } | Diff::Extra { path, ours },
            ) => glob::matches(want, path) && ours.as_str().is_some_and(|text| says_all(text, saying, case)),
            (Kind::OwnBytes { path: want }, Diff::Changed { path, ours, .. }) => {
                glob::matches(want, path) && ours.as_str().is_some_and(is_laid_out)
            }
            (Kind::Drops { path: want }, Diff::Missing { path, .. }) => glob::matches(want, path),
            (Kind::Gives { path: want, value }, Diff::Changed { path, ours, .. }) => {
                glob::matches(want, path) && ours == value
            }
            (Kind::KeepsNumber { path: want }, Diff::Changed { path, go: Json::Number(go), ours }) => {
                let value = |text: &str| text.parse::<f64>().ok();
                let same = matches!(ours, Json::Number(ours) if value(ours) == value(go));
                glob::matches(want, path)
                    && same
                    && source.is_some_and(|source| source.any(&|part| part == ours))
            }
            (Kind::KeepsMapped { path: want }, Diff::Changed { path, go, ours }) => {
                glob::matches(want, path)
                    && ours
                        .as_str()
                        .and_then(unmapped)
                        .is_some_and(|ours| go.as_str().and_then(network) == Some(ours))
            }
            (Kind::KeepsKey { path: want }, Diff::Extra { path, ours }) => {
                let has = |(key, value): &(String, Json)| {
                    path.strip_suffix(key.as_str()).is_some_and(|rest| rest.ends_with('.')) && value == ours
                };
                let in_object = |part: &Json| part.as_object().unwrap_or_default().iter().any(has);
                glob::matches(want, path) && source.is_some_and(|source| source.any(&in_object))
            }
            (Kind::AsInput { path: want }, Diff::Changed { path, ours, .. }) => {
                glob::matches(want, path) && source.is_some_and(|source| source.any(&|part| part == ours))
            }
            (Kind::NoCounterpart, Diff::NoCounterpart { .. }) => true,
            _ => false,
        }
    }
}

/// An address, or a network's address and the length of its prefix.
fn network(text: &str) -> Option<(IpAddr, Option<u8>)> {
    match text.split_once('/') {
        None => Some((text.parse().ok()?, None)),
        Some((address, length)) => Some((address.parse().ok()?, Some(length.parse().ok()?))),
    }
}

/// What Go makes of an IPv4-mapped address or network: the IPv4 one, its prefix cut to the last 32 bits.
fn unmapped(text: &str) -> Option<(IpAddr, Option<u8>)> {
    match network(text)? {
        (IpAddr::V6(address), length) => {
            Some((IpAddr::V4(address.to_ipv4_mapped()?), length.map(|length| length.saturating_sub(96))))
        }
        (IpAddr::V4(_), _) => None,
    }
}

fn refusal(error: &Json, code: &Option<String>, saying: &[String], case: &Case) -> bool {
    let text = wording(error);
    error.field("text").is_some_and(|text| *text != Json::string(""))
        && code.as_ref().is_none_or(|code| error.field("code") == Some(&Json::number(code)))
        && says_all(&text, saying, case)
}

/// Whether a JSON text is indented by four spaces and ends without newline. What stands in strings is left aside, and so is
/// a value that stands on one line: it may have come like this.
fn is_laid_out(text: &str) -> bool {
    let Ok(document) = Json::parse(text) else { return false };
    let indented = document.indented();
    if text.lines().count() == 1 {
        return indented == text;
    }
    // Lines of an indented document are indented by fours and hold one key or value each.
    let lines: Vec<&str> = text.split('\n').collect();
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    lines.last().is_some_and(|last| !last.is_empty())
        && lines.iter().all(|line| depth(line).is_multiple_of(4) && line.trim_end() == *line)
        && lines.iter().all(|line| {
            let content = line.trim_start().trim_end_matches(',');
            matches!(content, "{" | "}" | "[" | "]")
                || Json::parse(content).is_ok()
                || Json::parse(&format!("{{{content}}}")).is_ok()
                || content.strip_suffix(['{', '[']).is_some_and(|key| key.ends_with(": "))
        })
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
        let shown = format!("{wanted:?}");
        let escaped = shown.trim_matches('"');
        text.contains(&wanted) || text.contains(escaped)
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
pub(super) fn words(text: &str) -> Result<Vec<String>, String> {
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
