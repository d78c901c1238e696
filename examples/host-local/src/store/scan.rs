//! What a network's directory says: the files that are reservations, and what stands in them.
//!
//! Only files that are named by an address count. Whatever else is there is none of this plugin's business.

use std::fs::{DirEntry, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use plugin_support::atomic::TEMPORARY_PREFIX;
use plugin_support::{Error, Result};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::addr::Addr;

/// The longest reservation that is read. A container ID can be longer than a file name, never this long.
const MAX_BYTES: u64 = 256 * 1024;

/// What stands in a file that is named by an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing: a writer was killed between making the file and writing it, or a power cut took what it wrote. It
    /// reserves nothing, since whoever makes reservations holds the lock until they are written.
    Empty,
    /// No text, or no regular file: not a reservation, but the address is not free either.
    Foreign,
    /// Text, without white space around it.
    Text(String),
}

/// What was found in a directory.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The files that are named by an address.
    pub(super) files: Vec<(Addr, Content)>,
    /// The names of temporary files that a killed process left.
    pub(super) leftovers: Vec<String>,
    /// Why files that are named by an address could not be read. They are among the files as foreign ones.
    pub(super) unread: Vec<Error>,
}

/// Reads the whole directory.
pub(super) fn scan(dir: &Path) -> Result<Found> {
    let mut found = Found::default();
    for entry in entries(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some(address) = Addr::from_file_name(name) {
            match read(&entry.path()) {
                Ok(Some(content)) => found.files.push((address, content)),
                // Removed since: a person's doing, and as good as never there.
                Ok(None) => {}
                // What no file could be read for says nothing about this one.
                Err(error) if is_shortage(&error) => return Err(error),
                // One file that cannot be read keeps its own address from use, and no other.
                Err(error) => {
                    found.files.push((address, Content::Foreign));
                    found.unread.push(error);
                }
            }
        } else if is_temporary(name) {
            found.leftovers.push(name.to_owned());
        }
    }
    Ok(found)
}

/// Whether this process, or the machine, has no more of what it takes to open a file.
fn is_shortage(error: &Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(Errno::raw_os_error);
    error.errno().is_some_and(|errno| shortages.contains(&errno.raw()))
}

/// Whether a file is named as this plugin's temporary ones are: the prefix and six letters or digits.
fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(TEMPORARY_PREFIX).unwrap_or_default();
    random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// How many files are named by an address, without looking into them.
pub(super) fn count(dir: &Path) -> Result<u64> {
    let mut count = 0;
    for entry in entries(dir)? {
        count += u64::from(entry?.file_name().to_str().and_then(Addr::from_file_name).is_some());
    }
    Ok(count)
}

/// Reads one file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Content>> {
    // Neither a symbolic link nor a FIFO that someone put there leads anywhere else or blocks.
    let flags = flags(OFlags::NOFOLLOW | OFlags::NONBLOCK);
    let attempt = || -> io::Result<Content> {
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(Content::Foreign);
        }
        content_of(file)
    };
    match attempt() {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(Some(Content::Foreign)),
        Err(error) => Err(Error::io(format!("failed to read {path:?}"), error)),
    }
}

/// Flags of open(2) as the standard library takes them.
pub(super) fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn content_of(file: File) -> io::Result<Content> {
    let mut bytes = Vec::with_capacity(256);
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Ok(Content::Foreign);
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => Content::Empty,
        Ok(text) => Content::Text(text.trim().to_owned()),
        Err(_) => Content::Foreign,
    })
}

fn entries(dir: &Path) -> Result<impl Iterator<Item = Result<DirEntry>> + '_> {
    let failed = move |error| Error::io(format!("failed to read directory {dir:?}"), error);
    Ok(std::fs::read_dir(dir).map_err(failed)?.map(move |entry| entry.map_err(failed)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_files_named_by_an_address_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for (name, content) in [
            ("10.0.0.2", "c1\r\neth0"),
            ("10.0.0.3", "\n  old-id \r\n"),
            ("10.0.0.4", ""),
            ("10.0.0.5", " \r\n"),
            ("fd00::2", "c2\r\neth0"),
            ("lock", ""),
            ("last_reserved_ip.0", "10.0.0.2"),
            ("notes.txt", "c1\r\neth0"),
            ("10.0.0.007", "c1\r\neth0"),
            (".tmp-abC12x", "c1\r\neth0"),
            (".tmp-of-mine", "c1\r\neth0"),
        ] {
            fs::write(path(name), content).unwrap();
        }
        fs::write(path("10.0.0.6"), [0xff, 0xfe]).unwrap();
        fs::write(path("10.0.0.7"), vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
        fs::create_dir(path("10.0.0.8")).unwrap();
        symlink(path("10.0.0.2"), path("10.0.0.9")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("10.0.0.10"), rustix::fs::Mode::RUSR).unwrap();
        let Found { mut files, leftovers, unread } = scan(dir.path()).unwrap();
        assert!(unread.is_empty(), "{unread:?}");
        files.sort_by_key(|(address, _)| *address);
        let text = |text: &str| Content::Text(text.to_owned());
        let expected = [
            ("10.0.0.2", text("c1\r\neth0")),
            ("10.0.0.3", text("old-id")),
            ("10.0.0.4", Content::Empty),
            ("10.0.0.5", Content::Empty),
            ("10.0.0.6", Content::Foreign),
            ("10.0.0.7", Content::Foreign),
            ("10.0.0.8", Content::Foreign),
            ("10.0.0.9", Content::Foreign),
            ("10.0.0.10", Content::Foreign),
            ("fd00::2", text("c2\r\neth0")),
        ];
        assert_eq!(files, expected.map(|(name, content)| (Addr::from_file_name(name).unwrap(), content)));
        assert_eq!(leftovers, [".tmp-abC12x"]);
        assert_eq!(count(dir.path()).unwrap(), 10);
        assert_eq!(read(&path("10.0.0.77")).unwrap(), None);
    }
}
