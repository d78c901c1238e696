//! Files that are there as a whole or not at all, also after a power cut.
//!
//! The content goes to a temporary file beside the target, whose name starts with [`TEMPORARY_PREFIX`]; it is on disk
//! before the target's name leads to it, and the name is on disk when the call returns. The functions that end in
//! `_unsynced` do not wait for the disk: other processes see the file as a whole or not at all, a power cut may leave it
//! absent or empty. They are for what no container survives either.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Access, access, statvfs};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::state_dir;

/// How the names of temporary files start. One is left behind when the process is killed in between.
pub const TEMPORARY_PREFIX: &str = ".tmp-";

/// Writes a file, in place of what is there. It has exactly this mode, whatever the umask.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("state.json");
/// plugin_support::atomic::write(&path, b"{}", 0o600)?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the directory does not exist or cannot be written to; the target is as it was then.
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>, mode: u32) -> Result<()> {
    replace(path.as_ref(), content.as_ref(), mode, Sync::Disk)
}

/// As [`write()`], without waiting for the disk.
///
/// # Errors
///
/// As [`write()`].
pub fn write_unsynced(path: impl AsRef<Path>, content: impl AsRef<[u8]>, mode: u32) -> Result<()> {
    replace(path.as_ref(), content.as_ref(), mode, Sync::No)
}

/// Writes a file unless there is one, and tells whether it did. Of several callers one succeeds.
///
/// # Errors
///
/// As [`write()`].
pub fn write_new(path: impl AsRef<Path>, content: impl AsRef<[u8]>, mode: u32) -> Result<bool> {
    create(path.as_ref(), content.as_ref(), mode, Sync::Disk)
}

/// As [`write_new`], without waiting for the disk.
///
/// # Errors
///
/// As [`write()`].
pub fn write_new_unsynced(path: impl AsRef<Path>, content: impl AsRef<[u8]>, mode: u32) -> Result<bool> {
    create(path.as_ref(), content.as_ref(), mode, Sync::No)
}

/// Removes a file, and tells whether there was one. It is gone from disk when the call returns.
///
/// # Errors
///
/// If the file cannot be removed.
pub fn remove(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    match std::fs::remove_file(path).and_then(|()| sync_directory(&File::open(directory_of(path))?)) {
        Ok(()) => Ok(true),
        // With something else in the directory's place, there is no such file either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(source) => Err(Error::io(format!("failed to remove {path:?}"), source)),
    }
}

/// Whether to wait for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Disk,
    No,
}

fn replace(path: &Path, content: &[u8], mode: u32, sync: Sync) -> Result<()> {
    store(path, content, mode, sync, |file| file.persist(path).map_err(|error| error.error))
        .map_err(|source| Error::io(format!("failed to write {path:?}"), source))
}

fn create(path: &Path, content: &[u8], mode: u32, sync: Sync) -> Result<bool> {
    match store(path, content, mode, sync, |file| file.persist_noclobber(path).map_err(|error| error.error)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(Error::io(format!("failed to write {path:?}"), source)),
    }
}

/// Whether files can be written in a directory or, where there is none, in one that would be made at its path. Nothing
/// is made to find out.
///
/// # Errors
///
/// Why not: [`everyone could`](crate::state_dir), missing permission, a file system that is read-only or full, a file where a directory should be.
pub fn check_writable(directory: impl AsRef<Path>) -> Result<()> {
    let wanted = directory.as_ref();
    state_dir::check(wanted)?;
    let existing = wanted.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(Path::new("."));
    let failed = |errno| Error::os(format!("failed to write to directory {wanted:?}"), errno);
    if !existing.is_dir() {
        return Err(failed(Errno::NOTDIR));
    }
    access(existing, Access::WRITE_OK | Access::EXEC_OK).map_err(failed)?;
    let room = statvfs(existing).map_err(failed)?;
    // Some file systems do not count files: they have none in all.
    if room.f_bfree == 0 || (room.f_files > 0 && room.f_ffree == 0) {
        return Err(failed(Errno::NOSPC));
    }
    Ok(())
}

fn store(
    path: &Path,
    content: &[u8],
    mode: u32,
    sync: Sync,
    persist: impl FnOnce(NamedTempFile) -> io::Result<File>,
) -> io::Result<()> {
    let directory = directory_of(path);
    // First, for an error with its number if there is no such directory: `tempfile` keeps none.
    let handle = File::open(directory)?;
    let mut file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    if sync == Sync::No {
        return persist(file).map(drop);
    }
    file.as_file().sync_all()?;
    persist(file)?;
    sync_directory(&handle)
}

/// Waits until the names in a directory are on the disk.
///
/// # Errors
///
/// When the disk fails.
pub fn sync_directory(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        // The file system cannot flush directories, as some on other machines: fsync(2) has EINVAL for that and nothing else.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Ok(()),
        synced => synced,
    }
}

/// Where the temporary file goes: a rename only works within a file system.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("10.1.0.5");
        let check = |content: &str, mode: u32| {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, mode);
        };
        for (content, mode) in [("first", 0o600), ("second, and longer", 0o644)] {
            write(&path, content, mode).unwrap();
            check(content, mode);
            write_unsynced(&path, "other", mode).unwrap();
            check("other", mode);
        }
        assert_eq!(names(dir.path()), ["10.1.0.5"], "nothing is left beside it");
    }

    #[test]
    fn only_one_makes_a_new_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("10.1.0.5");
        assert!(write_new(&path, "first", 0o600).unwrap());
        assert!(!write_new(&path, "second", 0o600).unwrap());
        assert!(!write_new_unsynced(&path, "second", 0o600).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        assert!(write_new_unsynced(dir.path().join("10.1.0.6"), "third", 0o600).unwrap());
        assert_eq!(names(dir.path()), ["10.1.0.5", "10.1.0.6"]);
    }

    #[test]
    fn a_link_in_a_files_place_is_replaced_and_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("state.json"), dir.path().join("victim"));
        std::fs::write(&victim, "kept").unwrap();
        std::fs::set_permissions(&victim, Permissions::from_mode(0o640)).unwrap();
        let symbolic = || std::os::unix::fs::symlink(&victim, &path).unwrap();
        let hard = || std::fs::hard_link(&victim, &path).unwrap();
        let written: [fn(&Path) -> Result<()>; 2] =
            [|path| write(path, "new", 0o600), |path| write_unsynced(path, "new", 0o600)];
        for plant in [&symbolic as &dyn Fn(), &hard] {
            for write in written {
                plant();
                write(&path).unwrap();
                assert!(path.symlink_metadata().unwrap().is_file());
                assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
                assert!(remove(&path).unwrap());
            }
            plant();
            assert!(!write_new(&path, "new", 0o600).unwrap(), "a link is a file of that name");
            assert!(remove(&path).unwrap());
            assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
            assert_eq!(victim.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        }
    }

    #[test]
    fn a_file_goes_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write(&path, "", 0o600).unwrap();
        assert!(remove(&path).unwrap());
        assert!(!remove(&path).unwrap());
        assert!(!remove("/no/such/dir/x").unwrap());
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        std::fs::create_dir(&target).unwrap();
        let error = write(&target, "x", 0o600).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to write {target:?}"));
        assert_eq!(names(dir.path()), ["target"]);
        assert!(write("/no/such/dir/x", "x", 0o600).unwrap_err().is_not_found());
    }

    #[test]
    fn what_can_be_written_is_told_without_writing() {
        let dir = tempfile::tempdir().unwrap();
        check_writable(dir.path()).unwrap();
        check_writable(dir.path().join("a/b")).unwrap();
        assert_eq!(names(dir.path()), [""; 0]);

        std::fs::write(dir.path().join("file"), "").unwrap();
        let below_a_file = dir.path().join("file/b");
        let error = check_writable(&below_a_file).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to write to directory {below_a_file:?}"));
        assert_eq!(error.errno().map(crate::Errno::raw), Some(20));
        assert!(check_writable("/proc/self/none").is_err(), "no room, and no permission");
    }

    #[test]
    fn a_bare_name_is_in_the_current_directory() {
        assert_eq!(directory_of(Path::new("x")), Path::new("."));
        assert_eq!(directory_of(Path::new("/x")), Path::new("/"));
    }
}
