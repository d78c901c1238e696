//! The commands of the protocol, and the version each one first exists in.

use std::fmt;
use std::str::FromStr;

use crate::CniVersion;

/// What a runtime asks a plugin to do, as `CNI_COMMAND` has it.
///
/// ```
/// use cni_types::{CniVersion, Command};
/// assert_eq!("CHECK".parse(), Ok(Command::Check));
/// assert!(!Command::Check.exists_in(CniVersion::V0_3_1));
/// ```
///
/// See [the spec's operations](https://github.com/containernetworking/cni/blob/main/SPEC.md#cni-operations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "a new command needs a new spec version")]
pub enum Command {
    /// Attach a container to a network, or apply a change to an attachment.
    Add,
    /// Undo ADD.
    Del,
    /// Verify that what ADD made is still there. From 0.4.0.
    Check,
    /// Remove whatever belongs to no valid attachment. From 1.1.0.
    Gc,
    /// Say whether ADD could succeed. From 1.1.0.
    Status,
    /// Print the supported spec versions.
    Version,
}

impl Command {
    /// Every command.
    pub const ALL: [Self; 6] = [Self::Add, Self::Del, Self::Check, Self::Gc, Self::Status, Self::Version];

    /// The command as `CNI_COMMAND` has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "ADD",
            Self::Del => "DEL",
            Self::Check => "CHECK",
            Self::Gc => "GC",
            Self::Status => "STATUS",
            Self::Version => "VERSION",
        }
    }

    /// The spec version that introduced the command.
    ///
    /// VERSION came with 0.2.0, but every plugin is asked for it, since a runtime cannot know before.
    pub const fn first_version(self) -> CniVersion {
        match self {
            Self::Add | Self::Del | Self::Version => CniVersion::V0_1_0,
            Self::Check => CniVersion::V0_4_0,
            Self::Gc | Self::Status => CniVersion::V1_1_0,
        }
    }

    /// Whether a configuration of this version may use the command.
    pub fn exists_in(self, version: CniVersion) -> bool {
        version >= self.first_version()
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Command {
    type Err = UnknownCommand;

    fn from_str(text: &str) -> Result<Self, UnknownCommand> {
        Self::ALL
            .into_iter()
            .find(|command| command.as_str() == text)
            .ok_or_else(|| UnknownCommand { value: text.to_owned() })
    }
}

/// `CNI_COMMAND` holds something that is no command. Code 4.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown CNI_COMMAND: {value}")]
#[non_exhaustive]
pub struct UnknownCommand {
    /// The value found.
    pub value: String,
}
