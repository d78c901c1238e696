//! The list of cases that we answer differently on purpose, `tests/vectors-deviations.json`.
//!
//! Each entry names cases by file, name pattern and condition, says how our answer differs, why, and which row of
//! `docs/deviations.md` tells the story. This module reads the list; [`run`](super::run) holds answers against it.

use super::{
    case::{Case, FILES},
    clause::Clause,
    condition::Condition,
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
    pub patterns: Vec<Pattern>,
    /// Conditions on the case; all must hold.
    pub conditions: Vec<Condition>,
    /// Whether only other folders than the committed one have such cases.
    pub elsewhere: bool,
    /// The ways in which our answer differs.
    pub clauses: Vec<Clause>,
    /// The clauses as written.
    pub clause_texts: Vec<String>,
    /// Why, in a few words.
    pub reason: String,
}

/// A pattern over the names of cases.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The pattern; `*` is any text.
    pub text: String,
    /// Whether every case of such a name differs. Otherwise the cause lies in what some of them hold.
    pub all: bool,
}

impl Deviation {
    /// Indices of the patterns that match the case; none unless all conditions hold.
    pub fn matching(&self, case: &Case, go: &Json) -> Vec<usize> {
        let concerned = self.file == case.file
            && self.patterns.iter().any(|pattern| glob::matches(&pattern.text, &case.name))
            && self.conditions.iter().all(|condition| condition.holds(case, go));
        let matching =
            |(_, pattern): &(usize, &Pattern)| concerned && glob::matches(&pattern.text, &case.name);
        self.patterns.iter().enumerate().filter(matching).map(|(index, _)| index).collect()
    }

    /// A short name for messages.
    pub fn label(&self) -> String {
        let names: Vec<_> = self.patterns.iter().map(|pattern| pattern.text.as_str()).collect();
        format!("row {} ({}: {})", self.row, self.file, names.join(", "))
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
        if !["row", "file", "names", "where", "some", "elsewhere", "ours", "reason"].contains(&key.as_str()) {
            return Err(format!("unknown key {key:?}"));
        }
    }
    let text =
        |key: &str| entry.field(key).and_then(Json::as_str).ok_or(format!("expected a string {key:?}"));
    let flag = |key: &str| match entry.field(key) {
        None => Ok(false),
        Some(Json::Bool(true)) => Ok(true),
        Some(_) => Err(format!("{key:?} can only be true")),
    };
    let file = text("file")?;
    let clause_texts = strings(entry, "ours")?;
    let mut patterns = Vec::new();
    for (key, all) in [("names", true), ("some", false)] {
        if entry.field(key).is_some() {
            patterns.extend(strings(entry, key)?.into_iter().map(|text| Pattern { text, all }));
        }
    }
    if clause_texts.is_empty() || patterns.is_empty() || text("reason")?.is_empty() {
        return Err("neither names nor \"ours\" nor \"reason\" can be empty".to_owned());
    }
    Ok(Deviation {
        row: match entry.field("row") {
            Some(Json::Number(number)) => number.parse().map_err(|_| format!("{number} is no row"))?,
            _ => return Err("expected a number \"row\"".to_owned()),
        },
        file: FILES.into_iter().find(|known| *known == file).ok_or(format!("unknown file {file:?}"))?,
        patterns,
        conditions: match entry.field("where") {
            None => Vec::new(),
            Some(_) => strings(entry, "where")?
                .iter()
                .map(|text| Condition::parse(text))
                .collect::<Result<_, _>>()?,
        },
        elsewhere: flag("elsewhere")?,
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
        assert_eq!((list[0].row, list[0].file, list[0].patterns.len()), (31, "validate", 2));
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
