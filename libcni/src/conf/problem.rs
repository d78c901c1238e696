//! What is wrong with a configuration file: one fault, and what a file or a folder was skipped for.

use std::fmt;
use std::path::{Path, PathBuf};

use cni_types::{DecodeError, ErrorCode};

use super::locate::locate;

/// One thing that is wrong in a configuration.
///
/// ```
/// use libcni::Network;
/// let problems = Network::from_list(b"{\"name\": \"n 1\",\n \"plugins\": [{\"type\": \"../x\"}]}").unwrap_err();
/// assert_eq!(
///     problems[0].to_string(),
///     "1:10: name: invalid characters found in network name \"n 1\": must start with a letter or digit, \
///      followed by letters, digits, '_', '.' or '-'"
/// );
/// assert_eq!((problems[1].path.as_deref(), problems[1].line), (Some("plugins[0].type"), 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file; `None` if the configuration did not come from one.
    pub file: Option<PathBuf>,
    /// The line, from 1; 0 when unknown.
    pub line: usize,
    /// The column, from 1; 0 when unknown.
    pub column: usize,
    /// The path to the key, such as `plugins[1].type`; `None` for the file as a whole.
    pub path: Option<String>,
    /// What is wrong there, and what was expected.
    pub message: String,
    /// What kind of fault it is.
    pub kind: ProblemKind,
}

/// What kind of fault a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// No JSON, or JSON of another shape. Code 6.
    Decode,
    /// A value that breaks a rule. Code 7.
    Invalid,
    /// A file or folder that cannot be read. Code 5.
    Io,
}

impl Problem {
    /// A fault at a key of a text.
    pub(crate) fn at(json: &[u8], path: &str, message: impl Into<String>) -> Self {
        let (line, column) = locate(json, path);
        let path = Some(path.to_owned()).filter(|path| !path.is_empty());
        Self { file: None, line, column, path, message: message.into(), kind: ProblemKind::Invalid }
    }

    /// A fault of a file or folder as a whole.
    pub(crate) fn of_file(file: &Path, kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { file: Some(file.to_owned()), line: 0, column: 0, path: None, message: message.into(), kind }
    }

    /// The same fault, in a file.
    #[must_use]
    pub(crate) fn within(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// The CNI code that the fault would have as an error.
    pub fn code(&self) -> ErrorCode {
        match self.kind {
            ProblemKind::Decode => ErrorCode::DECODING_FAILURE,
            ProblemKind::Invalid => ErrorCode::INVALID_NETWORK_CONFIG,
            ProblemKind::Io => ErrorCode::IO_FAILURE,
        }
    }
}

impl From<DecodeError> for Problem {
    fn from(error: DecodeError) -> Self {
        Self {
            file: None,
            line: error.line(),
            column: error.column(),
            path: error.path().map(str::to_owned),
            message: error.message().to_owned(),
            kind: ProblemKind::Decode,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), 0) => write!(f, "{}: ", file.display())?,
            (Some(file), line) => write!(f, "{}:{line}:{}: ", file.display(), self.column)?,
            (None, 0) => {}
            (None, line) => write!(f, "{line}:{}: ", self.column)?,
        }
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// A file of a configuration folder that gave no network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The file.
    pub file: PathBuf,
    /// Why it was skipped.
    pub reason: SkipReason,
}

/// Why a file of a configuration folder gave no network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Something is wrong with it, or with a file in its drop-in folder.
    Faulty {
        /// The network's name, if it can be read and is a good one.
        name: Option<String>,
        /// Everything that is wrong.
        problems: Vec<Problem>,
    },
    /// An earlier file is of a network of this name, and the first one counts.
    Shadowed {
        /// The network's name.
        name: String,
        /// The file that counts.
        by: PathBuf,
    },
    /// Its name ends neither in `.conflist` nor in `.conf` or `.json`.
    OtherName,
}

impl Skipped {
    /// What is wrong with the file; nothing, if it was skipped for another reason.
    pub fn problems(&self) -> &[Problem] {
        match &self.reason {
            SkipReason::Faulty { problems, .. } => problems,
            SkipReason::OtherName | SkipReason::Shadowed { .. } => &[],
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            SkipReason::Faulty { problems, .. } => write_all(f, problems),
            SkipReason::Shadowed { name, by } => {
                write!(f, "{}: network {name:?} is taken from {}", self.file.display(), by.display())
            }
            SkipReason::OtherName => {
                write!(
                    f,
                    "{}: not read, its name does not end in .conflist, .conf or .json",
                    self.file.display()
                )
            }
        }
    }
}

/// Writes several things that are wrong on one line.
pub(super) fn write_all(
    f: &mut fmt::Formatter<'_>,
    all: impl IntoIterator<Item = impl fmt::Display>,
) -> fmt::Result {
    for (at, one) in all.into_iter().enumerate() {
        if at > 0 {
            f.write_str("; ")?;
        }
        one.fmt(f)?;
    }
    Ok(())
}
