//! Whether a directory has changed since this plugin last wrote to it: the ground that the index stands on.
//!
//! When an entry of a directory comes, goes or is renamed, the kernel sets the directory's modification time and its
//! change time to one and the same clock reading. That reading may be as coarse as 10 ms, so two changes can leave the
//! same times: comparing times that the kernel chose proves nothing. So this plugin chooses: when it is done it sets
//! the modification time to a value of its own, more than a second before the change time, which only the kernel can
//! set. From then on
//!
//! - any change of an entry, by whomever, makes both times equal again, so it shows, whatever the clock says;
//! - setting the modification time back by hand, as `touch`, `tar` and `rsync` do, moves the change time, so it shows;
//! - two stamps of this plugin differ, be they within one tick of the clock: they are numbered.
//!
//! Not seen is a file that is changed in place, without any entry of the directory changing. Neither Go's plugin nor
//! this one ever does that, nor does an editor that writes a new file and renames it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{Timespec, Timestamps, UTIME_OMIT, futimens};

/// How far back the modification time is set, in seconds.
const BACK: i64 = 2;

/// What a directory looks like from outside: which one it is, and its times in seconds and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl Stamp {
    /// The stamp of an open directory as it is now.
    pub(super) fn of(dir: &File) -> io::Result<Self> {
        Ok(Self::from(&dir.metadata()?))
    }

    /// Marks an open directory as seen, and gives the stamp that it has from now on until an entry changes.
    ///
    /// `None` when there can be no such stamp: the times are too coarse, or another process has just changed the
    /// directory.
    pub(super) fn renew(dir: &File, number: u64) -> io::Result<Option<Self>> {
        let before = Self::of(dir)?;
        // In whole milliseconds: not every file system keeps more.
        let nanoseconds = i64::try_from(number % 1000).unwrap_or_default() * 1_000_000;
        let chosen = (before.changed.0 - BACK, nanoseconds);
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: chosen.0, tv_nsec: chosen.1 },
        };
        futimens(dir, &times)?;
        let stamp = Self::of(dir)?;
        Ok((stamp.modified == chosen && stamp.is_own()).then_some(stamp))
    }

    /// Whether the times can be this plugin's doing, and not the kernel's at a change of an entry.
    pub(super) fn is_own(&self) -> bool {
        self.modified.0 < self.changed.0
    }
}

impl From<&Metadata> for Stamp {
    fn from(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn dir() -> (tempfile::TempDir, File) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("10.0.0.1"), "c1").unwrap();
        let handle = File::open(dir.path()).unwrap();
        (dir, handle)
    }

    #[test]
    fn a_stamp_holds_until_an_entry_changes() {
        let (dir, handle) = dir();
        let path = |name: &str| dir.path().join(name);
        let changes: [&dyn Fn(); 5] = [
            &|| fs::write(path("10.0.0.2"), "").unwrap(),
            &|| fs::rename(path("10.0.0.2"), path("10.0.0.3")).unwrap(),
            &|| {
                fs::write(path(".tmp"), "c9")
                    .and_then(|()| fs::rename(path(".tmp"), path("10.0.0.3")))
                    .unwrap();
            },
            &|| fs::remove_file(path("10.0.0.3")).unwrap(),
            // And a change of the time alone, back to what it was.
            &|| {
                let Stamp { modified: (seconds, nanoseconds), .. } = Stamp::of(&handle).unwrap();
                let time = Duration::new(seconds.try_into().unwrap(), nanoseconds.try_into().unwrap());
                fs::write(path("x"), "").and_then(|()| fs::remove_file(path("x"))).unwrap();
                handle.set_modified(SystemTime::UNIX_EPOCH + time).unwrap();
                assert_eq!(Stamp::of(&handle).unwrap().modified, (seconds, nanoseconds));
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let stamp = Stamp::renew(&handle, number as u64).unwrap().unwrap();
            assert_eq!(Stamp::of(&handle).unwrap(), stamp);
            // Reading is no change.
            fs::read(path("10.0.0.1")).and_then(|_| fs::read_dir(dir.path())).unwrap().for_each(drop);
            assert_eq!(Stamp::of(&handle).unwrap(), stamp);
            change();
            assert_ne!(Stamp::of(&handle).unwrap(), stamp, "change {number}");
        }
    }

    #[test]
    fn a_change_in_the_same_tick_shows() {
        let (dir, handle) = dir();
        let path = dir.path().join("10.0.0.2");
        for number in 0..2000 {
            let stamp = Stamp::renew(&handle, number).unwrap().unwrap();
            fs::write(&path, "").unwrap();
            let now = Stamp::of(&handle).unwrap();
            assert_ne!(now, stamp);
            assert!(!now.is_own(), "the kernel sets both times alike");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn two_stamps_differ_within_one_tick() {
        let (_dir, handle) = dir();
        let stamps: Vec<_> = (0..100).map(|number| Stamp::renew(&handle, number).unwrap().unwrap()).collect();
        assert!(stamps.windows(2).all(|two| two[0] != two[1]));
    }
}
