//! A call before it is made: one that a runtime could make, and then changed in one thing.

use std::ffi::{OsStr, OsString};

use cni_types::{CniVersion, Command};
use serde_json::{Map, Value, json};

/// A call of the plugin.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) command: String,
    /// The variables of the protocol, but for the command.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    stdin: Stdin,
}

#[derive(Clone, Debug)]
enum Stdin {
    Config(Map<String, Value>),
    Raw(Vec<u8>),
}

impl Request {
    pub(crate) fn new(command: Command, config: Map<String, Value>) -> Self {
        Self { command: command.as_str().to_owned(), variables: Vec::new(), stdin: Stdin::Config(config) }
    }

    /// A VERSION as the spec has it, with no variable but the command.
    pub(crate) fn version(asked: CniVersion) -> Self {
        let config = [("cniVersion".to_owned(), json!(asked.as_str()))];
        Self::new(Command::Version, config.into_iter().collect())
    }

    /// The same call with another word for a command.
    pub(crate) fn command(mut self, word: &str) -> Self {
        word.clone_into(&mut self.command);
        self
    }

    /// The same call with a variable set.
    pub(crate) fn set(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// The same call without a variable.
    pub(crate) fn unset(mut self, name: &str) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        self
    }

    /// The same call with a key of the configuration set.
    pub(crate) fn key(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Stdin::Config(config) = &mut self.stdin {
            config.insert(key.to_owned(), value.into());
        }
        self
    }

    /// The same call without a key of the configuration.
    pub(crate) fn without_key(mut self, key: &str) -> Self {
        if let Stdin::Config(config) = &mut self.stdin {
            config.remove(key);
        }
        self
    }

    /// The same call with other bytes on stdin.
    pub(crate) fn raw(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Raw(stdin.into());
        self
    }

    pub(crate) fn stdin(&self) -> Vec<u8> {
        match &self.stdin {
            Stdin::Config(config) => serde_json::to_vec(config).unwrap_or_default(),
            Stdin::Raw(bytes) => bytes.clone(),
        }
    }
}
