//! The records: a file for each attachment, whole or not there.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cni_skel::{AddResult, Cidr, Error, IpConfig, Result, ResultExt};

/// What is known of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The container's ID.
    pub container_id: String,
    /// The interface in the container.
    pub ifname: String,
    /// Its addresses, with their prefixes.
    pub addresses: Vec<Cidr>,
}

impl Record {
    /// What a result says of an attachment: the addresses that are in the container.
    pub fn of(result: &AddResult, container_id: &str, ifname: &str) -> Self {
        let is_in_container = |ip: &&IpConfig| {
            // An address without an interface is one that an IPAM plugin alone has told of.
            let interface = ip.interface.and_then(|index| result.interfaces.get(index));
            interface.is_none_or(|interface| interface.sandbox.is_some())
        };
        let addresses = result
            .ips
            .iter()
            .filter(is_in_container)
            .map(|ip| ip.address)
            .collect();
        Self {
            container_id: container_id.to_owned(),
            ifname: ifname.to_owned(),
            addresses,
        }
    }
}

/// A directory of records.
#[derive(Debug)]
pub struct Records {
    dir: PathBuf,
}

impl Records {
    /// The records in a directory, which need not be there yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Writes a record, in place of one of the same attachment.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn save(&self, record: &Record) -> Result<()> {
        self.write(record)
            .with_context(|| format!("writing a record to {}", self.dir.display()))
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let name = file_name(&record.container_id, &record.ifname);
        // A reader finds the old record or the new one, never a part of one.
        let new = self.dir.join(format!(".{name}.new"));
        fs::write(&new, serde_json::to_vec_pretty(record)?)?;
        fs::rename(&new, self.dir.join(name))
    }

    /// The record of an attachment, if there is one.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is none.
    pub fn find(&self, container_id: &str, ifname: &str) -> Result<Option<Record>> {
        let path = self.dir.join(file_name(container_id, ifname));
        let reading = || format!("reading the record {}", path.display());
        match fs::read(&path) {
            Ok(json) => Ok(Some(serde_json::from_slice(&json).with_context(reading)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(reading),
        }
    }

    /// Removes the record of an attachment. One that is not there is no error.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove(&self, container_id: &str, ifname: &str) -> Result<()> {
        remove(&self.dir.join(file_name(container_id, ifname)))
    }

    /// Removes all records but those of these attachments; goes on past errors.
    ///
    /// # Errors
    ///
    /// All that went wrong.
    pub fn retain(&self, is_valid: impl Fn(&str, &str) -> bool) -> Result<()> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(|| format!("reading {}", self.dir.display()))?,
        };
        let mut errors = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // A file of another form is not a record.
            let Some((container_id, ifname)) = attachment(&name) else {
                continue;
            };
            if !is_valid(container_id, ifname) {
                errors.extend(remove(&path).err());
            }
        }
        Error::all(errors).map_or(Ok(()), Err)
    }

    /// Whether records could be written.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn probe(&self) -> Result<()> {
        let probe = self.dir.join(format!(".probe-{}", std::process::id()));
        let write = || {
            fs::create_dir_all(&self.dir)?;
            fs::write(&probe, "")?;
            fs::remove_file(&probe)
        };
        write().with_context(|| format!("writing to {}", self.dir.display()))
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("removing the record {}", path.display())),
    }
}

/// Neither a container ID nor the name of an interface has a colon.
fn file_name(container_id: &str, ifname: &str) -> String {
    format!("{container_id}:{ifname}.json")
}

fn attachment(file_name: &str) -> Option<(&str, &str)> {
    file_name.strip_suffix(".json")?.split_once(':')
}
