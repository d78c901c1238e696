//! DEL: the plugins in reverse order, each given the result of ADD; then the cached result is removed.

use std::io;
use std::path::PathBuf;

use cni_invoke::Until;
use cni_types::{CniVersion, Command, VersionedResult};

use super::run::{Operation, Step, environment};
use crate::attachment::RuntimeConf;
use crate::cache::{CachedAttachment, CachedResult, identity};
use crate::client::Client;
use crate::error::Error;
use crate::failpoint;
use crate::network::{Network, Version};
use crate::observe::Warning;

/// DEL gives plugins the result of ADD from this version on.
const WITH_PREV_RESULT: CniVersion = CniVersion::V0_4_0;

impl Client {
    /// DEL: undoes ADD, also one that failed or never was.
    ///
    /// A cache that cannot be used, a damaged file in it and a lock that cannot be had do not keep DEL from its work. When a
    /// plugin fails, those before it in the list are not run, since an address must not be given back while it is in use;
    /// the cached result stays, and DEL should be called again.
    ///
    /// # Errors
    ///
    /// When another operation is in the way until the bound, or a plugin fails; the error keeps the plugin's own
    /// [code](Error::code). [`Error::was_executed`] tells whether anything was run.
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#deleting-an-attachment).
    #[doc(alias = "DelNetworkList")]
    #[doc(alias = "DelNetwork")]
    pub fn del(&self, network: &Network, rt: &RuntimeConf) -> Result<(), Error> {
        let until = self.until();
        let operation = operation(self, network, rt, &until, None)?;
        let _turn = operation.try_lock(rt)?;
        locked(self, network, rt, &until)
    }
}

/// DEL once the container's turn has come.
pub(super) fn locked(
    client: &Client,
    network: &Network,
    rt: &RuntimeConf,
    until: &Until,
) -> Result<(), Error> {
    let cache = &client.shared.cache;
    let identity = identity(network, rt);
    let cached = match cache.result(identity) {
        CachedResult::Good(result) => Some(*result),
        CachedResult::None { .. } => None,
        CachedResult::Bad { file, why } => {
            client.warn(|| Warning::CacheUnusable { file, why: why.to_string() });
            None
        }
    };
    chain(&operation(client, network, rt, until, cached.as_ref())?, cached)?;
    failpoint::hit();
    warn_of_remains(client, cache.remove(identity));
    Ok(())
}

/// DEL of an attachment that GC has found in the cache, with the parameters that ADD had.
pub(super) fn of_cached(
    client: &Client,
    network: &Network,
    rt: &RuntimeConf,
    attachment: &CachedAttachment,
    until: &Until,
) -> Result<(), Error> {
    let cached = match attachment.result() {
        Ok(result) => Some(result),
        // Nothing is expected of an ADD that did not come to its end.
        Err(_) if !attachment.is_finished() => None,
        Err(why) => {
            let file = attachment.file().to_owned();
            client.warn(|| Warning::CacheUnusable { file, why: why.message().to_owned() });
            None
        }
    };
    chain(&operation(client, network, rt, until, cached.as_ref())?, cached)?;
    failpoint::hit();
    warn_of_remains(client, attachment.remove_files());
    Ok(())
}

/// DEL is tried even in a version that this library does not know: what is up must come down.
fn operation<'a>(
    client: &'a Client,
    network: &'a Network,
    rt: &'a RuntimeConf,
    until: &'a Until,
    cached: Option<&VersionedResult>,
) -> Result<Operation<'a>, Error> {
    if let Some(why) = until.interruption() {
        return Err(Error::NotExecuted { network: network.name.to_string(), command: Command::Del, why });
    }
    let version = match &network.version {
        Version::Absent => None,
        Version::Released(version) => Some(*version),
        Version::Unsupported(error) => Some(cached.map_or_else(|| error.nearest(), VersionedResult::version)),
    };
    let environment = environment(client, Some(rt));
    Ok(Operation { client, network, command: Command::Del, rt: Some(rt), version, until, environment })
}

fn chain(operation: &Operation<'_>, cached: Option<VersionedResult>) -> Result<(), Error> {
    let Operation { client, network, .. } = operation;
    let version = operation.version();
    let mut prev_result = None;
    if let Some(cached) = cached.filter(|_| version >= WITH_PREV_RESULT) {
        match cached.convert(version) {
            Ok(result) => prev_result = Some(result),
            Err(why) => client.warn(|| Warning::CacheUnusable {
                file: client.shared.cache.results(),
                why: why.to_string(),
            }),
        }
    }
    for (run_before, position) in (0..network.plugins.len()).rev().enumerate() {
        operation.run(&Step {
            position,
            run_before,
            prev_result: prev_result.as_ref(),
            valid_attachments: None,
        })?;
        failpoint::hit();
    }
    Ok(())
}

/// The plugins are done; a file that cannot be removed only makes them be called once more.
fn warn_of_remains(client: &Client, remains: Vec<(PathBuf, io::Error)>) {
    for (file, why) in remains {
        client.warn(|| Warning::NotRemoved { file, why: why.to_string() });
    }
}
