//! The reservations of a network, in Go's files, so that either plugin can take over from the other:
//!
//! | `<dataDir>/<network>/…` | mode | content |
//! | --- | --- | --- |
//! | `<address>` | 0600 | container ID, CR LF, interface name; older plugins wrote the container ID alone |
//! | `last_reserved_ip.<range set>` | 0600 | the address given out last |
//! | `lock` | 0750 | empty; flock(2) is held on it |
//!
//! A [`Store`] holds the lock as long as it lives. Files come to be as a whole, but are not waited for to reach the disk:
//! no container outlives a power cut, and a reservation that does is one too many. For the same reason what is given back
//! is waited for ([`Store::settle`]): nobody would give it back again. What a power cut leaves empty reserves nothing.
//! Who holds what is looked up in an index, `index.rs`, and what it says is compared with the file before anything is done
//! about it.

mod garbage;
mod index;
mod scan;
mod slot;
mod stamp;
mod table;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cni_skel::types::NetworkName;
use plugin_support::lock::Lock;
use plugin_support::{Error, Result, atomic, bounded, state_dir};

use self::index::Index;
use self::scan::Content;
use self::table::Table;
use crate::addr::Addr;
use crate::allocator::Occupancy;
use crate::reservation::{Holder, Owner};

/// Where networks are kept unless the configuration says otherwise; Go's.
pub const DEFAULT_DATA_DIR: &str = "/var/lib/cni/networks";

/// What the names of files with the address given out last start with.
const LAST_RESERVED: &str = "last_reserved_ip.";
/// The longest such file that is read. The longest address has 45 bytes; the rest is for white space.
const MAX_LAST_RESERVED_BYTES: u64 = 256;
/// Mode of files.
const MODE: u32 = 0o600;
/// Mode of directories, less the umask.
const DIR_MODE: u32 = 0o755;

/// The reservations of a network, locked.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// The index on disk; `None` where there can be none, or once it cannot be told what it would have to say.
    index: Option<Index>,
    /// What the index says, once something was asked.
    table: Option<Table>,
    /// Whether that is from the directory itself, read by this call.
    was_read: bool,
    /// Last, so that the index is written under it.
    _lock: Lock,
}

impl Store {
    /// Locks a network's directory, after making it if needed.
    ///
    /// # Errors
    ///
    /// When the directory or the lock cannot be made, or everyone could change what lies in the directory.
    pub fn open(data_dir: &Path, network: &NetworkName) -> Result<Self> {
        let dir = data_dir.join(network.as_str());
        state_dir::make(&dir, DIR_MODE)?;
        Self::lock(dir)
    }

    /// Locks a network's directory; `None` when there is none, so nothing is reserved.
    ///
    /// # Errors
    ///
    /// When the lock cannot be taken.
    pub fn find(data_dir: &Path, network: &NetworkName) -> Result<Option<Self>> {
        let dir = data_dir.join(network.as_str());
        match std::fs::metadata(&dir) {
            Ok(found) if found.is_dir() => match Self::lock(dir.clone()) {
                // Removed since.
                Err(error) if error.is_not_found() => Ok(None),
                // The lock is made before the first reservation: where it could not be, none can have been.
                Err(error) if error.is_no_room() && scan::count(&dir)? == 0 => Ok(None),
                locked => locked.map(Some),
            },
            // Something else is in the directory's place, which made ADD fail and must not keep DEL from succeeding.
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(Error::io(format!("failed to look for directory {dir:?}"), error)),
        }
    }

    fn lock(dir: PathBuf) -> Result<Self> {
        let lock = Lock::acquire(dir.join("lock"))?;
        let index = Index::beside(&dir);
        Ok(Self { dir, index, table: None, was_read: false, _lock: lock })
    }

    /// Reserves an address, unless it is held.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn reserve(&mut self, address: Addr, owner: &Owner) -> Result<bool> {
        let path = self.path(address);
        if !atomic::write_new_unsynced(&path, owner.text(), MODE)? {
            match scan::read(&path)? {
                Some(Content::Empty) => atomic::write_unsynced(&path, owner.text(), MODE)?,
                Some(_) | None => {
                    self.rebuild()?;
                    return Ok(false);
                }
            }
        }
        self.note(|table| table.insert(address, Some(key_of(owner.text()))));
        Ok(true)
    }

    /// Gives back whatever an attachment holds, and tells the addresses: what names container and interface, or else
    /// what names the container alone.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed; the others are.
    pub fn release(&mut self, owner: &Owner) -> Result<Vec<Addr>> {
        for text in [owner.text(), owner.container_id()] {
            let held = self.addresses_of(text)?;
            if !held.is_empty() {
                return self.remove(&held, text).map(|()| held);
            }
        }
        Ok(Vec::new())
    }

    /// Gives back addresses that an attachment was just given.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed; the others are.
    pub fn undo(&mut self, addresses: &[Addr], owner: &Owner) -> Result<()> {
        self.remove(addresses, owner.text())
    }

    /// Writes down the address given out last, or that there was none.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn set_last_reserved(&mut self, range_set: usize, address: Option<Addr>) -> Result<()> {
        let path = self.last_reserved_path(range_set);
        match address {
            Some(address) => atomic::write_unsynced(path, address.to_string(), MODE),
            None => remove_file(&path),
        }
    }

    /// Releases the lock, then waits until what was given back is so on the disk.
    ///
    /// # Errors
    ///
    /// When the disk fails. A file system that cannot be waited for is none that fails.
    pub fn settle(self) -> Result<()> {
        let path = self.dir.clone();
        let failed = |error| Error::io(format!("failed to flush directory {path:?}"), error);
        let dir = File::open(&path).map_err(failed)?;
        drop(self);
        atomic::sync_directory(&dir).map_err(failed)
    }

    /// Forgets what the index said and reads the directory.
    ///
    /// # Errors
    ///
    /// When the directory or a file in it cannot be read.
    pub fn rebuild(&mut self) -> Result<()> {
        self.table = None;
        let found = scan::scan(&self.dir)?;
        for leftover in &found.leftovers {
            // Whoever is killed leaves an index that is not believed, so this is where its file is found.
            let _ = remove_file(&self.dir.join(leftover));
        }
        let failed = |error| Error::io(format!("failed to index {:?}", self.dir), error);
        self.table = Some(table_of(&found.files).map_err(failed)?);
        self.was_read = true;
        self.keep_index_if(found.unread.is_empty());
        Ok(())
    }

    /// Writes no index that does not know who holds an address only because a file could not be read for once: its owner's
    /// DEL would not find it. The next call reads the directory again.
    fn keep_index_if(&mut self, all_read: bool) {
        if !all_read {
            self.index = None;
        }
    }

    /// Looks whether the index may be wrong, and if so reads the directory: `true` if asking again may give another
    /// answer. For an error that should not be told because of the index; it reads all names, so not for every call.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn recheck(&mut self) -> Result<bool> {
        if self.was_read {
            return Ok(false);
        }
        let count = scan::count(&self.dir)?;
        let is_wrong = self.ask(|table| Ok(table.size().taken))? != count;
        if is_wrong {
            self.rebuild()?;
        }
        Ok(is_wrong)
    }

    /// The addresses whose files say this, compared with the files.
    fn addresses_of(&mut self, text: &str) -> Result<Vec<Addr>> {
        let key = key_of(text);
        let listed = self.ask(|table| table.addresses_of(key))?;
        let held = self.confirmed(&listed, text)?;
        if held.len() == listed.len() {
            return Ok(held);
        }
        // A person has written into a file, or removed one this very moment.
        self.rebuild()?;
        let listed = self.ask(|table| table.addresses_of(key))?;
        self.confirmed(&listed, text)
    }

    fn confirmed(&self, listed: &[Addr], text: &str) -> Result<Vec<Addr>> {
        let mut held = Vec::new();
        for address in listed.iter().copied() {
            if matches!(scan::read(&self.path(address))?, Some(Content::Text(found)) if found == text) {
                held.push(address);
            }
        }
        Ok(held)
    }

    /// Removes files that say this; goes on past failures and tells the first.
    fn remove(&mut self, addresses: &[Addr], text: &str) -> Result<()> {
        let mut failed = Ok(());
        for address in addresses.iter().copied() {
            match remove_file(&self.path(address)) {
                Ok(()) => self.note(|table| table.remove(address, Some(key_of(text)))),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed
    }

    /// Asks the index; if it cannot answer, the directory.
    fn ask<T>(&mut self, question: impl Fn(&mut Table) -> io::Result<T>) -> Result<T> {
        if self.table.is_none() {
            self.table = self.index.as_mut().and_then(Index::load);
        }
        if let Some(answer) = self.table.as_mut().and_then(|table| question(table).ok()) {
            return Ok(answer);
        }
        self.rebuild()?;
        let answer = self.table.as_mut().map(&question);
        let unanswered = io::Error::other("the index has no answer");
        answer
            .unwrap_or(Err(unanswered))
            .map_err(|error| Error::io(format!("failed to search {:?}", self.dir), error))
    }

    /// Tells the index of a change that was made to the directory. If it cannot be told, it is not written, and so not
    /// believed from then on.
    fn note(&mut self, change: impl Fn(&mut Table) -> io::Result<()>) {
        let Some(table) = &mut self.table else { return };
        if change(table).is_err() {
            self.table = None;
            self.index = None;
        }
    }

    fn path(&self, address: Addr) -> PathBuf {
        self.dir.join(address.to_string())
    }

    fn last_reserved_path(&self, range_set: usize) -> PathBuf {
        self.dir.join(format!("{LAST_RESERVED}{range_set}"))
    }
}

impl Occupancy for Store {
    fn next_free(&mut self, from: Addr, to: Addr) -> Result<Option<Addr>> {
        self.ask(|table| table.next_free(from, to))
    }

    fn held_by(&mut self, owner: &Owner) -> Result<Vec<Addr>> {
        let mut held = self.addresses_of(owner.text())?;
        held.extend(self.addresses_of(owner.container_id())?);
        Ok(held)
    }

    fn holder(&mut self, address: Addr) -> Result<Option<Holder>> {
        Ok(match scan::read(&self.path(address))? {
            None | Some(Content::Empty) => None,
            Some(Content::Foreign) => Some(Holder::Unknown),
            Some(Content::Text(text)) => Some(Holder::of(&text)),
        })
    }

    fn last_reserved(&mut self, range_set: usize) -> Option<Addr> {
        // Absent, unreadable or no address: the round starts anew, which costs nothing but the turn.
        let bytes = bounded::read(self.last_reserved_path(range_set), MAX_LAST_RESERVED_BYTES).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?;
        text.trim().parse::<std::net::IpAddr>().ok().map(Addr::from)
    }
}

impl Drop for Store {
    /// Writes the index, still under the lock.
    fn drop(&mut self) {
        // A panic may have come between a change of the directory and its note.
        if std::thread::panicking() {
            return;
        }
        if let (Some(index), Some(table)) = (&mut self.index, &mut self.table) {
            index.store(table);
        }
    }
}

fn key_of(text: &str) -> u64 {
    slot::hash(text.as_bytes())
}

/// A table in memory of what was found.
fn table_of(files: &[(Addr, Content)]) -> io::Result<Table> {
    let mut table = Table::with_room_for(files.len());
    for (address, content) in files {
        match content {
            Content::Empty => {}
            Content::Foreign => table.insert(*address, None)?,
            Content::Text(text) => table.insert(*address, Some(key_of(text)))?,
        }
    }
    Ok(table)
}

/// Removes a file that may be gone already.
fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("failed to remove {path:?}"), error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
