//! Records of what ADD did for an attachment, so that DEL and GC know without being told.
//!
//! A record is a small JSON file in a directory, there before what it tells of is, and gone after that is gone. What is in
//! it, a plugin decides; how it is called, written and read, and what of files that cannot be read, is decided here.

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::{atomic, bounded, state_dir};

/// The mode of the directory: who talks to whom is nobody else's business.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// What keeps calls apart.
const LOCK: &str = "lock";
/// The longest container ID that is a part of a file name as it is, in bytes.
const LONGEST_ID: usize = 200;
const SUFFIX: &str = ".json";

/// What is recorded of an attachment.
pub trait Record: Serialize + DeserializeOwned {
    /// The container's ID.
    fn container_id(&self) -> &str;

    /// The name of its interface.
    fn ifname(&self) -> &str;
}

/// The records of a directory, which need not exist.
#[derive(Debug)]
pub struct Records<R> {
    dir: PathBuf,
    shortened: fn(&str) -> String,
    records: PhantomData<fn() -> R>,
}

/// What there is about an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<R> {
    /// A file that cannot be read as a record.
    Damaged,
    /// Nothing.
    Nothing,
    /// A record.
    Record(R),
}

impl<R: Record> Records<R> {
    /// The records of a directory. `shortened` is what stands for an ID of more than 200 bytes in the name of a file; it has
    /// at most so many.
    pub fn new(dir: impl Into<PathBuf>, shortened: fn(&str) -> String) -> Self {
        Self { dir: dir.into(), shortened, records: PhantomData }
    }

    /// Keeps other calls away until the lock is dropped. Makes the directory if needed.
    ///
    /// # Errors
    ///
    /// When the directory cannot be made, or [is not to be used](state_dir), or the lock cannot be had.
    pub fn lock(&self) -> Result<Lock> {
        state_dir::make(&self.dir, DIR_MODE)?;
        Lock::acquire(self.dir.join(LOCK))
    }

    /// The same, unless there is no directory, or never was room for a record in it: then there is nothing to keep anyone
    /// away from.
    ///
    /// # Errors
    ///
    /// When the lock cannot be had.
    pub fn lock_if_any(&self) -> Result<Option<Lock>> {
        if !self.dir.is_dir() {
            return Ok(None);
        }
        match Lock::acquire(self.dir.join(LOCK)) {
            // Removed since.
            Err(error) if error.is_not_found() => Ok(None),
            // The lock is made before the first record: where it could not be, none can have been.
            Err(error) if error.is_no_room() && !self.has_files()? => Ok(None),
            lock => lock.map(Some),
        }
    }

    fn has_files(&self) -> Result<bool> {
        match fs::read_dir(&self.dir) {
            Ok(mut entries) => Ok(entries.next().is_some()),
            Err(error) if is_nothing(&error) => Ok(false),
            Err(error) => Err(Error::io(format!("failed to list directory {:?}", self.dir), error)),
        }
    }

    /// What there is about an attachment.
    ///
    /// # Errors
    ///
    /// When the file is there but cannot be read.
    pub fn find(&self, container_id: &str, ifname: &str) -> Result<Found<R>> {
        read(&self.path(container_id, ifname))
    }

    /// Writes a record, in place of what there is about the attachment.
    ///
    /// # Errors
    ///
    /// When that is not possible; then what there was is still there.
    pub fn write(&self, record: &R) -> Result<()> {
        let path = self.path(record.container_id(), record.ifname());
        let json = serde_json::to_vec(record)
            .map_err(|error| Error::io(format!("failed to write {path:?}"), error.into()))?;
        atomic::write(path, json, FILE_MODE)
    }

    /// Removes what there is about an attachment, readable or not.
    ///
    /// # Errors
    ///
    /// When it is there but cannot be removed.
    pub fn remove(&self, container_id: &str, ifname: &str) -> Result<()> {
        atomic::remove(self.path(container_id, ifname)).map(drop)
    }

    /// The records of a container's other interfaces.
    ///
    /// # Errors
    ///
    /// As [`all`](Self::all).
    pub fn others(&self, container_id: &str, ifname: &str) -> Result<Vec<R>> {
        let prefix = self.prefix(container_id);
        let mut records = self.with_names(|name| name.starts_with(&prefix))?;
        records.retain(|record| record.container_id() == container_id && record.ifname() != ifname);
        Ok(records)
    }

    /// All records. What is damaged, nobody can tell whose it is.
    ///
    /// # Errors
    ///
    /// When the directory cannot be listed, or a file not be read.
    pub fn all(&self) -> Result<Vec<R>> {
        self.with_names(|_| true)
    }

    fn with_names(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<R>> {
        let failed = |error| Error::io(format!("failed to list directory {:?}", self.dir), error);
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if is_nothing(&error) => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut records = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            // Names that are no text are none of ours.
            let Some(name) = name.to_str().filter(|name| name.ends_with(SUFFIX) && is_wanted(name)) else {
                continue;
            };
            if let Found::Record(record) = read(&self.dir.join(name))? {
                records.push(record);
            }
        }
        Ok(records)
    }

    fn path(&self, container_id: &str, ifname: &str) -> PathBuf {
        self.dir.join(format!("{}{ifname}{SUFFIX}", self.prefix(container_id)))
    }

    /// What the names of a container's files begin with. A colon is neither in an ID nor in an interface's name.
    fn prefix(&self, container_id: &str) -> String {
        if container_id.len() > LONGEST_ID {
            return format!("{}:", (self.shortened)(container_id));
        }
        format!("{container_id}:")
    }
}

fn read<R: Record>(path: &Path) -> Result<Found<R>> {
    match bounded::read(path, bounded::MAX_BYTES) {
        Ok(json) => Ok(serde_json::from_slice(&json).map_or(Found::Damaged, Found::Record)),
        Err(error) if is_nothing(&error) => Ok(Found::Nothing),
        Err(error) if matches!(error.kind(), io::ErrorKind::FileTooLarge | io::ErrorKind::IsADirectory) => {
            Ok(Found::Damaged)
        }
        Err(error) => Err(Error::io(format!("failed to read {path:?}"), error)),
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

    /// ID and interface, and no more.
    type Pair = (String, String);

    impl Record for Pair {
        fn container_id(&self) -> &str {
            &self.0
        }

        fn ifname(&self) -> &str {
            &self.1
        }
    }

    fn pair(container_id: &str, ifname: &str) -> Pair {
        (container_id.to_owned(), ifname.to_owned())
    }

    fn records(dir: &Path) -> Records<Pair> {
        Records::new(dir, |id| format!("~{}", id.len()))
    }

    #[test]
    fn a_record_is_read_back_whatever_the_id() {
        let dir = tempfile::tempdir().unwrap();
        let records = records(dir.path());
        for (id, file) in [
            ("c1".to_owned(), "c1:eth0.json".to_owned()),
            ("c".repeat(200), format!("{}:eth0.json", "c".repeat(200))),
            ("c".repeat(201), "~201:eth0.json".to_owned()),
        ] {
            assert_eq!(records.find(&id, "eth0").unwrap(), Found::Nothing);
            records.write(&pair(&id, "eth0")).unwrap();
            assert!(dir.path().join(&file).is_file(), "{file}");
            assert_eq!(records.find(&id, "eth0").unwrap(), Found::Record(pair(&id, "eth0")));
            assert_eq!(records.all().unwrap(), [pair(&id, "eth0")]);
            for _ in 0..2 {
                records.remove(&id, "eth0").unwrap();
                assert_eq!(records.find(&id, "eth0").unwrap(), Found::Nothing);
            }
        }
    }

    #[test]
    fn others_are_the_containers_own() {
        let dir = tempfile::tempdir().unwrap();
        let records = records(dir.path());
        let (long, other) = ("c".repeat(1000), "d".repeat(1000));
        for (id, ifname) in [
            ("c1", "eth0"),
            ("c1", "eth1"),
            ("c1", "eth0.json"),
            ("c10", "eth0"),
            (&long, "eth0"),
            (&long, "eth1"),
            // What stands for it is the same.
            (&other, "eth2"),
        ] {
            records.write(&pair(id, ifname)).unwrap();
        }
        let mut names: Vec<_> =
            records.others("c1", "eth0").unwrap().into_iter().map(|pair| pair.1).collect();
        names.sort();
        assert_eq!(names, ["eth0.json", "eth1"]);
        assert_eq!(records.others(&long, "eth0").unwrap(), [pair(&long, "eth1")]);
        assert_eq!(records.all().unwrap().len(), 7);
    }

    #[test]
    fn what_is_damaged_is_told_and_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let records = records(dir.path());
        let file = dir.path().join("c1:eth0.json");
        for damaged in ["", "{", "{}", "null", "[]"] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(records.find("c1", "eth0").unwrap(), Found::Damaged, "{damaged}");
            assert_eq!(records.all().unwrap(), []);
        }
        fs::File::create(&file).unwrap().set_len(bounded::MAX_BYTES + 1).unwrap();
        assert_eq!(records.find("c1", "eth0").unwrap(), Found::Damaged, "it is not read");
        records.remove("c1", "eth0").unwrap();
        assert!(!file.exists());
        // Whoever puts a directory there does not keep all containers from starting.
        fs::create_dir(&file).unwrap();
        assert_eq!((records.find("c1", "eth0").unwrap(), records.all().unwrap()), (Found::Damaged, vec![]));
    }

    #[test]
    fn without_a_directory_there_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let records = records(&dir.path().join("a/b"));
        assert_eq!(records.find("c1", "eth0").unwrap(), Found::Nothing);
        assert_eq!((records.all().unwrap(), records.others("c1", "eth0").unwrap()), (vec![], vec![]));
        records.remove("c1", "eth0").unwrap();
        assert!(records.lock_if_any().unwrap().is_none());
        let lock = records.lock().unwrap();
        assert_eq!(lock.path(), dir.path().join("a/b/lock"));
        drop(lock);
        assert!(records.lock_if_any().unwrap().is_some());
        // Nor is there with a file in its place.
        fs::write(dir.path().join("file"), "").unwrap();
        let records = self::records(&dir.path().join("file"));
        assert_eq!((records.all().unwrap(), records.find("c1", "eth0").unwrap()), (vec![], Found::Nothing));
        records.lock().unwrap_err();
    }
}
