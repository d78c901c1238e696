//! The index beside a network's directory: `<dataDir>/.<network>.idx`, a [table](super::table) behind a page that says
//! when it may be believed.
//!
//! Go's plugin never looks there: names that start with a dot are no networks. The directory remains the only truth.
//! The index is believed only if its first page is whole, of this boot and of this form, and has the directory's
//! [stamp](super::stamp), which no longer matches once anyone has changed an entry. A call changes the directory first,
//! sets its stamp and the slots next, and writes the first page last, so a call that is killed anywhere leaves an index
//! that is not believed. A power cut may keep any of those writes and lose others; then it is another boot. Whatever is
//! not believed is made anew from the directory. No failure of the index is a failure of a call.
//!
//! What remains is a person who changes files without the lock in the very instant of a call, between its first look and
//! its stamp. A file that went then is noticed when the index names it, since each is compared; one that came then is
//! not known until the next change. GC, which reads everything, ends that too.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::slot;
use super::stamp::Stamp;
use super::table::{Size, Table};

/// What every boot of the machine has another one of.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// The form of the file; another number for another form.
const FORM: &[u8; 8] = b"cnihl\0\0\x01";
/// The first page up to where it is used.
const HEADER: usize = 128;

/// Where the index of a directory is, and what of it is on disk.
#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    dir: File,
    boot: [u8; 16],
    /// The stamp of the last index that was written or could be read, and its number.
    last: Option<(Stamp, u64)>,
}

impl Index {
    /// The index of a network's directory; `None` where there can be none, and where everyone could put one.
    pub(super) fn beside(dir: &Path) -> Option<Self> {
        let name = dir.file_name()?.to_str()?;
        (dir.parent()?.metadata().ok()?.mode() & 0o002 == 0).then_some(())?;
        Some(Self {
            path: dir.with_file_name(format!(".{name}.idx")),
            dir: File::open(dir).ok()?,
            boot: boot_id()?,
            last: None,
        })
    }

    /// The table on disk, if it is to be believed.
    pub(super) fn load(&mut self) -> Option<Table> {
        let file = options().read(true).open(&self.path).ok()?;
        let mut bytes = [0; HEADER];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let header = Header::decode(&bytes).filter(|header| header.boot == self.boot)?;
        self.last = Some((header.stamp, header.number));
        (header.stamp.is_own() && Stamp::of(&self.dir).ok()? == header.stamp).then_some(())?;
        Table::of_file(file, header.size)
    }

    /// Writes the table, which says what the directory holds now.
    pub(super) fn store(&mut self, table: &mut Table) {
        if !table.is_changed() {
            return;
        }
        if self.try_store(table).is_err() {
            // A part of it may be written; without a first page it is nothing.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    fn try_store(&mut self, table: &mut Table) -> io::Result<()> {
        let is_new = table.is_new();
        if !is_new && self.last.map(|(stamp, _)| stamp) == Some(Stamp::of(&self.dir)?) {
            // An entry was changed and the times were not: here nothing can be told from them.
            return Err(io::ErrorKind::Unsupported.into());
        }
        let number = self.last.map_or_else(first_number, |(_, number)| number.wrapping_add(1));
        // Before anything is written, since not every directory lets its times be set.
        let stamp = Stamp::renew(&self.dir, number)?.ok_or(io::ErrorKind::Unsupported)?;
        let file = options().create(is_new).mode(0o600).open(&self.path)?;
        if file.metadata()?.nlink() > 1 {
            // A hard link: what would be written is somebody else's.
            return Err(io::ErrorKind::Unsupported.into());
        }
        if is_new {
            file.set_len(0)?;
        }
        table.write_changes(&file)?;
        let header = Header { boot: self.boot, stamp, number, size: table.size() };
        file.write_all_at(&header.encode(), 0)?;
        self.last = Some((stamp, number));
        Ok(())
    }
}

/// What the first page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    boot: [u8; 16],
    stamp: Stamp,
    number: u64,
    size: Size,
}

impl Header {
    /// The form, the boot, twelve numbers, and a checksum.
    fn encode(&self) -> [u8; HEADER] {
        let Self { stamp, size, .. } = self;
        let numbers = [
            stamp.device,
            stamp.inode,
            stamp.modified.0.cast_unsigned(),
            stamp.modified.1.cast_unsigned(),
            stamp.changed.0.cast_unsigned(),
            stamp.changed.1.cast_unsigned(),
            self.number,
            size.capacity,
            size.used,
            size.taken,
        ];
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(FORM);
        bytes[8..24].copy_from_slice(&self.boot);
        for (place, number) in bytes[24..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = slot::hash(&bytes[..HEADER - 8]);
        bytes[HEADER - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER]) -> Option<Self> {
        let mut words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_le_bytes);
        let form = words.next()?;
        let mut boot = [0; 16];
        boot.copy_from_slice(&bytes[8..24]);
        let mut numbers = words.skip(2);
        let mut next = || numbers.next();
        let stamp = Stamp {
            device: next()?,
            inode: next()?,
            modified: (next()?.cast_signed(), next()?.cast_signed()),
            changed: (next()?.cast_signed(), next()?.cast_signed()),
        };
        let number = next()?;
        let size = Size { capacity: next()?, used: next()?, taken: next()? };
        let header = Self { boot, stamp, number, size };
        (form == u64::from_le_bytes(*FORM) && header.encode() == *bytes).then_some(header)
    }
}

/// How the file is opened: itself, and not where a symbolic link of its name leads.
fn options() -> OpenOptions {
    let mut options = File::options();
    options.write(true).custom_flags(super::scan::flags(OFlags::NOFOLLOW));
    options
}

/// Any number that the last index is unlikely to have had.
fn first_number() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos())
}

fn boot_id() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string(BOOT_ID).ok()?;
    u128::from_str_radix(&text.trim().replace('-', ""), 16).ok().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests;
