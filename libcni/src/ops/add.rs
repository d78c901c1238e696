//! ADD: the plugins in order, each given the result of the one before; the last result is cached.

use cni_types::{Command, VersionedResult};

use super::del;
use super::run::Operation;
use crate::attachment::RuntimeConf;
use crate::client::Client;
use crate::error::Error;
use crate::failpoint;
use crate::lint::losses;
use crate::network::Network;
use crate::observe::Warning;

impl Client {
    /// ADD: attaches a container to a network, and caches the result, which is in the network's version.
    ///
    /// The cache is proved to be writable before the first plugin is run. When a plugin fails, the others are not run and
    /// nothing is cached; what the plugins before it made stays, so that the caller must call [`Client::del`] with the same
    /// parameters, unless [`Error::was_executed`] says that nothing was run. [`Client::add_or_undo`] does both.
    ///
    /// # Errors
    ///
    /// When the cache cannot be used, another operation is in the way until the bound, or a plugin fails; the error keeps
    /// the plugin's own [code](Error::code). When only the result could not be cached at the end, the error
    /// [has it](Error::AddNotCached).
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#adding-an-attachment).
    #[doc(alias = "AddNetworkList")]
    #[doc(alias = "AddNetwork")]
    pub fn add(&self, network: &Network, rt: &RuntimeConf) -> Result<VersionedResult, Error> {
        let until = self.until();
        let operation = Operation::new(self, network, Command::Add, Some(rt), &until)?;
        let _turn = operation.lock(rt)?;
        add(&operation, rt, OnFailure::Forget)
    }

    /// ADD, and DEL at once if ADD fails after anything was run: either the container is attached, or all is as before.
    ///
    /// DEL has a bound of its own, since that of ADD may have passed: the timeout of
    /// [`ClientBuilder::timeout`](crate::ClientBuilder::timeout), or 60 seconds without one. No other operation on the
    /// container comes between the two. Until DEL has succeeded the cache says that an ADD is under way, so that
    /// [`Client::gc`] cleans up if the process dies first, or if DEL fails.
    ///
    /// # Errors
    ///
    /// As for [`Client::add`]; [`Error::Undo`] if DEL failed, too, so that it must be called again.
    pub fn add_or_undo(&self, network: &Network, rt: &RuntimeConf) -> Result<VersionedResult, Error> {
        let until = self.until();
        let operation = Operation::new(self, network, Command::Add, Some(rt), &until)?;
        let _turn = operation.lock(rt)?;
        let error = match add(&operation, rt, OnFailure::Remember) {
            Err(error) if error.was_executed() => error,
            other => return other,
        };
        match del::locked(self, network, rt, &self.until_of_undo()) {
            Ok(()) => Err(error),
            Err(undo) => Err(Error::Undo { add: Box::new(error), source: Box::new(undo) }),
        }
    }
}

/// What becomes of the note that an ADD is under way when a plugin has failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    /// It goes: the caller knows, and calls DEL.
    Forget,
    /// It stays until DEL has removed it along with everything else.
    Remember,
}

fn add(operation: &Operation<'_>, rt: &RuntimeConf, on_failure: OnFailure) -> Result<VersionedResult, Error> {
    let Operation { client, network, .. } = operation;
    let cache = &client.shared.cache;
    let pending = cache.begin(network, rt).map_err(|source| Error::Cache {
        network: network.name.to_string(),
        command: Command::Add,
        dir: cache.dir().to_owned(),
        source,
    })?;
    failpoint::hit();
    let result = match chain(operation) {
        Ok(result) => result,
        Err(error) => {
            if on_failure == OnFailure::Forget || !error.was_executed() {
                pending.abandon();
            }
            return Err(error);
        }
    };
    failpoint::hit();
    match pending.commit(&result) {
        Ok(()) => Ok(result),
        Err(source) => Err(Error::AddNotCached {
            network: network.name.to_string(),
            dir: cache.dir().to_owned(),
            result: Box::new(result),
            source,
        }),
    }
}

fn chain(operation: &Operation<'_>) -> Result<VersionedResult, Error> {
    let Operation { client, network, .. } = operation;
    let mut before = operation.add(0, None)?;
    for (position, plugin) in network.plugins.iter().enumerate().skip(1) {
        failpoint::hit();
        let after = operation.add(position, Some(&before))?;
        if client.shared.observer.is_some() {
            let losses = losses(&before, &after);
            if !losses.is_empty() {
                let (network, plugin) = (network.name.to_string(), plugin.plugin_type.clone());
                client.warn(|| Warning::Dropped { network, plugin, losses });
            }
        }
        before = after;
    }
    Ok(before)
}
