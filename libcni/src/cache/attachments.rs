//! All attachments of a cache directory, by what the files say.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cni_types::args::InvalidArgs;
use cni_types::config::Attachment;
use cni_types::{CniArgs, DecodeError, ExtraKeys, VersionedResult};

use super::entry::{Content, Record, decode};
use super::name::TEMPORARY_PREFIX;
use super::{Cache, Damage};
use crate::attachment::{InvalidParameters, RuntimeConf};
use crate::conf::Problem;
use crate::file::{is_fault, read};
use crate::network::Network;

/// An attachment as the cache has it: what ADD was called with, and what came of it.
#[doc(alias = "NetworkAttachment")]
#[derive(Clone, Debug)]
pub struct CachedAttachment {
    record: Record,
    /// Every file that is for it; the first one is read.
    files: Vec<PathBuf>,
}

impl CachedAttachment {
    /// The network's name.
    pub fn network_name(&self) -> &str {
        &self.record.network
    }

    /// The container's ID.
    pub fn container_id(&self) -> &str {
        &self.record.container_id
    }

    /// The name of the interface inside the container.
    pub fn ifname(&self) -> &str {
        &self.record.ifname
    }

    /// The isolation domain, such as the path of a network namespace. Libraries before Go's v1.2 did not keep it.
    pub fn netns(&self) -> Option<&str> {
        self.record.netns.as_deref()
    }

    /// The pairs of `CNI_ARGS`.
    pub fn args(&self) -> &[(String, String)] {
        &self.record.args
    }

    /// What was offered to the plugins, by capability.
    pub fn capability_args(&self) -> &ExtraKeys {
        &self.record.capability_args
    }

    /// The configuration that ADD was called with: a list's or a single plugin's text. Plugins of a drop-in folder stand in
    /// it as if they were the list's own; Go's library leaves them out.
    pub fn config(&self) -> &[u8] {
        &self.record.config
    }

    /// The file.
    pub fn file(&self) -> &Path {
        self.files.first().map(PathBuf::as_path).unwrap_or(Path::new(""))
    }

    /// Whether ADD came to its end. An attachment that did not is being made just now, or the runtime died meanwhile.
    pub fn is_finished(&self) -> bool {
        self.record.finished
    }

    /// The result of ADD, in the version it was in.
    ///
    /// # Errors
    ///
    /// When there is none, or it cannot be read.
    pub fn result(&self) -> Result<VersionedResult, DecodeError> {
        self.record.result().map_err(|why| DecodeError::data("cached result", "", why.to_string()))
    }

    /// The parameters that ADD was called with.
    ///
    /// # Errors
    ///
    /// When the names or the pairs break a rule, so that ADD cannot have been called with them. Code 4.
    pub fn runtime_conf(&self) -> Result<RuntimeConf, InvalidRecord> {
        let mut args = CniArgs::new();
        for (key, value) in &self.record.args {
            args.push(key, value)?;
        }
        Ok(RuntimeConf::new(self.container_id(), self.ifname())?
            .with_netns(self.netns().unwrap_or_default())
            .with_args(args)
            .with_capability_args(self.capability_args().clone()))
    }

    /// The network as it was at the time of ADD: to tear an attachment down whose configuration has been changed or removed
    /// since.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the configuration.
    pub fn network(&self) -> Result<Network, Vec<Problem>> {
        let is_list = serde_json::from_slice::<ExtraKeys>(self.config())
            .is_ok_and(|keys| keys.find("plugins").is_some());
        if is_list { Network::from_list(self.config()) } else { Network::from_plugin(self.config()) }
    }

    /// Container and interface, as GC names an attachment.
    pub fn attachment(&self) -> Attachment {
        Attachment::new(self.container_id(), self.ifname())
    }

    pub(crate) fn new(record: Record, file: PathBuf) -> Self {
        Self { record, files: vec![file] }
    }

    /// Removes every file that is for the attachment, whatever its name. Gives what could not be removed.
    pub(crate) fn remove_files(&self) -> Vec<(PathBuf, io::Error)> {
        self.files
            .iter()
            .filter_map(|path| super::remove(path).err().map(|error| (path.clone(), error)))
            .collect()
    }
}

/// A cache file has parameters that break a rule, so that no ADD can have been called with them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRecord {
    /// The pairs of `CNI_ARGS`.
    #[error(transparent)]
    Args(#[from] InvalidArgs),
    /// The container's ID or the interface's name.
    #[error(transparent)]
    Parameters(#[from] InvalidParameters),
}

/// All that a cache directory holds.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The attachments, in the order of their files' names.
    pub(crate) attachments: Vec<CachedAttachment>,
    /// Files that are no record, and why.
    pub(crate) unusable: Vec<(PathBuf, Damage)>,
    /// Files that could not be read, although they may be whole.
    pub(crate) unread: Vec<(PathBuf, io::Error)>,
    /// What writers that died left behind.
    pub(crate) leftovers: Vec<PathBuf>,
}

impl Cache {
    /// Reads every file. A directory that does not exist is an empty one.
    pub(crate) fn list(&self) -> io::Result<Listing> {
        let results = self.results();
        let entries = match fs::read_dir(&results) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listing::default()),
            Err(error) => return Err(error),
        };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort_unstable();
        let mut listing = Listing::default();
        let mut known = BTreeMap::new();
        for path in paths {
            listing.take(path, &mut known);
        }
        Ok(listing)
    }
}

impl Listing {
    fn take(&mut self, path: PathBuf, known: &mut BTreeMap<[String; 3], usize>) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(TEMPORARY_PREFIX) {
            return self.leftovers.push(path);
        }
        let content = match read(&path) {
            // It was removed since the directory was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) if is_fault(&error) => return self.unread.push((path, error)),
            Err(error) => Err(Damage::new(error.to_string())),
            Ok(bytes) => decode(&bytes),
        };
        let record = match content {
            Ok(Content::Record(record)) => *record,
            Ok(Content::Legacy(_)) => {
                let why = "it says not what it is for, as files of old libraries do not";
                return self.unusable.push((path, Damage::new(why)));
            }
            Err(why) => return self.unusable.push((path, why)),
        };
        let identity = [&record.network, &record.container_id, &record.ifname].map(Clone::clone);
        if identity.iter().any(String::is_empty) {
            return self.unusable.push((path, Damage::new("it says not what it is for")));
        }
        match known.get(&identity).and_then(|at| self.attachments.get_mut(*at)) {
            None => {
                known.insert(identity, self.attachments.len());
                self.attachments.push(CachedAttachment::new(record, path));
            }
            // Of a finished and an unfinished ADD the finished one tells more.
            Some(first) if record.finished && !first.record.finished => {
                first.record = record;
                first.files.insert(0, path);
            }
            Some(first) => first.files.push(path),
        }
    }
}
