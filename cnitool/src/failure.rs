//! Why a command did not do what was asked; the words for it are in `output`.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use cni_conformance::SetupError;
use libcni::cni_invoke::FindError;
use libcni::cni_types::{InvalidName, NetworkName};
use libcni::{CacheError, LoadError};

use crate::cmd::{Objection, Unfit};

/// A command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The cache cannot tell what it was asked.
    Cache(CacheError),
    /// The network cannot be had.
    Load(Box<LoadError>),
    /// An operation failed.
    Operation {
        error: Box<libcni::Error>,
        /// What can be done about it: a command line.
        remedy: Option<Vec<String>>,
    },
    /// The answer could not be written.
    Output(io::Error),
    /// Nothing was installed.
    Refused(Vec<Objection>),
    /// A file could not be removed.
    Remove(PathBuf, io::Error),
    /// What is wrong has been told already.
    Told,
    /// There is neither a network nor a plugin of the name.
    Unknown { network: Box<LoadError>, plugin: Box<libcni::cni_invoke::Error> },
    /// Something that was typed, or set in the environment, cannot be used; nothing was run.
    Usage(Usage),
    /// A file could not be written.
    Write(PathBuf, io::Error),
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        Self::Cache(error)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Load(Box::new(error))
    }
}

impl From<libcni::Error> for Failure {
    fn from(error: libcni::Error) -> Self {
        Self::Operation { error: Box::new(error), remedy: None }
    }
}

impl From<Usage> for Failure {
    fn from(usage: Usage) -> Self {
        Self::Usage(usage)
    }
}

/// A value that cannot be used, and where it came from.
#[derive(Debug)]
pub(crate) struct Usage {
    /// The flag, variable or argument.
    pub(crate) origin: &'static str,
    pub(crate) fault: Fault,
}

/// What is wrong with a value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The target is attached to the network already.
    Attached {
        network: NetworkName,
    },
    /// No JSON object.
    Capabilities(serde_json::Error),
    /// No check.
    Check(String),
    /// No command of this program.
    Command(String),
    /// No runtime would read a configuration of the name.
    ConfName(PathBuf),
    /// Nothing that a plugin could be tested with.
    Config(PathBuf, Box<SetupError>),
    /// Nothing at all.
    Empty,
    /// It is there already.
    Exists(PathBuf),
    /// No JSON.
    Json(PathBuf, serde_json::Error),
    /// It breaks the rule of its kind.
    Name(InvalidName),
    NotUtf8(OsString),
    /// A segment that is no pair.
    Pair(String),
    /// A path that leads to nothing of use.
    Path(PathBuf, io::Error),
    /// No plugin of the name is where plugins are.
    Plugin(FindError),
    /// A directory whose programs are no plugins.
    Programs(PathBuf),
    /// A check that is left out, and nobody says why.
    Reason(String),
    /// Two files of one name.
    Twice(String),
    /// No name for a new plugin.
    Unfit(String, Unfit),
    /// A relative path, and the working directory cannot be told.
    WorkingDir(io::Error),
}
