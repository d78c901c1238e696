//! What was put on a node or taken away, and why nothing was.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::with_causes;
use super::{Report, Style, pretty};
use crate::cmd::Objection;

/// What became of each file, in order.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    pub(crate) files: Vec<(PathBuf, Outcome)>,
}

/// What became of a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was not there to be removed.
    Absent,
    /// It is not the one that was to be removed, and stays.
    Differs,
    /// It was not there before.
    Installed,
    Removed,
    /// Another one was there before.
    Replaced,
    /// It was there already.
    Unchanged,
    /// It stays, since this network needs it.
    Used(String),
}

impl Outcome {
    /// A word that programs can tell outcomes apart by.
    fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Differs | Self::Used(_) => "kept",
            Self::Installed => "installed",
            Self::Removed => "removed",
            Self::Replaced => "replaced",
            Self::Unchanged => "unchanged",
        }
    }

    fn reason(&self) -> Option<String> {
        match self {
            Self::Differs => Some("it is not the given one".to_owned()),
            Self::Used(network) => Some(format!("network {network:?} uses it")),
            _ => None,
        }
    }
}

impl Report for Installed {
    fn text(&self, style: Style) -> String {
        let line = |(path, outcome): &(PathBuf, Outcome)| {
            let paint = match outcome {
                Outcome::Installed | Outcome::Removed | Outcome::Replaced => Style::green,
                Outcome::Differs => Style::red,
                Outcome::Absent | Outcome::Unchanged => Style::plain,
                Outcome::Used(_) => Style::yellow,
            };
            let word = paint(style, &format!("{:<9}", outcome.word()));
            let reason = outcome.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{word}  {}{reason}\n", path.display())
        };
        self.files.iter().map(line).collect()
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        struct File<'a> {
            path: &'a Path,
            outcome: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<String>,
        }
        #[derive(Serialize)]
        struct Json<'a> {
            files: Vec<File<'a>>,
        }
        let file = |(path, outcome)| {
            let (path, outcome): (&PathBuf, &Outcome) = (path, outcome);
            File { path, outcome: outcome.word(), reason: outcome.reason() }
        };
        pretty(&Json { files: self.files.iter().map(|(path, outcome)| file((path, outcome))).collect() })
    }
}

/// An objection that stops nothing.
pub(crate) struct Warning<'a>(pub(crate) &'a Objection);

impl fmt::Display for Warning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why nothing was installed.
pub(super) fn refused(objections: &[Objection]) -> String {
    let all: Vec<_> = objections.iter().map(ToString::to_string).collect();
    let hint = if objections.iter().any(Objection::can_be_forced) {
        " (--force installs plugins that cannot be asked here)"
    } else {
        ""
    };
    format!("nothing was installed: {}{hint}", all.join("; "))
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(problem) => problem.fmt(f),
            Self::DropIn(file) => {
                write!(
                    f,
                    "{} belongs to the network, and only one file is installed: write its plugin into the list",
                    file.display()
                )
            }
            Self::NotExecutable(path) => write!(f, "{} is no program that may be run", path.display()),
            Self::Missing { plugin, dirs } => {
                let dirs: Vec<_> = dirs.iter().map(|dir| dir.display().to_string()).collect();
                write!(
                    f,
                    "the configuration needs plugin {:?}, which is neither given nor in {}",
                    plugin.as_str(),
                    dirs.join(", ")
                )
            }
            Self::Shadowed { network, by } => {
                write!(
                    f,
                    "network {network:?} is taken from {}, which stands before the new file",
                    by.display()
                )
            }
            Self::Silent(error) => f.write_str(&with_causes(&**error)),
            Self::TooOld { path, supported, version } => write!(
                f,
                "the configuration is of version {version}, but {} supports {}",
                path.display(),
                supported.join(" ")
            ),
            Self::Version(error) => error.fmt(f),
        }
    }
}
