//! The list of cases that we answer differently on purpose, `tests/vectors-deviations.json`.
//!
//! Each entry names cases by file, name pattern and condition, says how our answer differs, why, and which row of
//! `docs/deviations.md` tells the story. This module reads the list; [`run`](super::run) holds answers against it.

use super::{
    case::{Case, FILES},
    clause::{Clause, Condition},
    glob,
    json::Json,
};

/// One cause of differences in one file.
#[derive(Debug, Clone)]
pub struct Deviation {
    /// Number of the row in `docs/deviations.md`.
    pub row: u32,
    /// Vector file, without `.json`.
    pub file: &'static str,
    /// Name patterns; one must match.
    pub names: Vec<String>,
    /// Conditions on the case; all must hold.
    pub conditions: Vec<Condition>,
    /// The ways in which our answer differs.
    pub clauses: Vec<Clause>,
    /// The clauses as written.
    pub clause_texts: Vec<String>,
    /// Why, in a few words.
    pub reason: String,
}

impl Deviation {
    /// The first of the entry's patterns that matches the case, if all its conditions hold.
    pub fn matching(&self, case: &Case, go: &Json) -> Option<usize> {
        if self.file != case.file || !self.conditions.iter().all(|condition| condition.holds(case, go)) {
            return None;
        }
        self.names.iter().position(|pattern| glob::matches(pattern, &case.name))
    }

    /// A short name for messages.
    pub fn label(&self) -> String {
        format!("row {} ({}: {})", self.row, self.file, self.names.join(", "))
    }
}

/// Reads the list.
///
/// # Errors
/// Text that is not JSON, or an entry that is not of the form; the message tells which.
pub fn parse(text: &str) -> Result<Vec<Deviation>, String> {
    let document = Json::parse(text).map_err(|error| error.to_string())?;
    let entries = document.as_array().ok_or("expected an array of entries")?;
    entries
        .iter()
        .enumerate()
        .map(|(index, entry)| deviation(entry).map_err(|error| format!("entry {index}: {error}: {entry}")))
        .collect()
}

fn deviation(entry: &Json) -> Result<Deviation, String> {
    for (key, _) in entry.as_object().ok_or("expected an object")? {
        if !["row", "file", "names", "where", "ours", "reason"].contains(&key.as_str()) {
            return Err(format!("unknown key {key:?}"));
        }
    }
    let text =
        |key: &str| entry.field(key).and_then(Json::as_str).ok_or(format!("expected a string {key:?}"));
    let file = text("file")?;
    let clause_texts = strings(entry, "ours")?;
    let names = strings(entry, "names")?;
    if clause_texts.is_empty() || names.is_empty() || text("reason")?.is_empty() {
        return Err("\"names\", \"ours\" and \"reason\" cannot be empty".to_owned());
    }
    Ok(Deviation {
        row: match entry.field("row") {
            Some(Json::Number(number)) => number.parse().map_err(|_| format!("{number} is no row"))?,
            _ => return Err("expected a number \"row\"".to_owned()),
        },
        file: FILES.into_iter().find(|known| *known == file).ok_or(format!("unknown file {file:?}"))?,
        names,
        conditions: match entry.field("where") {
            None => Vec::new(),
            Some(_) => strings(entry, "where")?
                .iter()
                .map(|text| Condition::parse(text))
                .collect::<Result<_, _>>()?,
        },
        clauses: clause_texts.iter().map(|text| Clause::parse(text)).collect::<Result<_, _>>()?,
        clause_texts,
        reason: text("reason")?.to_owned(),
    })
}

fn strings(entry: &Json, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("expected a list of strings {key:?}");
    let items = entry.field(key).and_then(Json::as_array).ok_or_else(wrong)?;
    items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    const GOOD: &str = r#"{"row":31,"file":"validate","names":["a/*","b"],"where":["go accepts"],"ours":["refused"],"reason":"r"}"#;

    #[test]
    fn entries_are_read() {
        let list = parse(&format!("[{GOOD}]")).unwrap();
        assert_eq!((list[0].row, list[0].file, list[0].names.len()), (31, "validate", 2));
        assert_eq!(list[0].label(), "row 31 (validate: a/*, b)");
    }

    #[test]
    fn a_mistake_in_the_list_is_an_error() {
        for (from, to) in [
            ("31", "\"31\""),
            ("validate", "validates"),
            ("[\"a/*\",\"b\"]", "[]"),
            ("refused", "refuses"),
            ("go accepts", "accepts"),
            ("\"r\"", "\"\""),
            ("reason", "why"),
        ] {
            assert!(GOOD.contains(from));
            assert!(parse(&format!("[{}]", GOOD.replacen(from, to, 1))).is_err(), "{to}");
        }
    }
}
