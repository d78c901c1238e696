//! The one error of this crate: what was attempted on what, and the kernel's answer as its source.
//!
//! Texts read well when a caller joins the chain with ": ", as a CNI error message does:
//! `failed to set link "eth0" (index 3): mtu 90000: invalid argument`.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno as RawErrno;

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Something below CNI did not work.
///
/// Match on the predicates ([`is_not_found`](Self::is_not_found), [`is_exists`](Self::is_exists)) rather than on texts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another program's answer, or a netlink reply, could not be read.
    #[error("{attempt}: {reason}")]
    Decode {
        /// What was attempted.
        attempt: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// Everyone could change what lies in a directory of state.
    #[error(
        "directory {dir:?} is not used for state, as everyone could change what lies there by way of {path:?}: \
         `chmod o-w` that, or keep state elsewhere"
    )]
    Exposed {
        /// The directory that was to be used.
        dir: PathBuf,
        /// What others can write to or own: that, or something on the way to it.
        path: PathBuf,
    },
    /// The arguments cannot work; nothing was attempted.
    #[error("{0}")]
    Invalid(String),
    /// A system call failed without an error number, such as a read of bytes that are not text.
    #[error("{attempt}")]
    Io {
        /// What was attempted.
        attempt: String,
        /// The cause.
        source: io::Error,
    },
    /// No firewall works here.
    #[error("no usable firewall: {probed}")]
    NoBackend {
        /// What was tried, and why each does not work.
        probed: String,
    },
    /// The path is a file, but none of a network namespace.
    #[error("{path:?} is not a network namespace but {actual:?}")]
    NotNetns {
        /// The path as given.
        path: PathBuf,
        /// What the kernel calls it, for instance `mnt:[4026531841]`.
        actual: String,
    },
    /// The path is on a file system that holds no namespaces. The text is the one of Go's `ns.IsNSorErr`, which
    /// runtimes look for.
    #[error("unknown FS magic on {path:?}: {magic:x}")]
    NotNsFile {
        /// The path as given.
        path: PathBuf,
        /// The file system's `statfs` type.
        magic: u64,
    },
    /// The kernel refused.
    #[error("{attempt}{}", Explained(explanation.as_deref()))]
    Refused {
        /// What was attempted.
        attempt: String,
        /// The kernel's own words (netlink's extended acknowledgement), when it gave some.
        explanation: Option<String>,
        /// The error number.
        source: Errno,
    },
    /// A program ran and reported failure.
    #[error("{attempt}: {status}{}", Explained(Some(stderr.as_str())))]
    Tool {
        /// What was attempted, the command line included.
        attempt: String,
        /// How the program ended, for instance `exit status: 1`.
        status: String,
        /// What it wrote to stderr, trimmed.
        stderr: String,
    },
    /// A program is not installed.
    #[error("failed to find {tool:?} in {searched:?}")]
    ToolMissing {
        /// The program's name.
        tool: String,
        /// The directories searched, in order.
        searched: Vec<PathBuf>,
    },
}

impl Error {
    /// A failed system call.
    pub(crate) fn os(attempt: impl Into<String>, errno: RawErrno) -> Self {
        Self::Refused { attempt: attempt.into(), explanation: None, source: Errno(errno) }
    }

    /// A failed call of the standard library: what was attempted, and the kernel's answer in its own words.
    ///
    /// For what a plugin does to files by itself, so that all its errors read alike.
    pub fn io(attempt: impl Into<String>, source: io::Error) -> Self {
        match RawErrno::from_io_error(&source) {
            Some(errno) => Self::os(attempt, errno),
            None => Self::Io { attempt: attempt.into(), source },
        }
    }

    /// The kernel's error number, if it is the kernel that refused.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { source, .. } => Some(*source),
            _ => None,
        }
    }

    /// Whether the link, address, route, file or process acted on does not exist. A missing program is not meant.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self.errno().map(|errno| errno.0),
            Some(RawErrno::NOENT | RawErrno::NODEV | RawErrno::SRCH | RawErrno::ADDRNOTAVAIL)
        )
    }

    /// Whether a path leads through something that is no directory, so that nothing can be there.
    pub fn is_not_a_directory(&self) -> bool {
        self.errno().is_some_and(|errno| errno.0 == RawErrno::NOTDIR)
    }

    /// Whether the link, address, route or file to be made exists already.
    pub fn is_exists(&self) -> bool {
        self.errno().is_some_and(|errno| errno.0 == RawErrno::EXIST)
    }

    /// Whether this kernel lacks the facility: a link kind, an address family, an option.
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self.errno().map(|errno| errno.0),
            Some(RawErrno::OPNOTSUPP | RawErrno::NOSYS | RawErrno::AFNOSUPPORT | RawErrno::PROTONOSUPPORT)
        )
    }

    /// Whether a disk has no room for a file, not even for an empty one.
    pub fn is_no_room(&self) -> bool {
        matches!(self.errno().map(|errno| errno.0), Some(RawErrno::NOSPC | RawErrno::DQUOT | RawErrno::ROFS))
    }

    /// Whether no route leads to an address.
    pub fn is_unreachable(&self) -> bool {
        matches!(self.errno().map(|errno| errno.0), Some(RawErrno::NETUNREACH | RawErrno::HOSTUNREACH))
    }

    /// Whether privileges are missing.
    pub fn is_not_permitted(&self) -> bool {
        matches!(self.errno().map(|errno| errno.0), Some(RawErrno::PERM | RawErrno::ACCESS))
    }
}

/// An error number, which prints as the kernel's words in lower case: `no such file or directory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub(crate) RawErrno);

impl Errno {
    /// The number, as in `errno.h`.
    pub fn raw(self) -> i32 {
        self.0.raw_os_error()
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = io::Error::from(self.0).to_string();
        let text = text.split(" (os error").next().unwrap_or(&text);
        // "RFC ..." and "Too many ..." both start in upper case; only a word loses it.
        let mut chars = text.chars();
        match (chars.next(), chars.clone().next()) {
            (Some(first), Some(second)) if !second.is_uppercase() => {
                write!(f, "{}{}", first.to_lowercase(), chars.as_str())
            }
            _ => f.write_str(text),
        }
    }
}

impl std::error::Error for Errno {}

/// Prints `: text`, or nothing.
struct Explained<'a>(Option<&'a str>);

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(text) if !text.is_empty() => write!(f, ": {text}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn errno_reads_like_go() {
        assert_eq!(Errno(RawErrno::NOENT).to_string(), "no such file or directory");
        assert_eq!(Errno(RawErrno::EXIST).to_string(), "file exists");
        assert_eq!(Errno(RawErrno::NOENT).raw(), 2);
    }

    #[test]
    fn the_cause_is_the_source_and_not_in_the_text() {
        let error = Error::os("failed to delete link \"eth0\"", RawErrno::NODEV);
        assert_eq!(error.to_string(), "failed to delete link \"eth0\"");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("no such device"));
        assert!(error.is_not_found() && !error.is_exists() && !error.is_unsupported());
    }

    #[test]
    fn the_kernels_explanation_is_in_the_text() {
        let error = Error::Refused {
            attempt: "failed to create bridge \"br0\"".into(),
            explanation: Some("unsupported option".into()),
            source: Errno(RawErrno::OPNOTSUPP),
        };
        assert_eq!(error.to_string(), "failed to create bridge \"br0\": unsupported option");
        assert!(error.is_unsupported());
    }

    #[test]
    fn a_missing_program_is_not_a_missing_thing() {
        let error = Error::ToolMissing { tool: "nft".into(), searched: vec!["/bin".into(), "/sbin".into()] };
        assert_eq!(error.to_string(), r#"failed to find "nft" in ["/bin", "/sbin"]"#);
        assert!(!error.is_not_found());
    }

    #[test]
    fn io_errors_keep_their_number() {
        let missing = Error::io("failed to read \"/x\"", io::Error::from(RawErrno::NOENT));
        assert!(missing.is_not_found());
        let text = Error::io("failed to read \"/x\"", io::Error::new(io::ErrorKind::InvalidData, "not text"));
        assert_eq!(text.errno(), None);
        assert_eq!(text.source().map(ToString::to_string).as_deref(), Some("not text"));
    }
}
