//! What is hidden in whatever a person may send to others: traces, errors, reports.
//!
//! Secret is the value of a key: in a configuration, in `CNI_ARGS`, in the environment. Keys are secret by what stands in
//! their names, and others are given. A value is hidden behind its key, and wherever else it shows: so that what a plugin
//! says about it does not tell it, values are learnt from what plugins are given and from the files. What is shorter than
//! [`SHORTEST`] is hidden behind its key alone, or half of any text would go.
//!
//! How a value is found in a text is in `document`.

mod document;
mod exec;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use libcni::cni_invoke::Environment;
use libcni::cni_types::env;

use crate::file;

pub(crate) use exec::Redacting;

/// What names of keys have in them whose values nobody else is to know.
const SECRET: [&str; 10] = [
    "accesskey",
    "apikey",
    "auth",
    "cookie",
    "credential",
    "passphrase",
    "passw",
    "privatekey",
    "secret",
    "token",
];
/// What stands in place of a value.
const HIDDEN: &str = "(hidden)";
/// The shortest value that is hidden wherever it shows, in bytes.
const SHORTEST: usize = 4;
/// Words that may be a secret's value, and are none.
const WORDS: [&str; 4] = ["false", "none", "null", "true"];
/// The shortest line that is hidden of a value of several lines, in bytes.
const SHORTEST_LINE: usize = 8;

/// Which keys are secret, and the values that they are known to have.
#[derive(Debug, Default)]
pub(crate) struct Redaction {
    /// Those given, in lower case.
    keys: Vec<String>,
    values: Mutex<BTreeSet<String>>,
}

impl Redaction {
    /// With these keys beside those that are secret by their names.
    pub(crate) fn new(keys: impl IntoIterator<Item = String>) -> Self {
        Self { keys: keys.into_iter().map(|key| key.to_lowercase()).collect(), values: Mutex::default() }
    }

    /// Whether a user has said what is secret.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    fn is_secret(&self, key: &str) -> bool {
        let lower = key.to_lowercase();
        if self.keys.contains(&lower) {
            return true;
        }
        // Those of the protocol are not, whatever is in their values.
        if lower.starts_with("cni_") {
            return false;
        }
        let letters: String = lower.chars().filter(|letter| !matches!(letter, '_' | '-' | '.')).collect();
        SECRET.iter().any(|part| letters.contains(part))
            || lower.ends_with("_key")
            || lower.ends_with("_pass")
    }

    /// Learns what a plugin is given.
    pub(crate) fn learn_call(&self, environment: &Environment, stdin: &[u8]) {
        for (name, value) in environment.iter() {
            let value = value.to_string_lossy();
            if self.is_secret(&name.to_string_lossy()) {
                self.learn(&value);
            }
            if name == OsStr::new(env::ARGS) {
                self.learn_args(&value);
            }
        }
        self.learn_document(stdin);
    }

    /// Learns the values of a document, be it JSON or nearly so.
    pub(crate) fn learn_document(&self, json: &[u8]) {
        let text = String::from_utf8_lossy(json);
        for value in document::values(&text, |key| self.is_secret(key)) {
            value.texts(&text).iter().for_each(|value| self.learn(value));
        }
    }

    /// Learns the values of the files of a directory, or of a file: whatever is wrong with one may be told with a quote.
    pub(crate) fn learn_files(&self, path: &Path) {
        let Ok(found) = fs::metadata(path) else { return };
        if found.is_dir() {
            // Those of a directory below are a network's drop-ins.
            let below =
                |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
            for path in below(path) {
                let dir = path.is_dir().then(|| below(&path)).into_iter().flatten();
                dir.chain([path.clone()]).for_each(|file| self.learn_file(&file));
            }
        } else {
            self.learn_file(path);
        }
    }

    fn learn_file(&self, path: &Path) {
        // What cannot be read is not quoted either.
        if let Ok(json) = file::read(path) {
            self.learn_document(&json);
        }
    }

    /// Learns the values of pairs.
    pub(crate) fn learn_args(&self, pairs: &str) {
        let pairs = pairs.split(';').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| self.is_secret(key)).for_each(|(_, value)| self.learn(value));
    }

    fn learn(&self, value: &str) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keep = |text: &str, shortest| {
            if text.len() >= shortest && !WORDS.contains(&text) {
                values.insert(text.to_owned());
            }
        };
        keep(value, SHORTEST);
        value.lines().map(str::trim).for_each(|line| keep(line, SHORTEST_LINE));
    }

    /// A text, without what is secret.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = self.without_values(text);
        let values = document::values(&text, |key| self.is_secret(key));
        for value in values.iter().rev() {
            value.replace(&mut text, HIDDEN);
        }
        self.without_pairs(&text)
    }

    /// A JSON document of our own, without what is secret in its strings, which may be documents again.
    pub(crate) fn json(&self, json: &str) -> String {
        let mut json = json.to_owned();
        for value in document::values(&json, |key| self.is_secret(key)).iter().rev() {
            value.replace(&mut json, HIDDEN);
        }
        for (range, text) in document::strings(&json).into_iter().rev() {
            let shown = self.text(&text);
            if shown != text {
                json.replace_range(range, &serde_json::to_string(&shown).unwrap_or_default());
            }
        }
        json
    }

    fn without_values(&self, text: &str) -> String {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let mut forms: Vec<String> = values.iter().flat_map(|value| forms(value)).collect();
        drop(values);
        // One may be a part of another.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        let mut text = text.to_owned();
        for form in &forms {
            if text.contains(form.as_str()) {
                text = text.replace(form.as_str(), HIDDEN);
            }
        }
        for form in &forms {
            text = without_part(text, form);
        }
        text
    }

    /// Hides what stands behind `KEY=`.
    fn without_pairs(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('=') {
            let (before, after) = (&rest[..at], &rest[at + 1..]);
            let is_of_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
            let name = before.rsplit(|letter| !is_of_name(letter)).next().unwrap_or_default();
            shown.push_str(&rest[..=at]);
            rest = after;
            // In quotes, the escape of a line's end may stand before it.
            let quoted = name
                .strip_prefix(['n', 'r', 't'])
                .filter(|_| before[..before.len() - name.len()].ends_with('\\'));
            if [Some(name), quoted].into_iter().flatten().any(|name| !name.is_empty() && self.is_secret(name))
            {
                let ends = |letter: char| letter.is_whitespace() || ";,&\"'\\".contains(letter);
                let value = &rest[..rest.find(ends).unwrap_or(rest.len())];
                if !value.is_empty() {
                    shown.push_str(HIDDEN);
                    rest = &rest[value.len()..];
                }
            }
        }
        shown + rest
    }
}

/// A value as it is, and as it stands in quotes, and in quotes within quotes.
fn forms(value: &str) -> BTreeSet<String> {
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap_or_default();
        quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
    };
    let debug = |text: &str| text.escape_debug().to_string();
    let once = [json(value), debug(value)];
    let twice = once.iter().flat_map(|text| [json(text), debug(text)]);
    let xml = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    twice.chain(once.clone()).chain([value.to_owned(), xml]).collect()
}

/// Hides what is left of a value where a text starts or ends within it, or the quote of a stream does.
fn without_part(mut text: String, form: &str) -> String {
    let lengths = |shortest| (shortest..form.len()).rev();
    let quote = text.find("\" (the first ").map(|at| (text[..at].trim_end_matches('\\').len(), SHORTEST));
    for (end, shortest) in [Some((text.len(), SHORTEST_LINE)), quote].into_iter().flatten() {
        let parts = lengths(shortest).filter_map(|length| form.get(..length));
        if let Some(part) = parts.into_iter().find(|part| text[..end].ends_with(part)) {
            text.replace_range(end - part.len()..end, HIDDEN);
            break;
        }
    }
    const STDERR: &str = "stderr \"";
    let quote = text.find(STDERR).filter(|_| text.contains("\" (the last "));
    let quote = quote.map(|at| (at + STDERR.len(), SHORTEST));
    for (start, shortest) in [quote, Some((0, SHORTEST_LINE))].into_iter().flatten() {
        let parts = lengths(shortest).filter_map(|length| form.get(form.len() - length..));
        if let Some(part) = parts.into_iter().find(|part| text[start..].starts_with(part)) {
            text.replace_range(start..start + part.len(), HIDDEN);
        }
    }
    text
}

#[cfg(test)]
mod tests;
