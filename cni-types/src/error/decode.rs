//! Why bytes could not be decoded: what they were to be, the key path, the line and column.

use std::fmt;

use super::path::{path_at, start_of};
use crate::error::{ErrorCode, ErrorObject};

/// JSON that could not be decoded.
///
/// ```
/// use cni_types::result::VersionedResult;
/// let error = VersionedResult::decode(br#"{"cniVersion":"1.0.0","ips":[{"address":"10.1.0.5"}]}"#).unwrap_err();
/// assert_eq!(error.path(), Some("ips[0].address"));
/// assert_eq!(error.line(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    what: String,
    path: Option<String>,
    message: String,
    line: usize,
    column: usize,
    kind: DecodeErrorKind,
}

/// What kind of fault it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// JSON of the wrong shape: a wrong type, a missing key, a value that breaks a rule.
    Data,
    /// The bytes end too early.
    Eof,
    /// No JSON.
    Syntax,
}

impl DecodeError {
    /// What the parser said of a document, with the path to the place where it said so.
    #[cold]
    pub(crate) fn parsing(what: &str, document: &[u8], error: &serde_json::Error) -> Self {
        let line_start = start_of_line(document, error.line());
        let path = line_start.map(|start| path_at(document, start.saturating_add(error.column())));
        let path = path.filter(|path| !path.is_empty());
        Self { path, ..Self::without_path(what, error) }
    }

    /// What the parser said at a path.
    pub(crate) fn parsing_at(what: &str, path: &str, error: &serde_json::Error) -> Self {
        let path = Some(path.to_owned()).filter(|path| !path.is_empty() && path != ".");
        Self { path, ..Self::without_path(what, error) }
    }

    /// What the parser said of a document that is not at hand.
    pub(crate) fn without_path(what: &str, error: &serde_json::Error) -> Self {
        let kind = match error.classify() {
            serde_json::error::Category::Eof => DecodeErrorKind::Eof,
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => DecodeErrorKind::Syntax,
            serde_json::error::Category::Data => DecodeErrorKind::Data,
        };
        // serde_json appends the position to its text; it is a field here.
        let mut message = error.to_string();
        if let Some(at) = message.rfind(" at line ") {
            message.truncate(at);
        }
        Self { what: what.to_owned(), path: None, message, line: error.line(), column: error.column(), kind }
    }

    /// Bytes that are no text from a place on.
    #[cold]
    pub(crate) fn not_utf8(what: &str, document: &[u8], place: usize) -> Self {
        let (lines_before, columns_before) = lines_and_columns(document, place);
        Self {
            what: what.to_owned(),
            path: Some(path_at(document, place)).filter(|path| !path.is_empty()),
            message: "invalid unicode code point, expected UTF-8".to_owned(),
            line: lines_before + 1,
            column: columns_before + 1,
            kind: DecodeErrorKind::Syntax,
        }
    }

    /// A fault that this crate found itself, in a value that is JSON.
    pub fn data(what: impl Into<String>, path: impl Into<String>, message: impl Into<String>) -> Self {
        let path = Some(path.into()).filter(|path| !path.is_empty());
        Self {
            what: what.into(),
            path,
            message: message.into(),
            line: 0,
            column: 0,
            kind: DecodeErrorKind::Data,
        }
    }

    /// Puts the error into the document that holds it: `prefix` goes before the key path.
    ///
    /// Line and column are those of the part, so they are moved by where the part starts in the document. They are unknown
    /// if the part is no slice of the document.
    #[must_use]
    pub fn within(self, what: impl Into<String>, prefix: &str, document: &[u8], part: &[u8]) -> Self {
        let (line, column) = (self.line, self.column);
        let mut error = self.under(what, prefix);
        if line > 0
            && let Some(start) = offset_of(document, part)
        {
            let (lines_before, columns_before) = lines_and_columns(document, start);
            error.line = lines_before + line;
            error.column = if line == 1 { columns_before + column } else { column };
        }
        error
    }

    /// Puts the error into a document that is not at hand, so that line and column are unknown.
    #[must_use]
    pub(crate) fn under(mut self, what: impl Into<String>, prefix: &str) -> Self {
        self.what = what.into();
        self.path = Some(match self.path {
            None => prefix.to_owned(),
            Some(path) if path.starts_with('[') => format!("{prefix}{path}"),
            Some(path) => format!("{prefix}.{path}"),
        });
        (self.line, self.column) = (0, 0);
        self
    }

    /// Finds the line and column where the value at the key path begins in a document, if it is there.
    ///
    /// For an error of a value that was kept as text, such as a `prevResult`, and the document that it came in.
    ///
    /// ```
    /// use cni_types::config::PluginConfig;
    /// let document = b"{\"cniVersion\": \"1.0.0\",\n \"prevResult\": {\"ips\": 7}}";
    /// let error = PluginConfig::decode(document)?.decode_prev_result().unwrap_err();
    /// assert_eq!((error.path(), error.line()), (Some("prevResult.ips"), 0));
    /// let error = error.located_in(document);
    /// assert_eq!((error.line(), error.column()), (2, 24));
    /// # Ok::<(), cni_types::DecodeError>(())
    /// ```
    #[must_use]
    pub fn located_in(mut self, document: &[u8]) -> Self {
        if let Some(start) = self.path().and_then(|path| start_of(document, path)) {
            let (lines_before, columns_before) = lines_and_columns(document, start);
            (self.line, self.column) = (lines_before + 1, columns_before + 1);
        }
        self
    }

    /// What the bytes were to be: `result`, `network configuration`, …
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The path to the faulty key, such as `ips[0].address`; `None` for the document as a whole.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// What is wrong there.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The line of the fault, from 1; 0 when unknown.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column of the fault, from 1; 0 when unknown.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What kind of fault it was.
    pub fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// Whether the bytes are no JSON at all.
    pub fn is_syntax(&self) -> bool {
        self.kind != DecodeErrorKind::Data
    }
}

/// Where a line, counted from 1, starts in a document; `None` for no line.
fn start_of_line(document: &[u8], line: usize) -> Option<usize> {
    let mut ends = document.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    match line {
        0 => None,
        1 => Some(0),
        line => ends.nth(line - 2).map(|end| end + 1),
    }
}

/// How many lines come before a place, and how many bytes of its own line.
fn lines_and_columns(document: &[u8], place: usize) -> (usize, usize) {
    let before = document.get(..place).unwrap_or(document);
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    (before.iter().filter(|b| **b == b'\n').count(), before.len() - line_start)
}

/// Where `part`, a slice of `document`, starts in it.
pub(crate) fn offset_of(document: &[u8], part: &[u8]) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(document.as_ptr() as usize)?;
    (start + part.len() <= document.len()).then_some(start)
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot decode {}", self.what)?;
        if let Some(path) = &self.path {
            write!(f, ": {path}")?;
        }
        write!(f, ": {}", self.message)?;
        if self.line > 0 {
            write!(f, " at line {} column {}", self.line, self.column)?;
        }
        Ok(())
    }
}

impl std::error::Error for DecodeError {}

impl From<DecodeError> for ErrorObject {
    /// Code 6: the content could not be decoded.
    fn from(error: DecodeError) -> Self {
        Self::new(ErrorCode::DECODING_FAILURE, error.to_string())
    }
}
