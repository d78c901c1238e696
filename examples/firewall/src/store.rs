//! Records of what ADD let through, so that DEL and GC know without being told: rules bear no container's name.
//!
//! A record is a small JSON file in the data directory, there before the rules are and gone after they are. The directory
//! is below `/run`: like rules, records do not outlive the machine.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cni_skel::{Error, Result, ResultExt};
use plugin_attach::Owner;
use plugin_attach::owner::digest;
use plugin_support::lock::Lock;
use plugin_support::{atomic, bounded};
use serde::{Deserialize, Serialize};

use crate::config::Backend;

/// The mode of the directory: who talks to whom is nobody else's business.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// What keeps calls apart.
const LOCK: &str = "lock";
/// The longest container ID that is a part of a file name as it is, in bytes.
const LONGEST_ID: usize = 200;
const SUFFIX: &str = ".json";

/// The records of a directory.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
}

/// What ADD did for an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) network: String,
    #[serde(rename = "containerID")]
    pub(crate) container_id: String,
    pub(crate) ifname: String,
    pub(crate) backend: Backend,
    /// The zone of firewalld.
    pub(crate) zone: String,
    /// The bridge whose containers are kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bridge: Option<String>,
    /// The container's addresses.
    pub(crate) addresses: Vec<IpAddr>,
}

impl Record {
    /// Whether this is about an attachment.
    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        self.container_id == owner.container_id && self.ifname == owner.ifname
    }
}

impl Store {
    /// The records of a directory, which need not exist.
    pub(crate) fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Keeps other calls away until the lock is dropped. Makes the directory if needed.
    pub(crate) fn lock(&self) -> Result<Lock> {
        DirBuilder::new()
            .recursive(true)
            .mode(DIR_MODE)
            .create(&self.dir)
            .with_context(|| format!("failed to create directory {:?}", self.dir))?;
        Ok(Lock::acquire(self.dir.join(LOCK))?)
    }

    /// The same, unless there is no directory: then there is nothing to keep anyone away from.
    pub(crate) fn lock_if_any(&self) -> Result<Option<Lock>> {
        if self.dir.is_dir() { self.lock().map(Some) } else { Ok(None) }
    }

    /// Writes a record, in place of what there is about the attachment.
    pub(crate) fn write(&self, record: &Record) -> Result<()> {
        let json = serde_json::to_vec(record)?;
        Ok(atomic::write(self.path(&record.container_id, &record.ifname), json, FILE_MODE)?)
    }

    /// Removes what there is about an attachment, readable or not.
    pub(crate) fn remove(&self, container_id: &str, ifname: &str) -> Result<()> {
        atomic::remove(self.path(container_id, ifname))?;
        Ok(())
    }

    /// All records. What is damaged, nobody can tell whose it is.
    pub(crate) fn all(&self) -> Result<Vec<Record>> {
        let failed = || format!("failed to list directory {:?}", self.dir);
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if is_nothing(&error) => return Ok(Vec::new()),
            entries => entries.with_context(failed)?,
        };
        let mut records = Vec::new();
        for entry in entries {
            let name = entry.with_context(failed)?.file_name();
            // Names that are no text are none of this plugin's.
            if name.to_str().is_some_and(|name| name.ends_with(SUFFIX)) {
                records.extend(read(&self.dir.join(name))?);
            }
        }
        Ok(records)
    }

    /// A colon is neither in a container's ID nor in an interface's name.
    fn path(&self, container_id: &str, ifname: &str) -> PathBuf {
        let id = if container_id.len() > LONGEST_ID {
            digest(&[container_id], 64)
        } else {
            container_id.to_owned()
        };
        self.dir.join(format!("{id}:{ifname}{SUFFIX}"))
    }
}

fn read(path: &Path) -> Result<Option<Record>> {
    match bounded::read(path, bounded::MAX_BYTES) {
        Ok(json) => Ok(serde_json::from_slice(&json).ok()),
        Err(error) if is_nothing(&error) || error.kind() == io::ErrorKind::FileTooLarge => Ok(None),
        Err(error) => Err(Error::from(error).context(format!("failed to read {path:?}"))),
    }
}

/// Whether there cannot be a record: something else may be in the directory's place, which made ADD fail, and must not
/// keep DEL from succeeding.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(container_id: &str) -> Record {
        Record {
            network: "br".into(),
            container_id: container_id.into(),
            ifname: "eth0".into(),
            backend: Backend::Iptables,
            zone: "trusted".into(),
            bridge: None,
            addresses: vec!["10.2.0.2".parse().unwrap(), "fd00::2".parse().unwrap()],
        }
    }

    #[test]
    fn a_record_is_read_back_whatever_the_id() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("a/b"));
        assert!(store.lock_if_any().unwrap().is_none() && store.all().unwrap().is_empty());
        drop(store.lock().unwrap());
        for id in ["c1".to_owned(), "c".repeat(5000)] {
            store.write(&record(&id)).unwrap();
            assert_eq!(store.all().unwrap(), [record(&id)]);
            store.remove(&id, "eth0").unwrap();
            store.remove(&id, "eth0").unwrap();
            assert_eq!(store.all().unwrap(), []);
        }
        store.write(&record("c1")).unwrap();
        assert_eq!(
            fs::read_to_string(dir.path().join("a/b/c1:eth0.json")).unwrap(),
            r#"{"network":"br","containerID":"c1","ifname":"eth0","backend":"iptables","zone":"trusted","addresses":["10.2.0.2","fd00::2"]}"#
        );
    }

    #[test]
    fn what_is_damaged_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        for damaged in ["", "{", "{}", "null", "[]"] {
            fs::write(dir.path().join("c1:eth0.json"), damaged).unwrap();
            assert_eq!(store.all().unwrap(), [], "{damaged}");
        }
        let large = fs::File::create(dir.path().join("c1:eth0.json")).unwrap();
        large.set_len(bounded::MAX_BYTES + 1).unwrap();
        assert_eq!(store.all().unwrap(), [], "it is not read");
        store.remove("c1", "eth0").unwrap();
        assert!(!dir.path().join("c1:eth0.json").exists());
    }
}
