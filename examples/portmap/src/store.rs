//! Records of what ADD set up, so that DEL knows without being told: by which backend, under which network's name, to
//! which addresses. Without a record and without mappings, no firewall program needs to run.
//!
//! A record is a small JSON file in the data directory, there before the rules are and gone after they are. The
//! directory is below `/run`: like rules, records do not outlive the machine.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cni_skel::{Error, Result, ResultExt};
use plugin_support::firewall::probe::Backend;
use plugin_support::lock::Lock;
use plugin_support::{atomic, bounded};
use serde::{Deserialize, Serialize};

use crate::names;
use crate::rules::Owner;

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

/// What ADD set up for an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) network: String,
    #[serde(rename = "containerID")]
    pub(crate) container_id: String,
    pub(crate) ifname: String,
    #[serde(with = "backend")]
    pub(crate) backend: Backend,
    /// The container's addresses that rules lead to.
    pub(crate) addresses: Vec<IpAddr>,
}

/// What there is about an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file that cannot be read as a record.
    Damaged,
    /// Nothing.
    Nothing,
    /// A record.
    Record(Record),
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

    /// What there is about an attachment.
    pub(crate) fn find(&self, container_id: &str, ifname: &str) -> Result<Found> {
        read(&self.path(container_id, ifname))
    }

    /// Writes a record, in place of what there is about the attachment.
    pub(crate) fn write(&self, record: &Record) -> Result<()> {
        let json = serde_json::to_vec(record)?;
        Ok(atomic::write(self.path(&record.container_id, &record.ifname), json, FILE_MODE)?)
    }

    /// Removes what there is about an attachment.
    pub(crate) fn remove(&self, container_id: &str, ifname: &str) -> Result<()> {
        atomic::remove(self.path(container_id, ifname))?;
        Ok(())
    }

    /// The records of a container's other interfaces.
    pub(crate) fn others(&self, container_id: &str, ifname: &str) -> Result<Vec<Record>> {
        let prefix = file_prefix(container_id);
        let records = self.records(|name| name.starts_with(&prefix))?;
        Ok(records
            .into_iter()
            .filter(|record| record.container_id == container_id && record.ifname != ifname)
            .collect())
    }

    /// All records. What is damaged, nobody can tell whose it is.
    pub(crate) fn all(&self) -> Result<Vec<Record>> {
        self.records(|_| true)
    }

    fn records(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Record>> {
        let failed = || format!("failed to list directory {:?}", self.dir);
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if is_nothing(&error) => return Ok(Vec::new()),
            entries => entries.with_context(failed)?,
        };
        let mut records = Vec::new();
        for entry in entries {
            let name = entry.with_context(failed)?.file_name();
            // Names that are no text are none of this plugin's.
            let Some(name) = name.to_str().filter(|name| name.ends_with(SUFFIX) && wanted(name)) else {
                continue;
            };
            if let Found::Record(record) = read(&self.dir.join(name))? {
                records.push(record);
            }
        }
        Ok(records)
    }

    /// A colon is neither in a container's ID nor in an interface's name.
    fn path(&self, container_id: &str, ifname: &str) -> PathBuf {
        self.dir.join(format!("{}{ifname}{SUFFIX}", file_prefix(container_id)))
    }
}

impl Record {
    /// The record of an attachment.
    pub(crate) fn new(owner: &Owner, backend: Backend, addresses: Vec<IpAddr>) -> Self {
        let Owner { network, container_id, ifname } = owner.clone();
        Self { network, container_id, ifname, backend, addresses }
    }
}

fn file_prefix(container_id: &str) -> String {
    format!("{}:", names::shortened(container_id, LONGEST_ID))
}

fn read(path: &Path) -> Result<Found> {
    match bounded::read(path, bounded::MAX_BYTES) {
        Ok(json) => Ok(serde_json::from_slice(&json).map_or(Found::Damaged, Found::Record)),
        Err(error) if is_nothing(&error) => Ok(Found::Nothing),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(Found::Damaged),
        Err(error) => Err(Error::from(error).context(format!("failed to read {path:?}"))),
    }
}

/// Whether there cannot be a record: something else may be in the directory's place, which made ADD fail, and must not
/// keep DEL from succeeding.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A backend by the name that configurations have for it.
mod backend {
    use plugin_support::firewall::probe::Backend;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(backend: &Backend, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(backend)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Backend, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = [Backend::Iptables, Backend::Nftables];
        let found = known.into_iter().find(|backend| backend.to_string() == name);
        found.ok_or_else(|| de::Error::custom(format_args!("unknown backend {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(container_id: &str, ifname: &str) -> Record {
        Record {
            network: "br".into(),
            container_id: container_id.into(),
            ifname: ifname.into(),
            backend: Backend::Nftables,
            addresses: vec!["10.2.0.2".parse().unwrap(), "fd00::2".parse().unwrap()],
        }
    }

    #[test]
    fn a_record_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        assert_eq!(store.find("c1", "eth0").unwrap(), Found::Nothing);
        store.write(&record("c1", "eth0")).unwrap();
        let text = fs::read_to_string(dir.path().join("c1:eth0.json")).unwrap();
        assert_eq!(
            text,
            r#"{"network":"br","containerID":"c1","ifname":"eth0","backend":"nftables","addresses":["10.2.0.2","fd00::2"]}"#
        );
        assert_eq!(store.find("c1", "eth0").unwrap(), Found::Record(record("c1", "eth0")));
        store.remove("c1", "eth0").unwrap();
        store.remove("c1", "eth0").unwrap();
        assert_eq!(store.find("c1", "eth0").unwrap(), Found::Nothing);
    }

    #[test]
    fn others_are_the_containers_own() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        let long = "c".repeat(1000);
        for (id, ifname) in [
            ("c1", "eth0"),
            ("c1", "eth1"),
            ("c1", "eth0.json"),
            ("c10", "eth0"),
            (&long, "eth0"),
            (&long, "eth1"),
        ] {
            store.write(&record(id, ifname)).unwrap();
        }
        let mut names: Vec<_> =
            store.others("c1", "eth0").unwrap().into_iter().map(|record| record.ifname).collect();
        names.sort();
        assert_eq!(names, ["eth0.json", "eth1"]);
        assert_eq!(store.others(&long, "eth0").unwrap(), [record(&long, "eth1")]);
        assert_eq!(store.all().unwrap().len(), 6);
    }

    #[test]
    fn a_damaged_record_is_told_and_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        for damaged in [
            "",
            "{",
            "{}",
            "null",
            r#"{"network":"br","containerID":"c1","ifname":"eth0","backend":"pf","addresses":[]}"#,
        ] {
            fs::write(dir.path().join("c1:eth0.json"), damaged).unwrap();
            assert_eq!(store.find("c1", "eth0").unwrap(), Found::Damaged, "{damaged}");
            assert_eq!(store.all().unwrap(), []);
        }
        let large = fs::File::create(dir.path().join("c1:eth0.json")).unwrap();
        large.set_len(bounded::MAX_BYTES + 1).unwrap();
        assert_eq!(store.find("c1", "eth0").unwrap(), Found::Damaged, "it is not read");
    }

    #[test]
    fn without_a_directory_there_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("a/b"));
        assert_eq!(store.find("c1", "eth0").unwrap(), Found::Nothing);
        assert_eq!((store.all().unwrap(), store.others("c1", "eth0").unwrap()), (vec![], vec![]));
        store.remove("c1", "eth0").unwrap();
        assert!(store.lock_if_any().unwrap().is_none());
        let lock = store.lock().unwrap();
        assert_eq!(lock.path(), dir.path().join("a/b/lock"));
        drop(lock);
        assert!(store.lock_if_any().unwrap().is_some());
    }
}
