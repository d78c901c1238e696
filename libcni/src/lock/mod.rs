//! Who must wait for whom: operations on one container run in turn, GC runs alone, across processes.
//!
//! The spec demands it of the runtime
//! ([lifecycle and ordering](https://github.com/containernetworking/cni/blob/main/SPEC.md#lifecycle--ordering)), and Go's
//! library leaves it to its caller. The locks are `flock(2)` on files in a folder of the cache directory that Go never
//! looks at; the kernel releases them when their holder dies.
//!
//! | file | ADD, DEL, CHECK | GC |
//! | --- | --- | --- |
//! | `gate` | shared, until the next one is had | exclusive, until the next one is had |
//! | `all` | shared | exclusive |
//! | `c-ID` | exclusive | – |
//!
//! They are always taken in this order, and one operation holds at most one of the last kind, so nobody waits in a circle.
//! The gate is for GC: while it waits there, no new operation passes.
//!
//! A plugin may itself call this library, as meta-plugins do, while its caller holds the locks and waits for it. Holders
//! sign the file; who finds an ancestor's signature there is a part of the ancestor's operation and goes on.

mod ancestors;
mod file;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cni_invoke::{Interruption, Until};

use file::{LockFile, Mode, signature};

/// The folder of the lock files inside the cache directory.
const LOCKS: &str = ".libcni-locks";
const GATE: &str = "gate";
const ALL: &str = "all";
/// What the names of containers' lock files start with.
const CONTAINER_PREFIX: &str = "c-";
/// How much of a container's ID its lock file's name has. Two that only differ after that wait for each other in vain.
const ID_BYTES: usize = 200;

/// Is told of a lock file that must be waited for, and of the process that says to have it.
pub(crate) type Waiting<'a> = &'a dyn Fn(&Path, Option<u32>);

/// The locks of a cache directory.
#[derive(Clone, Debug)]
pub(crate) struct Locks {
    dir: PathBuf,
}

/// Locks that are held until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// Released in this order: the container's first.
    _held: Vec<LockFile>,
}

/// Why a lock was not had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The caller's bound came before the lock.
    #[error("{why} while waiting for the lock {}", file.display())]
    Interrupted {
        /// The lock file.
        file: PathBuf,
        /// Why the wait ended.
        why: Interruption,
    },
    /// GC was called by a plugin whose own operation it would have to wait for.
    #[error("GC cannot wait for the operation that this process is a part of")]
    Nested,
    /// The lock file cannot be used.
    #[error("cannot lock {}", file.display())]
    Unavailable {
        /// The lock file or its folder.
        file: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl Locks {
    /// The locks of a cache directory.
    pub(crate) fn of(cache_dir: &Path) -> Self {
        Self { dir: cache_dir.join(LOCKS) }
    }

    /// Waits until no other operation on the container, and no GC, is under way.
    pub(crate) fn container(
        &self,
        id: &str,
        until: &Until,
        waiting: Waiting<'_>,
    ) -> Result<Guard, LockError> {
        self.create_dir()?;
        let mut gate = LockFile::open(self.dir.join(GATE))?;
        // If GC waits at the gate for an ancestor, and the ancestor for this process, then this process must pass.
        if !gate.attempt(Mode::Shared)? && !self.is_part_of_an_operation() {
            gate.wait(Mode::Shared, until, waiting)?;
        }
        let mut all = LockFile::open(self.dir.join(ALL))?;
        if !all.attempt(Mode::Shared)? {
            if all.is_held_by_an_ancestor() {
                return Ok(Guard::default());
            }
            all.wait(Mode::Shared, until, waiting)?;
        }
        drop(gate);
        let name = format!("{CONTAINER_PREFIX}{}", id.get(..ID_BYTES).unwrap_or(id));
        loop {
            let mut container = LockFile::open(self.dir.join(&name))?;
            if !container.attempt(Mode::Exclusive)? {
                if container.is_held_by_an_ancestor() {
                    return Ok(Guard { _held: vec![all] });
                }
                container.wait(Mode::Exclusive, until, waiting)?;
            }
            // Its last holder removed it, and somebody else may have made and locked a new one.
            if container.is_in_place() {
                container.sign_and_remove_later();
                return Ok(Guard { _held: vec![container, all] });
            }
        }
    }

    /// Waits until nothing else is under way, and keeps everything else waiting.
    pub(crate) fn all(&self, until: &Until, waiting: Waiting<'_>) -> Result<Guard, LockError> {
        self.create_dir()?;
        let mut gate = LockFile::open(self.dir.join(GATE))?;
        let mut all = LockFile::open(self.dir.join(ALL))?;
        for lock in [&mut gate, &mut all] {
            if lock.attempt(Mode::Exclusive)? {
                continue;
            }
            if signature(&self.dir.join(ALL)).is_some_and(|holder| holder.is_an_ancestors()) {
                // A plugin that GC has called calls GC for its delegates.
                return Ok(Guard::default());
            }
            if self.is_part_of_an_operation() {
                return Err(LockError::Nested);
            }
            lock.wait(Mode::Exclusive, until, waiting)?;
        }
        all.sign();
        Ok(Guard { _held: vec![all] })
    }

    /// Removes the lock files of containers whose operations died, while nothing else is under way.
    pub(crate) fn sweep(&self, _alone: &Guard) {
        for path in self.container_files() {
            // Left behind, it is taken over by the container's next operation.
            let _ = fs::remove_file(path);
        }
    }

    /// Whether an ancestor of this process is in the middle of an operation on a container.
    fn is_part_of_an_operation(&self) -> bool {
        self.container_files().any(|path| signature(&path).is_some_and(|holder| holder.is_an_ancestors()))
    }

    fn container_files(&self) -> impl Iterator<Item = PathBuf> {
        let is_containers =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(CONTAINER_PREFIX);
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.filter(is_containers).map(|entry| entry.path())
    }

    fn create_dir(&self) -> Result<(), LockError> {
        if self.dir.is_dir() {
            return Ok(());
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.map_err(|source| LockError::Unavailable { file: self.dir.clone(), source })
    }
}

#[cfg(test)]
mod tests;
