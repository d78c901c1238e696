//! The words for a command that failed.

use std::error::Error;
use std::fmt;

use libcni::LoadError;
use libcni::cni_types::{ErrorCode, ErrorObject};
use serde::Serialize;

use crate::cmd::Unfit;
use crate::failure::{Failure, Fault, Usage};

/// What failed and why, on one line.
pub(super) fn text(failure: &Failure) -> String {
    match failure {
        Failure::Cache(error) => with_causes(error),
        Failure::Load(error) => with_causes(&**error),
        Failure::Operation { error, .. } => with_causes(&**error),
        Failure::Output(error) => format!("cannot write to stdout: {error}"),
        Failure::Refused(objections) => super::install::refused(objections),
        Failure::Remove(path, error) => format!("cannot remove {}: {error}", path.display()),
        Failure::Told => String::new(),
        Failure::Unknown { network, plugin } => {
            format!("{}; and {}", with_causes(&**network), with_causes(&**plugin))
        }
        Failure::Usage(usage) => usage.to_string(),
        Failure::Write(path, error) => format!("cannot write {}: {error}", path.display()),
    }
}

/// What can be done about it.
pub(super) fn remedy(failure: &Failure) -> Option<String> {
    let Failure::Operation { remedy: Some(command), .. } = failure else { return None };
    Some(format!("what the plugins set up is still there; to remove it: {}", command_line(command)))
}

/// A failure as a line of JSON: the error object of the protocol, with what kind of line it is.
#[derive(Serialize)]
pub(super) struct Event {
    event: &'static str,
    code: ErrorCode,
    msg: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    details: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<Vec<String>>,
}

pub(super) fn event(failure: &Failure) -> Event {
    let (details, remedy) = match failure {
        Failure::Operation { error, remedy } => (ErrorObject::from(&**error).details, remedy.clone()),
        _ => (String::new(), None),
    };
    Event { event: "error", code: code(failure), msg: text(failure), details, remedy }
}

fn code(failure: &Failure) -> ErrorCode {
    match failure {
        Failure::Cache(_) | Failure::Output(_) | Failure::Remove(..) | Failure::Write(..) => {
            ErrorCode::IO_FAILURE
        }
        Failure::Load(error) => match &**error {
            LoadError::Dir { .. } => ErrorCode::IO_FAILURE,
            LoadError::Faulty { skipped } => {
                skipped.problems().first().map_or(ErrorCode::INVALID_NETWORK_CONFIG, |problem| problem.code())
            }
            _ => ErrorCode::INVALID_NETWORK_CONFIG,
        },
        Failure::Operation { error, .. } => error.code(),
        Failure::Refused(_) => ErrorCode::INVALID_NETWORK_CONFIG,
        Failure::Told | Failure::Unknown { .. } => ErrorCode::INTERNAL,
        Failure::Usage(_) => ErrorCode::INVALID_ENVIRONMENT,
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attached { network } => {
                write!(
                    f,
                    "the network namespace is attached to network {:?} already, and undoing would detach it",
                    network.as_str()
                )
            }
            Self::Capabilities(error) => {
                write!(
                    f,
                    "expected a JSON object of capabilities, such as {{\"mac\":\"02:00:00:00:00:01\"}}: {error}"
                )
            }
            Self::Check(id) => write!(f, "there is no check {id:?}; the report of a run names them all"),
            Self::ConfName(path) => {
                write!(
                    f,
                    "no runtime reads {}: expected a file name that ends in .conflist, .conf or .json",
                    path.display()
                )
            }
            Self::Config(path, error) => write!(f, "{}: {}", path.display(), with_causes(&**error)),
            Self::Command(name) => write!(f, "there is no command {name:?}"),
            Self::Empty => f.write_str("must not be empty"),
            Self::Exists(path) => {
                write!(f, "{} is there already, and nothing is overwritten", path.display())
            }
            Self::Json(path, error) => write!(f, "{}: expected JSON: {error}", path.display()),
            Self::Name(error) => error.fmt(f),
            Self::NotUtf8(value) => write!(f, "{value:?} is not UTF-8"),
            Self::Pair(pair) => write!(f, "invalid pair {pair:?}, expected KEY=VALUE"),
            Self::Path(path, error) => write!(f, "cannot use {}: {error}", path.display()),
            Self::Plugin(error) => f.write_str(&with_causes(error)),
            Self::Programs(dir) => {
                write!(
                    f,
                    "will not run every program in {} to ask for versions: name one plugin",
                    dir.display()
                )
            }
            Self::Reason(id) => write!(f, "why is {id:?} left out? expected {id}=REASON"),
            Self::Twice(name) => write!(f, "{name:?} is given twice, and can be installed only once"),
            Self::Unfit(name, unfit) => write!(f, "{name:?} cannot be a new plugin's name: {unfit}"),
            Self::WorkingDir(error) => write!(f, "cannot tell what it is relative to: {error}"),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code => "the code of the new crate has the word for something else",
            Self::Dependency => "the new crate depends on one of that name",
            Self::Form => {
                "expected lower-case letters and digits, a letter first, with a single '-' or '_' between words, \
                 64 bytes at most"
            }
            Self::Taken => "the word means something to Rust or to cargo",
        })
    }
}

/// An error and its causes on one line.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// A command as it can be pasted into a shell.
fn command_line(words: &[String]) -> String {
    let is_plain = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-:=@%+,".contains(&byte))
    };
    let quote = |word: &String| {
        if is_plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn a_command_can_be_pasted() {
        let words = ["cnitool", "del", "n1", "/run/netns/a b'c", ""].map(str::to_owned);
        assert_eq!(command_line(&words), r"cnitool del n1 '/run/netns/a b'\''c' ''");
    }
}
