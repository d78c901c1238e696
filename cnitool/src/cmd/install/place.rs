//! How a file comes to be in its place: whole, on the disk, and verified, or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::output::Outcome;

/// Puts a file with this content in its place, unless it is there already.
///
/// The content is written beside the target and flushed, read back, and renamed: whoever opens the target finds the old
/// file or the new one, and a plugin that is running keeps the file that it was started from. The file beside it has a
/// name of its own, which starts with a dot, so that neither runtimes nor plugins take it for one of theirs, and so that
/// what a killed run has left is used by the next one. Whoever writes to it has its lock.
pub(super) fn place(target: &Path, bytes: &[u8], mode: u32) -> io::Result<Outcome> {
    let dir = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let new = beside(target);
    loop {
        // Looked at first: where nothing is to be done nothing is written, not even to a read-only disk.
        let found = look(target, bytes, mode)?;
        if found == Found::Same {
            return Ok(Outcome::Unchanged);
        }
        // For reading: a file that anyone has open for writing cannot be run.
        let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let lock = File::from(rustix::fs::open(&new, flags, Mode::from_raw_mode(0o600))?);
        wait_for(&lock)?;
        // Another run may have put it in place, or removed it, while this one waited.
        if !is_same_file(&lock, &new)? {
            continue;
        }
        let done = look(target, bytes, mode).and_then(|found| match found {
            Found::Same => fs::remove_file(&new).map(|()| Outcome::Unchanged),
            found => {
                write(&new, bytes, mode)?;
                fs::rename(&new, target)?;
                sync_dir(dir)?;
                Ok(if found == Found::Nothing { Outcome::Installed } else { Outcome::Replaced })
            }
        });
        if done.is_err() {
            // The error is what counts. The lock is still held, so that it is nobody else's.
            let _ = fs::remove_file(&new);
        }
        return done;
    }
}

/// Where a target's new content is written.
pub(super) fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.cnitool-new"))
}

fn wait_for(lock: &File) -> io::Result<()> {
    loop {
        match lock.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

/// Waits until the names in a directory are as they are on the disk, too.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // The file system cannot flush directories, as some on other machines: fsync(2) has EINVAL for that and nothing else.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(()),
        synced => synced,
    }
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    drop(file);
    if fs::read(path)? == bytes { Ok(()) } else { Err(io::Error::other("what was written reads otherwise")) }
}

/// What is in a target's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// A regular file with the content and the mode.
    Same,
    /// Anything else but a directory. A link is one: where it leads in a container says nothing about the node.
    Other,
}

/// # Errors
///
/// When it cannot be looked at, or is a directory.
fn look(target: &Path, bytes: &[u8], mode: u32) -> io::Result<Found> {
    let found = match fs::symlink_metadata(target) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        found => found?,
    };
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let same = found.permissions().mode() & 0o7777 == mode && has(target, &found, bytes)?;
    Ok(if same { Found::Same } else { Found::Other })
}

/// Whether a target is a regular file with this content.
pub(super) fn has(target: &Path, found: &fs::Metadata, bytes: &[u8]) -> io::Result<bool> {
    Ok(found.is_file() && usize::try_from(found.len()) == Ok(bytes.len()) && fs::read(target)? == bytes)
}

fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        found => found.map(|found| (found.dev(), found.ino()) == (open.dev(), open.ino())),
    }
}
