//! One operation over the plugins of a network: what is the same for every command.

use std::path::Path;

use cni_invoke::{Environment, Exec, Parameters, Request, Until};
use cni_types::config::Attachment;
use cni_types::{CniVersion, Command, VersionedResult};

use crate::attachment::RuntimeConf;
use crate::client::Client;
use crate::conf::inject::{self, Injected};
use crate::error::Error;
use crate::lock::{Guard, LockError};
use crate::network::{Network, Version};
use crate::observe::{PluginRun, Warning, Watch};

/// An operation on a network that has passed its checks.
pub(super) struct Operation<'a> {
    pub(super) client: &'a Client,
    pub(super) network: &'a Network,
    pub(super) command: Command,
    /// The parameters, for the commands that are about one attachment.
    pub(super) rt: Option<&'a RuntimeConf>,
    /// The version to send; `None` means 0.1.0.
    pub(super) version: Option<CniVersion>,
    pub(super) until: &'a Until,
    /// What the plugins are given, but for the command.
    pub(super) environment: Environment,
}

impl<'a> Operation<'a> {
    /// An operation, if its time has not passed and the network's version is one that this library knows.
    pub(super) fn new(
        client: &'a Client,
        network: &'a Network,
        command: Command,
        rt: Option<&'a RuntimeConf>,
        until: &'a Until,
    ) -> Result<Self, Error> {
        let name = || network.name.to_string();
        if let Some(why) = until.interruption() {
            return Err(Error::NotExecuted { network: name(), command, why });
        }
        let version = match &network.version {
            Version::Absent => None,
            Version::Released(version) => Some(*version),
            Version::Unsupported(source) => {
                return Err(Error::Version { network: name(), command, source: source.clone() });
            }
        };
        let environment = environment(client, rt);
        Ok(Self { client, network, command, rt, version, until, environment })
    }

    /// The version in which the plugins are called.
    pub(super) fn version(&self) -> CniVersion {
        self.version.unwrap_or(CniVersion::WHEN_ABSENT)
    }

    /// Waits for the container's turn.
    pub(super) fn lock(&self, rt: &RuntimeConf) -> Result<Guard, Error> {
        let waiting = |file: &Path, holder| self.client.warn_of_wait(file, holder);
        let locked = self.client.shared.locks.container(rt.container_id().as_str(), self.until, &waiting);
        locked.map_err(|source| Error::Lock {
            network: self.network.name.to_string(),
            command: self.command,
            source,
        })
    }

    /// Waits for the container's turn, as far as that can be had: what must be done goes on without.
    pub(super) fn try_lock(&self, rt: &RuntimeConf) -> Result<Guard, Error> {
        match self.lock(rt) {
            Err(Error::Lock { source: LockError::Unavailable { file, source }, .. }) => {
                self.client.warn(|| Warning::NotLocked { why: format!("{}: {source}", file.display()) });
                Ok(Guard::default())
            }
            other => other,
        }
    }

    /// Runs ADD of one plugin. The result is in the network's version.
    pub(super) fn add(
        &self,
        position: usize,
        before: Option<&VersionedResult>,
    ) -> Result<VersionedResult, Error> {
        let step = Step { position, run_before: position, prev_result: before, valid_attachments: None };
        let result = self.call(&step, cni_invoke::add, |result| Some(result))?;
        if result.version() == self.version() {
            return Ok(result);
        }
        result.convert(self.version()).map_err(|source| Error::Result {
            network: self.network.name.to_string(),
            plugin: self.network.plugins[position].plugin_type.clone(),
            position,
            source,
        })
    }

    /// Runs a command of one plugin that has no result.
    pub(super) fn run(&self, step: &Step<'_>) -> Result<(), Error> {
        let call = match self.command {
            Command::Check => cni_invoke::check,
            Command::Gc => cni_invoke::gc,
            Command::Status => cni_invoke::status,
            Command::Add | Command::Del | Command::Version => cni_invoke::del,
        };
        self.call(step, call, |()| None)
    }

    fn call<T>(
        &self,
        step: &Step<'_>,
        call: impl FnOnce(&dyn Exec, &Request<'_>) -> Result<T, cni_invoke::Error>,
        result: impl FnOnce(&T) -> Option<&VersionedResult>,
    ) -> Result<T, Error> {
        let network = || self.network.name.to_string();
        let plugin = &self.network.plugins[step.position];
        let injected = Injected {
            name: self.network.name.as_str(),
            version: self.version,
            capability_args: self.rt.map(RuntimeConf::capability_args),
            prev_result: step.prev_result,
            valid_attachments: step.valid_attachments,
        };
        let config = inject::request(plugin, &injected).map_err(|source| Error::Request {
            network: network(),
            plugin: plugin.plugin_type.clone(),
            run_before: step.run_before,
            source,
        })?;
        let shared = &self.client.shared;
        let request = Request::new(&plugin.plugin_type, &self.environment, &config)
            .search(&shared.search_path)
            .until(self.until);
        let answer = match &shared.observer {
            None => call(&*shared.exec, &request),
            Some(observer) => {
                let about = PluginRun {
                    network: Some(self.network.name.as_str()),
                    plugin: &plugin.plugin_type,
                    position: step.position,
                    plugins: self.network.plugins.len(),
                    command: self.command,
                    program: None,
                    environment: &self.environment,
                    stdin: &config,
                };
                let watch = Watch::new(&*shared.exec, &**observer, about);
                let answer = call(&watch, &request);
                let before = step.prev_result.filter(|_| self.command == Command::Add);
                watch.finish(answer.as_ref().err(), before, answer.as_ref().ok().and_then(result));
                answer
            }
        };
        answer.map_err(|source| Error::Plugin {
            network: network(),
            position: step.position,
            run_before: step.run_before,
            source,
        })
    }
}

/// What the plugins are given, but for the command.
pub(super) fn environment(client: &Client, rt: Option<&RuntimeConf>) -> Environment {
    let mut parameters = match rt {
        None => Parameters::default(),
        Some(rt) => {
            let mut parameters = Parameters::attachment(rt.container_id().clone(), rt.ifname().clone());
            parameters.netns = rt.netns().map(Into::into);
            parameters.args = rt.args().clone();
            parameters
        }
    };
    parameters.search_path = client.shared.search_path.clone();
    parameters.trace = client.trace.clone();
    parameters.environment(client.shared.environment.clone())
}

/// One plugin's turn in an operation.
#[derive(Clone, Copy, Default)]
pub(super) struct Step<'a> {
    /// The plugin's place in the list.
    pub(super) position: usize,
    /// How many plugins had their turn before.
    pub(super) run_before: usize,
    pub(super) prev_result: Option<&'a VersionedResult>,
    pub(super) valid_attachments: Option<&'a [Attachment]>,
}
