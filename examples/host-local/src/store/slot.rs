//! One slot of the table: 32 bytes, little-endian. All zeros is empty.
//!
//! | bytes | |
//! | --- | --- |
//! | 0 | kind: 1 owner (IPv4), 2 owner (IPv6), 3 block (IPv4), 4 block (IPv6) |
//! | 1–3 | zero |
//! | 4–7 | checksum of the rest |
//! | 8–15 | owner: hash of what the reservation says; block: one bit per address |
//! | 16–31 | owner: the address; block: its first address, a multiple of 64 |

use std::io;

use crate::addr::{Addr, Family};

/// The length of a slot in bytes.
pub(super) const SLOT: usize = 32;

/// What a slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// An attachment, by the hash of its reservation, holds an address.
    Owner { key: u64, address: Addr },
    /// Which of the 64 addresses from the first on are held.
    Block { first: Addr, bits: u64 },
}

impl Slot {
    /// Where in a table the slot belongs, before it is wrapped.
    pub(super) fn place(self) -> u64 {
        match self {
            Self::Owner { key, .. } => place_of_key(key),
            Self::Block { first, .. } => place_of_block(first),
        }
    }

    pub(super) fn encode(self) -> [u8; SLOT] {
        let (kind, word, address) = match self {
            Self::Owner { key, address } => (0, key, address),
            Self::Block { first, bits } => (2, bits, first),
        };
        let mut bytes = [0; SLOT];
        bytes[0] = kind + if address.family() == Family::V4 { 1 } else { 2 };
        bytes[8..16].copy_from_slice(&word.to_le_bytes());
        bytes[16..].copy_from_slice(&address.number().to_le_bytes());
        let sum = checksum(&bytes);
        bytes[4..8].copy_from_slice(&sum);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> io::Result<Option<Self>> {
        let mut slot = [0; SLOT];
        slot.copy_from_slice(bytes);
        if slot == [0; SLOT] {
            return Ok(None);
        }
        let mut sum = [0; 4];
        sum.copy_from_slice(&slot[4..8]);
        slot[4..8].fill(0);
        let kind = slot[0];
        if sum != checksum(&slot) || !(1..=4).contains(&kind) {
            return Err(corrupt("a slot is damaged"));
        }
        let (mut word, mut number) = ([0; 8], [0; 16]);
        word.copy_from_slice(&slot[8..16]);
        number.copy_from_slice(&slot[16..]);
        let family = if kind % 2 == 1 { Family::V4 } else { Family::V6 };
        let address =
            Addr::new(family, u128::from_le_bytes(number)).ok_or_else(|| corrupt("no such address"))?;
        let word = u64::from_le_bytes(word);
        Ok(Some(if kind <= 2 {
            Self::Owner { key: word, address }
        } else {
            Self::Block { first: address, bits: word }
        }))
    }
}

/// The hash of what a reservation says: FNV-1a, which is the same in every build.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let hash = hash(bytes);
    ((hash >> 32) as u32 ^ hash as u32).to_le_bytes()
}

/// Spreads a number over the slots.
fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

pub(super) fn place_of_key(key: u64) -> u64 {
    mix(key)
}

pub(super) fn place_of_block(first: Addr) -> u64 {
    let (low, high) = (first.number() as u64, (first.number() >> 64) as u64);
    mix(low ^ mix(high ^ first.family() as u64))
}

pub(super) fn corrupt(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
