//! An exclusive lock between processes, held through a file.
//!
//! It is flock(2), as Go's `go-filemutex` takes it, so that a plugin and its Go twin can share a store.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// Mode of a lock file that has to be made; Go's, so that either may come first.
const MODE: u32 = 0o750;

/// A lock that is held until this value is dropped. The file stays.
///
/// ```
/// use plugin_support::lock::Lock;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("lock");
/// let lock = Lock::acquire(&path)?;
/// assert!(Lock::try_acquire(&path)?.is_none(), "held");
/// drop(lock);
/// assert!(Lock::try_acquire(&path)?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct Lock {
    /// Closing it releases the lock; no child inherits it.
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock, after whoever holds it has released it. Makes the file if needed, not its directory.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or locked.
    pub fn acquire(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let mut file = open(&path)?;
        loop {
            match file.lock() {
                Ok(()) if leads_to(&path, &file) => return Ok(Self { _file: file, path }),
                // Removed while it was waited for: whoever comes next locks another file of that name.
                Ok(()) => file = open(&path)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::io(format!("failed to lock {path:?}"), source)),
            }
        }
    }

    /// Takes the lock if nobody holds it.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub fn try_acquire(path: impl Into<PathBuf>) -> Result<Option<Self>> {
        let path = path.into();
        let file = open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file, path })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => {
                Err(Error::io(format!("failed to lock {path:?}"), source))
            }
        }
    }

    /// The file that is locked.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the path still leads to the file.
fn leads_to(path: &Path, file: &File) -> bool {
    let id = |found: io::Result<Metadata>| found.map(|found| (found.dev(), found.ino())).ok();
    id(file.metadata()).is_some_and(|locked| id(std::fs::metadata(path)) == Some(locked))
}

/// Not where a symbolic link leads: nothing is made at a place that someone else has chosen.
fn open(path: &Path) -> Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(MODE)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(|source| Error::io(format!("failed to open lock file {path:?}"), source))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;
    use std::thread;

    use super::*;

    #[test]
    fn the_file_is_gos_and_stays_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        drop(Lock::acquire(&path).unwrap());
        let metadata = path.metadata().unwrap();
        // The umask may take more away.
        assert_eq!(metadata.permissions().mode() & 0o7777 & !MODE, 0);
        assert_eq!(metadata.len(), 0);
        std::fs::write(&path, "kept").unwrap();
        drop(Lock::acquire(&path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
    }

    #[test]
    fn a_link_in_the_files_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("lock"), dir.path().join("victim"));
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        let error = Lock::acquire(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to open lock file {path:?}"));
        assert!(Lock::try_acquire(&path).is_err());
        assert!(!victim.exists());
    }

    #[test]
    fn another_process_sees_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock::acquire(&path).unwrap();
        assert_eq!(lock.path(), path);
        let flock = || Command::new("flock").arg("--nonblock").arg(&path).arg("true").status();
        let Ok(held) = flock() else { return crate::testing::skip("no program \"flock\"") };
        assert_eq!(held.code(), Some(1));
        drop(lock);
        assert!(flock().unwrap().success());
    }

    #[test]
    fn work_under_the_lock_never_overlaps() {
        let dir = tempfile::tempdir().unwrap();
        let (path, counter) = (dir.path().join("lock"), dir.path().join("counter"));
        std::fs::write(&counter, "0").unwrap();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _lock = Lock::acquire(&path).unwrap();
                        let count: u32 = std::fs::read_to_string(&counter).unwrap().parse().unwrap();
                        std::fs::write(&counter, (count + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&counter).unwrap(), "400");
    }

    #[test]
    fn a_lock_that_is_removed_while_it_is_waited_for_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        for _ in 0..20 {
            let first = Lock::acquire(&path).unwrap();
            thread::scope(|scope| {
                let second = scope.spawn(|| Lock::acquire(&path).unwrap());
                thread::yield_now();
                std::fs::remove_file(&path).unwrap();
                drop(first);
                let second = second.join().unwrap();
                assert!(Lock::try_acquire(second.path()).unwrap().is_none(), "held by the second");
            });
        }
    }

    #[test]
    fn a_missing_directory_is_told() {
        let error = Lock::acquire("/no/such/dir/lock").unwrap_err();
        assert_eq!(error.to_string(), r#"failed to open lock file "/no/such/dir/lock""#);
        assert!(error.is_not_found());
    }
}
