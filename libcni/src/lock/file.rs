//! One lock file: getting it, waiting for it, saying who holds it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use cni_invoke::Until;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::ancestors::Signature;
use super::{LockError, Waiting};
use crate::failpoint;

/// The longest time between two attempts to get a lock. A wait inside the kernel could not be given up.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// Whether a lock can be had by several at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    Exclusive,
    Shared,
}

/// An open lock file, locked or not. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct LockFile {
    path: PathBuf,
    file: File,
    /// What becomes of the file when the lock is released.
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It stays as it is.
    Stay,
    /// It stays, without a signature.
    Unsign,
    /// It is removed.
    Remove,
}

impl LockFile {
    /// Opens the file, which is made if need be. Plugins do not inherit it: std opens files for this process alone.
    ///
    /// A symbolic link is not followed: holders write into the file, and in a folder that others can write to the link
    /// could lead to any file of the host. For the same reason the file must have no other name.
    pub(super) fn open(path: PathBuf) -> Result<Self, LockError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        match options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(&path) {
            Ok(file) if file.metadata().is_ok_and(|found| found.nlink() > 1) => {
                let source = io::Error::other("the file has another name, it is a hard link");
                Err(LockError::Unavailable { file: path, source })
            }
            Ok(file) => Ok(Self { path, file, end: End::Stay }),
            // The kernel's words, "too many levels of symbolic links", are about links that are followed.
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                let source = io::Error::other("there is a symbolic link in its place");
                Err(LockError::Unavailable { file: path, source })
            }
            Err(source) => Err(LockError::Unavailable { file: path, source }),
        }
    }

    /// Takes the lock, unless somebody has it.
    pub(super) fn attempt(&mut self, mode: Mode) -> Result<bool, LockError> {
        loop {
            let locked = match mode {
                Mode::Exclusive => self.file.try_lock(),
                Mode::Shared => self.file.try_lock_shared(),
            };
            return match locked {
                Ok(()) => Ok(true),
                Err(TryLockError::WouldBlock) => Ok(false),
                // A signal came while the lock was asked for on another machine, where the file system is.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(TryLockError::Error(source)) => {
                    Err(LockError::Unavailable { file: self.path.clone(), source })
                }
            };
        }
    }

    /// Takes the lock as soon as it can be had.
    pub(super) fn wait(&mut self, mode: Mode, until: &Until, waiting: Waiting<'_>) -> Result<(), LockError> {
        waiting(&self.path, read_signature(&self.file).and_then(|holder| holder.process()));
        let mut pause = Duration::from_millis(1);
        while !self.attempt(mode)? {
            if let Some(why) = until.interruption() {
                return Err(LockError::Interrupted { file: self.path.clone(), why });
            }
            thread::sleep(until.remaining().map_or(pause, |left| left.min(pause)));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    /// Whether the file is still the one that others find at its path.
    pub(super) fn is_in_place(&self) -> bool {
        match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
            _ => false,
        }
    }

    /// Whether who has the lock, and signed for it, waits for this process to end.
    pub(super) fn is_held_by_an_ancestor(&self) -> bool {
        read_signature(&self.file).is_some_and(|holder| holder.is_an_ancestors())
    }

    /// Says that this process has the lock, until it is released.
    pub(super) fn sign(&mut self) {
        failpoint::hit();
        // Without a signature only a plugin that calls this library is worse off.
        let signature = Signature::own().map(|own| own.to_string()).unwrap_or_default();
        let _ = self.file.set_len(0).and_then(|()| self.file.write_all_at(signature.as_bytes(), 0));
        self.end = End::Unsign;
    }

    /// As [`LockFile::sign`], and removes the file when the lock is released.
    pub(super) fn sign_and_remove_later(&mut self) {
        self.sign();
        self.end = End::Remove;
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        failpoint::hit();
        // The lock is still held here. If this fails, a file is left behind that the next holder takes over.
        let _ = match self.end {
            End::Stay => Ok(()),
            End::Unsign => self.file.set_len(0),
            End::Remove => fs::remove_file(&self.path),
        };
    }
}

/// The process that a lock file says has it.
pub(super) fn signature(path: &Path) -> Option<Signature> {
    // What is no file must not hold up its reader.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    read_signature(&OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?)
}

fn read_signature(file: &File) -> Option<Signature> {
    // Three numbers in decimal, the longest of which has 20 digits.
    let mut text = [0; 64];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.parse().ok()
}
