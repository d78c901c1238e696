//! A JSON value that keeps the text of its numbers, with its own parser and printer.
//!
//! Two values are equal when they say the same, whatever the order of their keys. Numbers are compared by text:
//! `1e3`, `1000` and `1000.0` are three answers, for what the vectors measure is whether a number survives.
//! The parser is strict (no duplicate keys, no lone surrogates, nothing after the document), since it also reads
//! what our own crates print.

use std::fmt;

mod parse;

pub use parse::{ParseError, Rules};

/// A JSON value. Objects keep the order in which their keys were written; comparison ignores it.
#[derive(Debug, Clone)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, in the order of its text.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses one strict JSON document.
    ///
    /// # Errors
    /// Anything that is not exactly one JSON document, with the byte offset of the fault.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::document(text, Rules::Strict)
    }

    /// Parses one JSON document in which duplicate keys are allowed; the last one wins, in the place of the first.
    ///
    /// # Errors
    /// Anything else that is not exactly one JSON document.
    pub fn parse_last_wins(text: &str) -> Result<Self, ParseError> {
        parse::document(text, Rules::LastKeyWins)
    }

    /// As [`Json::parse_last_wins`], and half of a UTF-16 pair reads as U+FFFD.
    ///
    /// # Errors
    /// Anything else that is not exactly one JSON document.
    pub fn parse_tolerantly(text: &str) -> Result<Self, ParseError> {
        parse::document(text, Rules::Tolerant)
    }

    /// Parses the strict JSON documents that follow each other in `text`.
    ///
    /// # Errors
    /// Text between or after the documents that is neither white space nor a document.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, ParseError> {
        parse::documents(text)
    }

    /// An object of the given fields.
    pub fn object<K: Into<String>>(fields: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Object(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A string value.
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// A number value from its text.
    pub fn number(number: impl fmt::Display) -> Self {
        Self::Number(number.to_string())
    }

    /// The field `key` of an object.
    pub fn field(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value at a path of keys and list indices, `a.b[0].c`. Keys with a dot or bracket cannot be named.
    pub fn at(&self, path: &str) -> Option<&Self> {
        let mut here = self;
        for part in path.split('.').filter(|part| !part.is_empty()) {
            let (key, indices) = part.split_once('[').map_or((part, ""), |(key, rest)| (key, rest));
            if !key.is_empty() {
                here = here.field(key)?;
            }
            for index in indices.split('[').filter(|index| !index.is_empty()) {
                let Self::Array(items) = here else { return None };
                here = items.get(index.strip_suffix(']')?.parse::<usize>().ok()?)?;
            }
        }
        Some(here)
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, if this is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The fields, if this is an object.
    pub fn as_object(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// The value as Go prints it: indented by four spaces, without final newline.
    pub fn indented(&self) -> String {
        let mut out = String::new();
        self.indent(&mut out, "\n");
        out
    }

    fn indent(&self, out: &mut String, line: &str) {
        let inner = format!("{line}    ");
        match self {
            Self::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "[" } else { "," });
                    out.push_str(&inner);
                    item.indent(out, &inner);
                }
                out.push_str(line);
                out.push(']');
            }
            Self::Object(fields) if !fields.is_empty() => {
                for (index, (key, value)) in fields.iter().enumerate() {
                    out.push_str(if index == 0 { "{" } else { "," });
                    out.push_str(&inner);
                    out.push_str(&Self::string(key).to_string());
                    out.push_str(": ");
                    value.indent(out, &inner);
                }
                out.push_str(line);
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }

    /// Whether a value for which `same` holds is this one or stands anywhere within it.
    pub fn any(&self, same: &impl Fn(&Self) -> bool) -> bool {
        same(self)
            || match self {
                Self::Array(items) => items.iter().any(|item| item.any(same)),
                Self::Object(fields) => fields.iter().any(|(_, value)| value.any(same)),
                _ => false,
            }
    }

    /// Applies `change` to every string in the value, keys included.
    #[must_use]
    pub fn map_strings(self, change: &impl Fn(&str) -> String) -> Self {
        match self {
            Self::String(text) => Self::String(change(&text)),
            Self::Array(items) => {
                Self::Array(items.into_iter().map(|item| item.map_strings(change)).collect())
            }
            Self::Object(fields) => Self::Object(
                fields.into_iter().map(|(key, value)| (change(&key), value.map_strings(change))).collect(),
            ),
            other => other,
        }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) | (Self::String(a), Self::String(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, value)| other.field(key) == Some(value))
            }
            _ => false,
        }
    }
}

/// Compact JSON.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(text) => f.write_str(text),
            Self::String(text) => write_string(f, text),
            Self::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Object(fields) => {
                f.write_str("{")?;
                for (index, (key, value)) in fields.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    write_string(f, key)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests;
