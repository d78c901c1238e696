//! GC: DEL for cached attachments that are no longer valid, then GC of each plugin.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

use cni_invoke::Until;
use cni_types::Command;
use cni_types::config::Attachment;

use super::del;
use super::run::{Operation, Step};
use crate::attachment::RuntimeConf;
use crate::cache::{CachedAttachment, Listing};
use crate::client::Client;
use crate::error::Error;
use crate::failpoint;
use crate::network::Network;
use crate::observe::Warning;

/// What GC did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcReport {
    /// The stale attachments that are gone now, by container.
    pub deleted: Vec<Attachment>,
}

impl Client {
    /// GC: removes whatever belongs to none of the valid attachments. Does nothing if the network's `disableGC` is set.
    ///
    /// First every cached attachment to the network that is not valid gets its DEL, with the parameters that its ADD had;
    /// also one whose ADD never came to its end. Those of different containers are worked on
    /// [side by side](crate::ClientBuilder::parallelism). Then, from 1.1.0 on, each plugin is told which attachments are
    /// valid. GC waits for all other operations on the same cache directory and keeps them waiting.
    ///
    /// # Errors
    ///
    /// When the cache cannot be listed, another operation is in the way until the bound, or anything fails:
    /// [`Error::Gc`] has every failure and what was done all the same.
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#garbage-collecting-a-network).
    #[doc(alias = "GCNetworkList")]
    pub fn gc(&self, network: &Network, valid: &[Attachment]) -> Result<GcReport, Error> {
        if network.disable_gc {
            return Ok(GcReport::default());
        }
        let until = self.until();
        let operation = Operation::new(self, network, Command::Gc, None, &until)?;
        let waiting = |file: &Path, holder| self.warn_of_wait(file, holder);
        let alone = self.shared.locks.all(&until, &waiting).map_err(|source| Error::Lock {
            network: network.name.to_string(),
            command: Command::Gc,
            source,
        })?;
        let mut listing = self.shared.cache.list().map_err(|source| Error::Cache {
            network: network.name.to_string(),
            command: Command::Gc,
            dir: self.cache_dir().to_owned(),
            source,
        })?;
        failpoint::hit();
        self.shared.locks.sweep(&alone);
        let unread = std::mem::take(&mut listing.unread);
        let by_container = self.stale(network, valid, listing);
        let (deleted, mut errors) = self.delete_all(network, &by_container, &until);
        let attempted = deleted.len() + errors.len();
        // The plugins are called all the same: they are told what is valid, and not what is cached.
        errors.extend(unread.into_iter().map(|(file, source)| {
            let network = network.name.to_string();
            Error::Unread { network, file, source }
        }));
        let of_plugins = Command::Gc.exists_in(operation.version());
        let is_left = attempted < by_container.iter().map(Vec::len).sum() || of_plugins;
        if let Some(why) = until.interruption().filter(|_| is_left) {
            // One failure for all that is left, however much that is.
            errors.push(Error::NotExecuted { network: network.name.to_string(), command: Command::Gc, why });
        } else if of_plugins {
            for position in 0..network.plugins.len() {
                let valid_attachments = Some(valid);
                let step = Step { position, run_before: position, valid_attachments, ..Step::default() };
                errors.extend(operation.run(&step).err());
                failpoint::hit();
            }
        }
        if errors.is_empty() {
            Ok(GcReport { deleted })
        } else {
            Err(Error::Gc { network: network.name.to_string(), deleted, errors })
        }
    }

    /// The cached attachments to delete, by container. Removes what writers that died left behind: none is at work now.
    fn stale(&self, network: &Network, valid: &[Attachment], listing: Listing) -> Vec<Vec<Stale>> {
        for (file, why) in listing.unusable {
            self.warn(|| Warning::RecordSkipped { file, why: why.to_string() });
        }
        for file in listing.leftovers {
            if let Err(why) = std::fs::remove_file(&file) {
                self.warn(|| Warning::NotRemoved { file, why: why.to_string() });
            }
        }
        let valid: HashSet<(&str, &str)> = valid.iter().map(|it| (it.container_id(), it.ifname())).collect();
        let mut by_container: BTreeMap<String, Vec<Stale>> = BTreeMap::new();
        for cached in listing.attachments {
            let is_valid = valid.contains(&(cached.container_id(), cached.ifname()));
            if cached.network_name() != network.name.as_str() || is_valid {
                continue;
            }
            match cached.runtime_conf() {
                Ok(rt) => by_container
                    .entry(cached.container_id().to_owned())
                    .or_default()
                    .push(Stale { rt, cached }),
                // No ADD can have been called with these, and no plugin would take them.
                Err(why) => {
                    let file = cached.file().to_owned();
                    self.warn(|| Warning::RecordSkipped { file, why: why.to_string() });
                }
            }
        }
        by_container.into_values().collect()
    }

    /// DEL of each attachment; those of one container in turn. Gives what is gone and what failed, by container.
    fn delete_all(
        &self,
        network: &Network,
        by_container: &[Vec<Stale>],
        until: &Until,
    ) -> (Vec<Attachment>, Vec<Error>) {
        let results = Mutex::new(BTreeMap::new());
        let queue = Mutex::new(by_container.iter().enumerate());
        let workers =
            self.shared.parallelism.min(NonZeroUsize::new(by_container.len()).unwrap_or(NonZeroUsize::MIN));
        let work = || {
            // The guard is only held while the next container is taken.
            let next = || lock(&queue).next().filter(|_| until.interruption().is_none());
            while let Some((at, stale)) = next() {
                let in_time = stale.iter().take_while(|_| until.interruption().is_none());
                let done: Vec<_> = in_time.map(|stale| stale.delete(self, network, until)).collect();
                lock(&results).insert(at, done);
            }
        };
        thread::scope(|scope| {
            for _ in 1..workers.get() {
                scope.spawn(work);
            }
            work();
        });
        let (mut deleted, mut errors) = (Vec::new(), Vec::new());
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        for result in results.into_values().flatten() {
            match result {
                Ok(attachment) => deleted.push(attachment),
                Err(error) => errors.push(error),
            }
        }
        (deleted, errors)
    }
}

/// A cached attachment that is no longer valid.
struct Stale {
    rt: RuntimeConf,
    cached: CachedAttachment,
}

impl Stale {
    fn delete(&self, client: &Client, network: &Network, until: &Until) -> Result<Attachment, Error> {
        match del::of_cached(client, network, &self.rt, &self.cached, until) {
            Ok(()) => Ok(self.cached.attachment()),
            Err(error) => Err(Error::Stale {
                container_id: self.cached.container_id().to_owned(),
                ifname: self.cached.ifname().to_owned(),
                source: Box::new(error),
            }),
        }
    }
}

/// A worker that panicked has left nothing half done behind in these.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
