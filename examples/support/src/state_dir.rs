//! Directories that plugins keep state in: made if needed, and refused if others decide what lies in them.
//!
//! Whoever can put a file into such a directory takes addresses away by reservations of his own, holds a lock for ever, or
//! has a plugin restore what he wrote. Whoever can put another directory in its place can do the same. So neither the
//! directory nor one above it may be writable by everyone. Above it, and only there, the sticky bit makes it right, as of
//! `/tmp`: nobody can replace what is root's, and what is below must be root's or the caller's own. A symbolic link is
//! followed, as state may be kept on another disk; its own place and that which it leads to are held to the same.
//!
//! Only ADD refuses, and STATUS tells; DEL and GC take away what there is wherever it is.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use crate::error::{Error, Result};

/// What lets everyone write.
const OTHERS_WRITE: u32 = 0o002;
/// What lets nobody rename or remove another's entries.
const STICKY: u32 = 0o1000;
/// How many links a path may lead through; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// Makes a directory, with those above it, unless it is there. They have this mode, less the umask.
///
/// ```
/// use std::os::unix::fs::PermissionsExt as _;
///
/// let dir = tempfile::tempdir()?;
/// let open = dir.path().join("open");
/// plugin_support::state_dir::make(&open, 0o700)?;
/// std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777))?;
/// assert!(plugin_support::state_dir::make(open.join("below"), 0o700).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Exposed`] if everyone could change what lies in it; another one if it cannot be made.
pub fn make(dir: impl AsRef<Path>, mode: u32) -> Result<()> {
    let dir = dir.as_ref();
    if is_there(dir)? {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(dir)
        .map_err(|source| Error::io(format!("failed to create directory {dir:?}"), source))?;
    // Somebody else may have been faster, in a directory with the sticky bit.
    check(dir)
}

/// What [`make`] would say of a directory, or of as much of its path as is there. Nothing is made.
///
/// # Errors
///
/// [`Error::Exposed`] if everyone could change what lies in it; another one if that cannot be told.
pub fn check(dir: impl AsRef<Path>) -> Result<()> {
    is_there(dir.as_ref()).map(drop)
}

/// Whether there is such a directory, if nothing speaks against it.
fn is_there(dir: &Path) -> Result<bool> {
    let failed = |source| Error::io(format!("failed to look at directory {dir:?}"), source);
    let exposed = |path: &Path| Error::Exposed { dir: dir.to_owned(), path: path.to_owned() };
    let mut rest = names_of(&std::path::absolute(dir).map_err(failed)?);
    let mut here = PathBuf::from("/");
    let mut found = here.metadata().map_err(failed)?;
    let mut links = 0;
    // As the kernel walks: `here` is the real path of a directory, and `rest` what leads on from it.
    while let Some(name) = rest.pop_front() {
        if is_open(&found) && found.mode() & STICKY == 0 {
            return Err(exposed(&here));
        }
        if name == ".." {
            here.pop();
            found = here.metadata().map_err(failed)?;
            continue;
        }
        let path = here.join(name);
        let next = match path.symlink_metadata() {
            // What is not there is made by `make`, or is an error of the call that wants to write.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(false);
            }
            next => next.map_err(failed)?,
        };
        if is_open(&found) && ![0, rustix::process::geteuid().as_raw()].contains(&next.uid()) {
            return Err(exposed(&path));
        }
        if next.is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return Err(failed(Errno::LOOP.into()));
            }
            let target = fs::read_link(&path).map_err(failed)?;
            if target.is_absolute() {
                here = PathBuf::from("/");
                found = here.metadata().map_err(failed)?;
            }
            let mut names = names_of(&target);
            names.append(&mut rest);
            rest = names;
        } else {
            here = path;
            found = next;
        }
    }
    if found.is_dir() && is_open(&found) {
        return Err(exposed(&here));
    }
    Ok(found.is_dir())
}

fn is_open(found: &Metadata) -> bool {
    found.mode() & OTHERS_WRITE != 0
}

/// The names that a path leads through, `..` among them.
fn names_of(path: &Path) -> VecDeque<OsString> {
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(is_name).map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn dir(&self, name: &str, mode: u32) -> PathBuf {
            let path = self.path(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    #[track_caller]
    fn refused(dir: &Path, because_of: &Path) {
        for verdict in [check(dir), make(dir, 0o700)] {
            let error = verdict.unwrap_err();
            let Error::Exposed { dir: told, path } = &error else { panic!("{error}") };
            assert_eq!((told.as_path(), path.as_path()), (dir, because_of));
            let text = error.to_string();
            assert!(text.contains(&format!("{because_of:?}")) && text.contains("chmod o-w"), "{text}");
        }
    }

    #[test]
    fn a_directory_is_made_with_its_mode_and_stays() {
        let tree = Tree::new();
        let dir = tree.path("a/b");
        check(&dir).unwrap();
        assert!(!tree.path("a").exists(), "nothing is made to find out");
        make(&dir, 0o700).unwrap();
        make(&dir, 0o755).unwrap();
        assert_eq!(dir.metadata().unwrap().mode() & 0o7777, 0o700);
        // That a group may write is somebody's decision.
        make(tree.dir("group", 0o2775), 0o700).unwrap();
    }

    #[test]
    fn one_that_everyone_can_write_to_is_refused_and_so_is_one_below_it() {
        let tree = Tree::new();
        let open = tree.dir("open", 0o777);
        let sticky = tree.dir("sticky", 0o1777);
        refused(&open, &open);
        refused(&sticky, &sticky);
        refused(&open.join("below"), &open);
        refused(&open.join("below/more"), &open);
        assert!(!open.join("below").exists());
        tree.dir("open/below", 0o700);
        refused(&open.join("below"), &open);
        // The way there leads through it, though the end is elsewhere.
        refused(&open.join("../end"), &open);
    }

    #[test]
    fn below_one_with_the_sticky_bit_only_what_is_ones_own_is_taken() {
        let tree = Tree::new();
        let sticky = tree.dir("sticky", 0o1777);
        make(sticky.join("mine/deep"), 0o700).unwrap();
        make(sticky.join("mine/deep"), 0o700).unwrap();
        let foreign = tree.dir("sticky/foreign", 0o700);
        if chown(&foreign, Some(12345), None).is_err() {
            return crate::testing::skip("needs root");
        }
        refused(&foreign, &foreign);
        refused(&foreign.join("below"), &foreign);
        symlink(tree.path(""), sticky.join("link")).unwrap();
        make(sticky.join("link/good"), 0o700).unwrap();
        std::os::unix::fs::lchown(sticky.join("link"), Some(12345), None).unwrap();
        refused(&sticky.join("link/good"), &sticky.join("link"));
    }

    #[test]
    fn links_are_followed_and_their_places_and_targets_are_looked_at() {
        let tree = Tree::new();
        let (good, open) = (tree.dir("good", 0o700), tree.dir("open", 0o777));
        symlink("good", tree.path("to-good")).unwrap();
        make(tree.path("to-good/dir"), 0o700).unwrap();
        assert!(good.join("dir").is_dir());
        symlink(&open, tree.path("to-open")).unwrap();
        refused(&tree.path("to-open"), &open);
        // From a good place to a good place, by way of one that is not.
        symlink(tree.path("open/on"), tree.path("by-open")).unwrap();
        symlink(&good, open.join("on")).unwrap();
        refused(&tree.path("by-open"), &open);
        symlink(tree.path("loop"), tree.path("loop")).unwrap();
        let error = check(tree.path("loop")).unwrap_err();
        assert_eq!(error.errno().map(crate::Errno::raw), Some(Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn what_is_no_directory_is_not_made_one() {
        let tree = Tree::new();
        fs::write(tree.path("file"), "").unwrap();
        for path in [tree.path("file"), tree.path("file/below")] {
            check(&path).unwrap();
            let error = make(&path, 0o700).unwrap_err();
            assert_eq!(error.to_string(), format!("failed to create directory {path:?}"));
        }
    }
}
