//! What an interface was like before ADD, in Go's files: it may outlive the container, as hardware does.
//!
//! A file holds what was changed. It has one key that Go's have not, the network, which tells GC whose it is; Go's plugin
//! passes over it.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cni_skel::types::config::Attachment;
use cni_skel::{Error, MacAddr, Result, ResultExt};
use plugin_support::netlink::Link;
use plugin_support::{Mac, atomic, bounded, state_dir};
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::config::LinkSettings;
use crate::link;

const FILE_MODE: u32 = 0o600;
/// Go's is 0600, in which nobody but root can open a file.
const DIR_MODE: u32 = 0o700;
const SUFFIX: &str = ".json";

/// What was changed, as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Originals {
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) promisc: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allmulti: Option<bool>,
    #[serde(rename = "txQLen", skip_serializing_if = "Option::is_none")]
    pub(crate) tx_queue: Option<u32>,
    /// Unknown for a file of Go's.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<String>,
}

/// The file of an attachment.
#[derive(Debug)]
pub(crate) struct Backup {
    path: PathBuf,
}

/// What there is of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file that is no backup.
    Damaged,
    /// Nothing.
    Nothing,
    /// What it holds.
    Originals(Originals),
}

/// What [`Backup::save`] found, to undo it.
#[derive(Debug)]
pub(crate) struct Saved {
    backup: Backup,
    /// The whole file; `None` if there was none.
    before: Option<Vec<u8>>,
}

impl Originals {
    /// What settings would change of a link, as it is now.
    pub(crate) fn of(link: &Link, settings: &LinkSettings, network: &str) -> Self {
        Self {
            mac: settings.mac.and(link.mac).map(|mac| mac.to_string()),
            promisc: settings.promisc.then(|| link::is_promisc(link)),
            mtu: settings.mtu.map(|_| link.mtu),
            allmulti: settings.allmulti.map(|_| link.is_allmulti()),
            tx_queue: settings.tx_queue.map(|_| link.tx_queue),
            network: Some(network.to_owned()),
        }
    }

    /// The hardware address; `None` also for what is none.
    pub(crate) fn mac(&self) -> Option<Mac> {
        let mac: MacAddr = self.mac.as_ref()?.parse().ok()?;
        Some(mac.bytes().into())
    }

    /// These, and from later ones what is not known here.
    fn or(self, later: Self) -> Self {
        Self {
            mac: self.mac.or(later.mac),
            promisc: self.promisc.or(later.promisc),
            mtu: self.mtu.or(later.mtu),
            allmulti: self.allmulti.or(later.allmulti),
            tx_queue: self.tx_queue.or(later.tx_queue),
            network: self.network.or(later.network),
        }
    }

    /// As Go prints it, with one space a level.
    fn to_json(&self) -> Result<Vec<u8>> {
        let mut json = Vec::new();
        self.serialize(&mut Serializer::with_formatter(&mut json, PrettyFormatter::with_indent(b" ")))?;
        Ok(json)
    }
}

impl Backup {
    /// The file of an attachment.
    pub(crate) fn of(dir: &Path, container_id: &str, ifname: &str) -> Self {
        Self { path: dir.join(file_name(container_id, ifname)) }
    }

    /// What there is of it.
    pub(crate) fn find(&self) -> Result<Found> {
        Ok(match self.read()? {
            None => Found::Nothing,
            Some(json) => serde_json::from_slice(&json).map_or(Found::Damaged, Found::Originals),
        })
    }

    /// Saves originals. What an earlier ADD has saved stays: what it changed, is no original any more.
    pub(crate) fn save(self, originals: Originals) -> Result<Saved> {
        let before = self.read()?;
        let known: Option<Originals> = before.as_ref().and_then(|json| serde_json::from_slice(json).ok());
        let all = match &known {
            Some(known) => known.clone().or(originals),
            None => originals,
        };
        if known.as_ref() != Some(&all) {
            self.write(&all.to_json()?)?;
        }
        Ok(Saved { backup: self, before })
    }

    /// Removes the file, if there is one.
    pub(crate) fn remove(&self) -> plugin_support::Result<()> {
        atomic::remove(&self.path).map(drop)
    }

    /// The file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> Result<Option<Vec<u8>>> {
        match bounded::read(&self.path, bounded::MAX_BYTES) {
            Ok(json) => Ok(Some(json)),
            Err(error) if is_nothing(&error) => Ok(None),
            // Nobody's originals are so many: it says as much as an empty file, and DEL goes on without it.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(Some(Vec::new())),
            Err(error) => Err(Error::from(error).context(format!("failed to read backup {:?}", self.path))),
        }
    }

    fn write(&self, json: &[u8]) -> Result<()> {
        make_dir(self.path.parent().unwrap_or(Path::new(".")))?;
        atomic::write(&self.path, json, FILE_MODE).context("failed to save a backup")
    }
}

impl Saved {
    /// Makes the file what it was.
    pub(crate) fn undo(self) -> Result<()> {
        match self.before {
            Some(json) => self.backup.write(&json),
            None => Ok(self.backup.remove()?),
        }
    }
}

/// Makes the directory if needed.
pub(crate) fn make_dir(dir: &Path) -> Result<()> {
    state_dir::make(dir, DIR_MODE).context("failed to prepare the backup directory")
}

/// Removes the files of a network's attachments that are none of the valid ones; goes on past errors. Files that do not
/// say whose they are stay.
pub(crate) fn collect(dir: &Path, network: &str, valid: &[Attachment]) -> Result<()> {
    let failed = || format!("failed to list directory {dir:?}");
    let entries = match fs::read_dir(dir) {
        Err(error) if is_nothing(&error) => return Ok(()),
        entries => entries.with_context(failed)?,
    };
    let valid: HashSet<_> =
        valid.iter().map(|attachment| file_name(attachment.container_id(), attachment.ifname())).collect();
    let mut errors = Vec::new();
    for entry in entries {
        let name = entry.with_context(failed)?.file_name();
        let is_dead = name.to_str().is_some_and(|name| name.ends_with(SUFFIX) && !valid.contains(name));
        let backup = Backup { path: dir.join(&name) };
        match is_dead.then(|| backup.find()) {
            Some(Ok(Found::Originals(originals))) if originals.network.as_deref() == Some(network) => {
                errors.extend(backup.remove().err().map(Error::from));
            }
            Some(Err(error)) => errors.push(error),
            _ => {}
        }
    }
    Error::all(errors).map_or(Ok(()), Err)
}

/// Whether there cannot be a file: something else may be in the directory's place, which made ADD fail, and must not keep
/// DEL from succeeding.
fn is_nothing(error: &io::Error) -> bool {
    // A name that is too long for a file was too long for ADD.
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

fn file_name(container_id: &str, ifname: &str) -> String {
    format!("{container_id}_{ifname}{SUFFIX}")
}

#[cfg(test)]
mod tests;
