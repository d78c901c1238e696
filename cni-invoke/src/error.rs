//! What went wrong with one call of a plugin, told so that one line of a log is enough.
//!
//! The text says which plugin, which command and how it ended; the cause is the `source`. If the plugin printed an error
//! object, that is the cause, and its code can be had without looking at any text.

use std::fmt;
use std::path::{Path, PathBuf};

use cni_types::error::DecodeError;
use cni_types::{Command, ErrorCode, ErrorObject, PluginType, VersionError};

use crate::excerpt::Printed;
use crate::exec::{Exit, RunError};
use crate::find::FindError;
use crate::until::Interruption;

/// A call of a plugin failed.
///
/// ```
/// # fn handle(error: cni_invoke::Error) {
/// if error.object().is_some_and(|object| object.is_try_again()) {
///     // a transient condition: try again later
/// } else if !error.was_started() {
///     // nothing happened, so nothing needs to be undone
/// } else {
///     // call DEL, with a fresh deadline
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    plugin: PluginType,
    command: Command,
    program: Option<PathBuf>,
    kind: ErrorKind,
}

/// How a call of a plugin failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration has no version to read the answer by; the plugin was not run.
    Config(ConfigError),
    /// The plugin printed an error object.
    Failed {
        /// How it ended; an error object counts even at exit status 0.
        exit: Exit,
        /// The error object.
        object: Box<ErrorObject>,
        /// All that it printed.
        printed: Box<Printed>,
    },
    /// There is no such plugin.
    Find(FindError),
    /// The plugin could not be started, or was killed.
    Run(RunError),
    /// The plugin failed and did not say why.
    Unexplained {
        /// How it ended.
        exit: Exit,
        /// Why its stdout is no error object, if there was anything on it.
        problem: Option<DecodeError>,
        /// All that it printed.
        printed: Box<Printed>,
    },
    /// The plugin succeeded, but its answer cannot be read.
    Unreadable {
        /// What is wrong with it.
        problem: DecodeError,
        /// All that it printed.
        printed: Box<Printed>,
    },
}

/// Why a configuration says no version that an answer could be read by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is no JSON object, or `cniVersion` is no string. Code 6.
    #[error("cannot read the version of the configuration")]
    Decode(#[source] DecodeError),
    /// `cniVersion` is no version (code 6), or none that was released (code 1).
    #[error("cannot use the version of the configuration")]
    Version(#[source] VersionError),
}

impl Error {
    pub(crate) fn new(
        plugin: &PluginType,
        command: Command,
        program: Option<PathBuf>,
        kind: ErrorKind,
    ) -> Self {
        Self(Box::new(Inner { plugin: plugin.clone(), command, program, kind }))
    }

    /// The plugin's type.
    pub fn plugin(&self) -> &PluginType {
        &self.0.plugin
    }

    /// The command.
    pub fn command(&self) -> Command {
        self.0.command
    }

    /// The plugin's binary, if it was found.
    pub fn program(&self) -> Option<&Path> {
        self.0.program.as_deref()
    }

    /// How it failed.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The error object that the plugin printed, if it did.
    pub fn object(&self) -> Option<&ErrorObject> {
        if let ErrorKind::Failed { object, .. } = self.kind() { Some(object) } else { None }
    }

    /// The CNI code: the plugin's own, or else the one that fits what happened.
    pub fn code(&self) -> ErrorCode {
        match self.kind() {
            ErrorKind::Failed { object, .. } => object.code(),
            ErrorKind::Config(ConfigError::Version(VersionError::Unreleased(_))) => {
                ErrorCode::INCOMPATIBLE_CNI_VERSION
            }
            ErrorKind::Config(_) | ErrorKind::Unreadable { .. } => ErrorCode::DECODING_FAILURE,
            // The search path comes by the environment, so an empty one is a fault of the environment.
            ErrorKind::Find(error) if error.searched.is_empty() => ErrorCode::INVALID_ENVIRONMENT,
            ErrorKind::Find(_) | ErrorKind::Run(_) | ErrorKind::Unexplained { .. } => ErrorCode::INTERNAL,
        }
    }

    /// How the plugin ended, if it came to its own end.
    pub fn exit(&self) -> Option<Exit> {
        match self.kind() {
            ErrorKind::Failed { exit, .. } | ErrorKind::Unexplained { exit, .. } => Some(*exit),
            ErrorKind::Unreadable { .. } => Some(Exit::SUCCESS),
            ErrorKind::Config(_) | ErrorKind::Find(_) | ErrorKind::Run(_) => None,
        }
    }

    /// What the plugin printed, if it ran.
    pub fn printed(&self) -> Option<&Printed> {
        match self.kind() {
            ErrorKind::Failed { printed, .. }
            | ErrorKind::Unexplained { printed, .. }
            | ErrorKind::Unreadable { printed, .. } => Some(printed),
            ErrorKind::Run(error) => error.printed(),
            ErrorKind::Config(_) | ErrorKind::Find(_) => None,
        }
    }

    /// Whether the plugin was started at all, so that it may have left something behind.
    pub fn was_started(&self) -> bool {
        match self.kind() {
            ErrorKind::Config(_) | ErrorKind::Find(_) => false,
            ErrorKind::Run(error) => error.was_started(),
            ErrorKind::Failed { .. } | ErrorKind::Unexplained { .. } | ErrorKind::Unreadable { .. } => true,
        }
    }

    /// Why the caller's bound stopped the call, if that is what happened.
    pub fn interruption(&self) -> Option<Interruption> {
        match self.kind() {
            ErrorKind::Run(RunError::Interrupted { why, .. } | RunError::NotExecuted { why }) => Some(*why),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { plugin, command, program, kind } = &*self.0;
        write!(f, "plugin {:?}", plugin.as_str())?;
        if let Some(program) = program {
            write!(f, " ({})", program.display())?;
        }
        match kind {
            ErrorKind::Failed { exit, .. } => write!(f, " failed {command} with {exit}"),
            ErrorKind::Unexplained { exit, printed, .. } => {
                write!(f, " failed {command} with {exit} and printed no error object: {printed}")
            }
            ErrorKind::Unreadable { printed, .. } => {
                write!(f, " answered {command} with exit status 0, but unreadably: {printed}")
            }
            ErrorKind::Run(error) if error.was_started() => {
                write!(f, " did not finish {command}")?;
                error.printed().map_or(Ok(()), |printed| write!(f, ": {printed}"))
            }
            ErrorKind::Config(_) | ErrorKind::Find(_) | ErrorKind::Run(_) => {
                write!(f, " was not executed for {command}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::Config(error) => Some(error),
            ErrorKind::Failed { object, .. } => Some(&**object),
            ErrorKind::Find(error) => Some(error),
            ErrorKind::Run(error) => Some(error),
            ErrorKind::Unexplained { problem, .. } => problem.as_ref().map(|problem| problem as _),
            ErrorKind::Unreadable { problem, .. } => Some(problem),
        }
    }
}

impl From<&Error> for ErrorObject {
    /// The plugin's own code and details, and its message after what was attempted.
    fn from(error: &Error) -> Self {
        let mut msg = error.to_string();
        let mut details = "";
        if let Some(object) = error.object() {
            details = &object.details;
            if !object.msg.is_empty() {
                msg = format!("{msg}: {}", object.msg);
            }
        } else {
            let mut source = std::error::Error::source(error);
            while let Some(cause) = source {
                msg = format!("{msg}: {cause}");
                source = cause.source();
            }
        }
        Self::new(error.code(), msg).with_details(details)
    }
}

impl From<Error> for ErrorObject {
    fn from(error: Error) -> Self {
        (&error).into()
    }
}
