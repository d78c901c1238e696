//! A hash table in pages, of which only those that a call looks at are read: who holds which addresses, and which
//! addresses are held. What it says is true only as long as the index says so (see `index`).
//!
//! An owner stands at the place of its hash, a block at that of its address, or in the next free slot (linear probing).
//! What is removed leaves no mark: the slots after it move up. Blocks answer "which is the next free address" 64
//! addresses at a time, and take no room where nothing is held, however wide the range. The form of a slot is in
//! [`slot`](super::slot).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::slot::{SLOT, Slot, corrupt, place_of_block, place_of_key};
use crate::addr::Addr;

/// What is read and written at once; also the size of the header that is before the slots.
pub(super) const PAGE: usize = 4096;
const SLOTS_PER_PAGE: u64 = (PAGE / SLOT) as u64;
/// Addresses in a block.
const BLOCK: u128 = 64;
/// The smallest table: 32 KiB.
const MIN_CAPACITY: u64 = 8 * SLOTS_PER_PAGE;
/// The largest table that is believed in: 2³² slots are 128 GiB.
const MAX_CAPACITY: u64 = 1 << 32;

/// The table. Changes stay in memory until they are [written](Table::write_changes).
#[derive(Debug)]
pub(super) struct Table {
    /// Where pages come from that are not in memory; without it they are empty.
    file: Option<File>,
    pages: BTreeMap<u64, Page>,
    size: Size,
}

/// How large a table is, and how full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Slots; a power of two.
    pub(super) capacity: u64,
    /// Slots that are not empty.
    pub(super) used: u64,
    /// Addresses that are held.
    pub(super) taken: u64,
}

#[derive(Debug)]
struct Page {
    bytes: Box<[u8; PAGE]>,
    changed: bool,
}

impl Table {
    /// An empty table in memory with room for so many addresses.
    pub(super) fn with_room_for(addresses: usize) -> Self {
        let capacity = (addresses as u64).saturating_mul(2).next_power_of_two();
        let capacity = capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
        Self { file: None, pages: BTreeMap::new(), size: Size { capacity, ..Size::default() } }
    }

    /// The table of a file, if it can be one of that size.
    pub(super) fn of_file(file: File, size: Size) -> Option<Self> {
        let Size { capacity, used, taken } = size;
        let plausible = capacity.is_power_of_two()
            && (MIN_CAPACITY..=MAX_CAPACITY).contains(&capacity)
            && used < capacity
            && taken <= used.saturating_mul(BLOCK as u64);
        plausible.then(|| Self { file: Some(file), pages: BTreeMap::new(), size })
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Whether the whole table is in memory, to be written as a whole.
    pub(super) fn is_new(&self) -> bool {
        self.file.is_none()
    }

    pub(super) fn is_changed(&self) -> bool {
        self.is_new() || self.pages.values().any(|page| page.changed)
    }

    /// The addresses of an owner, in order. Two owners of one hash are not told apart here.
    pub(super) fn addresses_of(&mut self, key: u64) -> io::Result<Vec<Addr>> {
        let mut found = Vec::new();
        self.probe(place_of_key(key), |slot| {
            if let Slot::Owner { key: other, address } = slot {
                found.extend((other == key).then_some(address));
            }
            false
        })?;
        found.sort();
        Ok(found)
    }

    /// The first address that nobody holds from one to another, both included.
    pub(super) fn next_free(&mut self, from: Addr, to: Addr) -> io::Result<Option<Addr>> {
        let mut from = Some(from);
        while let Some(at) = from.filter(|at| *at <= to) {
            let (first, _) = block_of(at);
            let offset = at.number() % BLOCK;
            let free = !self.block(first)?.1 >> offset;
            if free != 0 {
                let found = Addr::new(at.family(), at.number() + u128::from(free.trailing_zeros()));
                return Ok(found.filter(|found| *found <= to));
            }
            from = first.number().checked_add(BLOCK).and_then(|number| Addr::new(at.family(), number));
        }
        Ok(None)
    }

    /// Notes that an address is held, and by whom if that is known. Doing it twice is no different.
    pub(super) fn insert(&mut self, address: Addr, key: Option<u64>) -> io::Result<()> {
        // Full tables probe long; a quarter of the slots stays empty.
        if (self.size.used + 2).saturating_mul(4) > self.size.capacity * 3 {
            self.grow()?;
        }
        let (first, bit) = block_of(address);
        let (at, bits) = self.block(first)?;
        if bits & bit == 0 {
            self.put(at, Slot::Block { first, bits: bits | bit })?;
            self.size.taken += 1;
        }
        if let Some(key) = key {
            let owner = Slot::Owner { key, address };
            let at = self.probe(place_of_key(key), |slot| slot == owner)?;
            self.put(at, owner)?;
        }
        Ok(())
    }

    /// Notes that an address is held no more.
    pub(super) fn remove(&mut self, address: Addr, key: Option<u64>) -> io::Result<()> {
        let (first, bit) = block_of(address);
        let (at, bits) = self.block(first)?;
        if bits & bit != 0 {
            match bits & !bit {
                0 => self.take_out(at)?,
                bits => self.put(at, Slot::Block { first, bits })?,
            }
            self.size.taken = self.size.taken.saturating_sub(1);
        }
        if let Some(key) = key {
            let owner = Slot::Owner { key, address };
            let at = self.probe(place_of_key(key), |slot| slot == owner)?;
            if self.slot(at)?.is_some() {
                self.take_out(at)?;
            }
        }
        Ok(())
    }

    /// Writes the pages that have changed, or all of them to a new file.
    pub(super) fn write_changes(&mut self, file: &File) -> io::Result<()> {
        if self.is_new() {
            // Pages that were never looked at are holes, which read as zeros.
            file.set_len(PAGE as u64 + self.size.capacity * SLOT as u64)?;
        }
        for (number, page) in self.pages.iter_mut().filter(|(_, page)| page.changed) {
            file.write_all_at(page.bytes.as_slice(), (number + 1) * PAGE as u64)?;
            page.changed = false;
        }
        Ok(())
    }

    /// Where the block of this first address is, or would be, and its bits.
    fn block(&mut self, first: Addr) -> io::Result<(u64, u64)> {
        let at = self.probe(
            place_of_block(first),
            |slot| matches!(slot, Slot::Block { first: other, .. } if other == first),
        )?;
        match self.slot(at)? {
            Some(Slot::Block { bits, .. }) => Ok((at, bits)),
            _ => Ok((at, 0)),
        }
    }

    /// The first slot from a place on that is wanted, or else the empty one after those.
    fn probe(&mut self, place: u64, mut wanted: impl FnMut(Slot) -> bool) -> io::Result<u64> {
        for step in 0..self.size.capacity {
            let at = self.wrap(place.wrapping_add(step));
            match self.slot(at)? {
                Some(slot) if !wanted(slot) => {}
                _ => return Ok(at),
            }
        }
        Err(corrupt("no slot is empty"))
    }

    /// Empties a slot and moves up whatever would not be found any more.
    fn take_out(&mut self, at: u64) -> io::Result<()> {
        let mut hole = at;
        for step in 1..=self.size.capacity {
            let next = self.wrap(at.wrapping_add(step));
            let Some(slot) = self.slot(next)? else { break };
            // How far the slot is from where it belongs, and how far from the hole.
            if self.wrap(next.wrapping_sub(slot.place())) >= self.wrap(next.wrapping_sub(hole)) {
                self.write_slot(hole, &slot.encode())?;
                hole = next;
            }
        }
        self.size.used = self.size.used.saturating_sub(1);
        self.write_slot(hole, &[0; SLOT])
    }

    fn put(&mut self, at: u64, slot: Slot) -> io::Result<()> {
        if self.slot(at)?.is_none() {
            self.size.used += 1;
        }
        self.write_slot(at, &slot.encode())
    }

    /// Moves everything to a table of twice the size, in memory.
    fn grow(&mut self) -> io::Result<()> {
        if self.size.capacity >= MAX_CAPACITY {
            return Err(corrupt("the table cannot grow any more"));
        }
        let size = Size { capacity: self.size.capacity * 2, used: 0, taken: self.size.taken };
        let mut grown = Self { file: None, pages: BTreeMap::new(), size };
        for at in 0..self.size.capacity {
            let Some(slot) = self.slot(at)? else { continue };
            let at = grown.probe(slot.place(), |_| false)?;
            grown.put(at, slot)?;
        }
        *self = grown;
        Ok(())
    }

    fn slot(&mut self, at: u64) -> io::Result<Option<Slot>> {
        let (page, offset) = place(at);
        Slot::decode(&self.page(page)?.bytes[offset..offset + SLOT])
    }

    fn write_slot(&mut self, at: u64, bytes: &[u8; SLOT]) -> io::Result<()> {
        let (page, offset) = place(at);
        let page = self.page(page)?;
        page.bytes[offset..offset + SLOT].copy_from_slice(bytes);
        page.changed = true;
        Ok(())
    }

    fn page(&mut self, number: u64) -> io::Result<&mut Page> {
        use std::collections::btree_map::Entry;
        match self.pages.entry(number) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let mut bytes = Box::new([0; PAGE]);
                if let Some(file) = &self.file {
                    file.read_exact_at(bytes.as_mut_slice(), (number + 1) * PAGE as u64)?;
                }
                Ok(entry.insert(Page { bytes, changed: false }))
            }
        }
    }

    fn wrap(&self, at: u64) -> u64 {
        at & (self.size.capacity - 1)
    }
}

/// The first address of an address's block, and the address's bit.
fn block_of(address: Addr) -> (Addr, u64) {
    let offset = address.number() % BLOCK;
    // Smaller than the address, so of its family.
    let first = Addr::new(address.family(), address.number() - offset).unwrap_or(address);
    (first, 1 << offset)
}

/// The page of a slot, and where in it the slot is.
fn place(at: u64) -> (u64, usize) {
    (at / SLOTS_PER_PAGE, (at % SLOTS_PER_PAGE) as usize * SLOT)
}

#[cfg(test)]
mod tests;
