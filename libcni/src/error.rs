//! What is told of an operation that failed.
//!
//! The text says which network, which plugin and which command; the cause is the `source`, down to the plugin's own error
//! object, whose code can be had without looking at any text.

use std::io;
use std::path::PathBuf;

use cni_invoke::Interruption;
use cni_types::config::Attachment;
use cni_types::result::ConversionError;
use cni_types::{Command, ErrorCode, ErrorObject, PluginType, VersionedResult};

use crate::lock::LockError;
use crate::network::UnsupportedVersion;

/// An operation on a network failed.
///
/// ```
/// # fn handle(error: libcni::Error) {
/// if error.error_object().is_some_and(|object| object.is_try_again()) {
///     // a transient condition: try again later
/// } else if error.was_executed() {
///     // something was run: after ADD, call DEL (see `Client::add_or_undo`)
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Every plugin succeeded in ADD, but the result could not be cached: call DEL.
    #[error("network {network:?}: ADD succeeded, but its result cannot be cached in {}: call DEL", dir.display())]
    AddNotCached {
        /// The network's name.
        network: String,
        /// The cache directory.
        dir: PathBuf,
        /// What ADD made.
        result: Box<VersionedResult>,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The cache directory cannot be used; nothing was executed.
    #[error("network {network:?}: {command} was not executed, because the cache in {} cannot be used", dir.display())]
    Cache {
        /// The network's name.
        network: String,
        /// The command.
        command: Command,
        /// The cache directory.
        dir: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The configuration's version is from before CHECK existed; nothing was executed. Code 1.
    // Go's words, which programs look for.
    #[error("configuration version {version:?} does not support the CHECK command")]
    CheckNotSupported {
        /// The network's name.
        network: String,
        /// The version, as the configuration has it.
        version: String,
    },
    /// Some of what GC had to do failed; the rest was done.
    #[error("network {network:?}: GC failed in part: {}", summary(errors))]
    Gc {
        /// The network's name.
        network: String,
        /// The stale attachments that are gone now.
        deleted: Vec<Attachment>,
        /// Each failure, in order; at least one.
        errors: Vec<Error>,
    },
    /// Another operation is in the way; nothing was executed.
    #[error("network {network:?}: {command} was not executed")]
    Lock {
        /// The network's name.
        network: String,
        /// The command.
        command: Command,
        /// What is in the way.
        source: LockError,
    },
    /// There is no good result of an ADD, which CHECK needs; nothing was executed.
    #[error("network {network:?}: no cached result of container {container_id:?} on {ifname:?}: {why}")]
    NotCached {
        /// The network's name.
        network: String,
        /// The container's ID.
        container_id: String,
        /// The name of the interface inside the container.
        ifname: String,
        /// Why there is none.
        why: String,
    },
    /// The caller's bound had passed before anything was done; nothing was executed.
    #[error("network {network:?}: {command} was not executed: {why}")]
    NotExecuted {
        /// The network's name.
        network: String,
        /// The command.
        command: Command,
        /// Why.
        why: Interruption,
    },
    /// A plugin failed, or could not be run.
    // The words after the network are Go's, which programs look for.
    #[error("network {network:?}: plugin type={:?} failed ({})", source.plugin().as_str(), verb(source.command()))]
    Plugin {
        /// The network's name.
        network: String,
        /// The plugin's place in the list, from 0.
        position: usize,
        /// How many plugins were run before it in this operation.
        run_before: usize,
        /// What happened.
        source: cni_invoke::Error,
    },
    /// The request for a plugin has no JSON form; the plugin was not run.
    #[error("network {network:?}: cannot write the request for plugin {:?}", plugin.as_str())]
    Request {
        /// The network's name.
        network: String,
        /// The plugin.
        plugin: PluginType,
        /// How many plugins were run before it in this operation.
        run_before: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// A plugin's result cannot be had in the configuration's version.
    #[error("network {network:?}: plugin type={:?} failed (add): its result is of another version", plugin.as_str())]
    Result {
        /// The network's name.
        network: String,
        /// The plugin.
        plugin: PluginType,
        /// The plugin's place in the list, from 0.
        position: usize,
        /// Why the result cannot be converted.
        source: ConversionError,
    },
    /// DEL of a stale attachment failed during GC.
    #[error("cannot delete the stale attachment of container {container_id:?} on {ifname:?}")]
    Stale {
        /// The container's ID.
        container_id: String,
        /// The name of the interface inside the container.
        ifname: String,
        /// What happened.
        source: Box<Error>,
    },
    /// ADD failed, and so did the DEL that was to undo it.
    #[error("{}; and DEL did not undo it", with_causes(add))]
    Undo {
        /// Why ADD failed.
        add: Box<Error>,
        /// Why DEL failed.
        source: Box<Error>,
    },
    /// A cache file could not be read during GC, although it may be whole: it was left for the next time, and with it the
    /// attachment that it is for.
    #[error("network {network:?}: cannot read the cache file {}", file.display())]
    Unread {
        /// The network's name, of which the file may not be.
        network: String,
        /// The file.
        file: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The configuration is only for spec versions that this library does not know; nothing was executed. Code 1.
    #[error("network {network:?}: {command} was not executed")]
    Version {
        /// The network's name.
        network: String,
        /// The command.
        command: Command,
        /// What the configuration says.
        source: UnsupportedVersion,
    },
}

impl Error {
    /// The CNI code: the plugin's own, or else the one that fits what happened; of several failures, that of the first.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::AddNotCached { .. } | Self::Cache { .. } | Self::Unread { .. } => ErrorCode::IO_FAILURE,
            Self::CheckNotSupported { .. } | Self::Version { .. } => ErrorCode::INCOMPATIBLE_CNI_VERSION,
            Self::Gc { errors, .. } => errors.first().map_or(ErrorCode::INTERNAL, Self::code),
            Self::Lock { .. } | Self::NotCached { .. } | Self::NotExecuted { .. } | Self::Request { .. } => {
                ErrorCode::INTERNAL
            }
            Self::Plugin { source, .. } => source.code(),
            Self::Result { .. } => ErrorCode::DECODING_FAILURE,
            Self::Stale { source, .. } => source.code(),
            Self::Undo { add, .. } => add.code(),
        }
    }

    /// The network's name.
    pub fn network(&self) -> &str {
        match self {
            Self::AddNotCached { network, .. }
            | Self::Cache { network, .. }
            | Self::CheckNotSupported { network, .. }
            | Self::Gc { network, .. }
            | Self::Lock { network, .. }
            | Self::NotCached { network, .. }
            | Self::NotExecuted { network, .. }
            | Self::Plugin { network, .. }
            | Self::Request { network, .. }
            | Self::Result { network, .. }
            | Self::Unread { network, .. }
            | Self::Version { network, .. } => network,
            Self::Stale { source, .. } => source.network(),
            Self::Undo { add, .. } => add.network(),
        }
    }

    /// The failure of a plugin that this is about; of several, the first.
    pub fn plugin_error(&self) -> Option<&cni_invoke::Error> {
        match self {
            Self::Plugin { source, .. } => Some(source),
            Self::Gc { errors, .. } => errors.iter().find_map(Self::plugin_error),
            Self::Stale { source, .. } => source.plugin_error(),
            Self::Undo { add, .. } => add.plugin_error(),
            _ => None,
        }
    }

    /// The error object that a plugin printed; of several, the first.
    pub fn error_object(&self) -> Option<&ErrorObject> {
        match self {
            Self::Gc { errors, .. } => errors.iter().find_map(Self::error_object),
            Self::Stale { source, .. } => source.error_object(),
            Self::Undo { add, .. } => add.error_object(),
            _ => self.plugin_error().and_then(cni_invoke::Error::object),
        }
    }

    /// Every failure that this stands for: those of a GC, or just this one.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        match self {
            Self::Gc { errors, .. } => errors.iter(),
            other => std::slice::from_ref(other).iter(),
        }
    }

    /// Whether any plugin was started, so that ADD may have left something behind.
    pub fn was_executed(&self) -> bool {
        match self {
            Self::AddNotCached { .. } | Self::Result { .. } | Self::Undo { .. } => true,
            Self::Gc { errors, .. } => errors.iter().any(Self::was_executed),
            Self::Plugin { run_before, source, .. } => *run_before > 0 || source.was_started(),
            Self::Request { run_before, .. } => *run_before > 0,
            Self::Stale { source, .. } => source.was_executed(),
            Self::Cache { .. }
            | Self::CheckNotSupported { .. }
            | Self::Lock { .. }
            | Self::NotCached { .. }
            | Self::NotExecuted { .. }
            | Self::Unread { .. }
            | Self::Version { .. } => false,
        }
    }

    /// Why the caller's bound stopped the operation, if that is what happened. Try again with a fresh one.
    pub fn interruption(&self) -> Option<Interruption> {
        match self {
            Self::Lock { source: LockError::Interrupted { why, .. }, .. } | Self::NotExecuted { why, .. } => {
                Some(*why)
            }
            Self::Gc { errors, .. } => errors.iter().find_map(Self::interruption),
            Self::Plugin { source, .. } => source.interruption(),
            Self::Stale { source, .. } => source.interruption(),
            Self::Undo { add, .. } => add.interruption(),
            _ => None,
        }
    }
}

impl From<&Error> for ErrorObject {
    /// The plugin's own code and details, and the whole story as the message.
    fn from(error: &Error) -> Self {
        let details = error.error_object().map(|object| object.details.clone()).unwrap_or_default();
        Self::new(error.code(), with_causes(error)).with_details(details)
    }
}

/// The command as Go's messages have it.
fn verb(command: Command) -> &'static str {
    match command {
        Command::Add => "add",
        Command::Check => "check",
        Command::Del => "delete",
        Command::Gc => "gc",
        Command::Status => "status",
        Command::Version => "version",
    }
}

/// Several failures on one line, each with its causes: they have no common one that `source` could give.
fn summary(errors: &[Error]) -> String {
    errors.iter().map(|error| with_causes(error)).collect::<Vec<_>>().join("; ")
}

/// An error and its causes on one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_run_before_a_request_could_not_be_written_counts() {
        let error = |run_before| Error::Request {
            network: "n1".to_owned(),
            plugin: "p".parse().unwrap(),
            run_before,
            source: serde_json::from_str::<u8>("").unwrap_err(),
        };
        assert!(!error(0).was_executed());
        assert!(error(1).was_executed());
    }
}
