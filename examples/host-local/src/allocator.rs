//! Which addresses an attachment gets: the round over each set, requested addresses, and that it is all or nothing.
//!
//! The choice is made before anything is written. What is written is undone if the rest cannot be; nothing but that is
//! ever undone, so an older reservation of the same attachment outlives a failing ADD.

use std::fmt;

use crate::addr::Addr;
use crate::range::{Range, RangeSet};
use crate::reservation::{Holder, Owner};
use crate::store::Store;

/// How often an ADD begins anew when it finds that files have come or gone under it.
const ATTEMPTS: usize = 3;

/// What is held, as far as a choice needs to know.
pub trait Occupancy {
    /// The first address that nobody holds from one to another, both included.
    ///
    /// # Errors
    ///
    /// When that cannot be told.
    fn next_free(&mut self, from: Addr, to: Addr) -> plugin_support::Result<Option<Addr>>;

    /// The addresses that an attachment holds, or its container by whatever interface.
    ///
    /// # Errors
    ///
    /// When that cannot be told.
    fn held_by(&mut self, owner: &Owner) -> plugin_support::Result<Vec<Addr>>;

    /// Who holds an address.
    ///
    /// # Errors
    ///
    /// When that cannot be told.
    fn holder(&mut self, address: Addr) -> plugin_support::Result<Option<Holder>>;

    /// The address of a range set that was given out last.
    fn last_reserved(&mut self, range_set: usize) -> Option<Addr>;
}

/// An address for an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease<'s> {
    /// The range set, counted from 0.
    pub range_set: usize,
    /// The range.
    pub range: &'s Range,
    /// The address.
    pub address: Addr,
}

/// Reserves an address of each set for an attachment: all of them, or none.
///
/// # Errors
///
/// When a set has no address left, a requested one cannot be had, the attachment has one already, or the store fails.
pub fn allocate<'s>(
    store: &mut Store,
    sets: &'s [RangeSet],
    requested: &[Addr],
    owner: &Owner,
) -> Result<Vec<Lease<'s>>, AllocateError> {
    for _ in 0..ATTEMPTS {
        let leases = match plan(store, sets, requested, owner) {
            Err(AllocateError::Exhausted { .. }) if store.recheck()? => continue,
            planned => planned?,
        };
        if reserve(store, &leases, owner)? {
            return Ok(leases);
        }
    }
    Err(AllocateError::Disturbed)
}

/// Writes what was chosen; `false`, with nothing written, when an address is held after all.
fn reserve(store: &mut Store, leases: &[Lease<'_>], owner: &Owner) -> Result<bool, AllocateError> {
    let mut reserved = Vec::with_capacity(leases.len());
    let mut turns = Vec::with_capacity(leases.len());
    let mut attempt = || -> plugin_support::Result<bool> {
        for lease in leases {
            if !store.reserve(lease.address, owner)? {
                return Ok(false);
            }
            reserved.push(lease.address);
        }
        for lease in leases {
            turns.push((lease.range_set, store.last_reserved(lease.range_set)));
            store.set_last_reserved(lease.range_set, Some(lease.address))?;
        }
        Ok(true)
    };
    let outcome = attempt();
    if matches!(outcome, Ok(true)) {
        return Ok(true);
    }
    for (range_set, last) in turns {
        // A turn that is lost costs nobody an address.
        let _ = store.set_last_reserved(range_set, last);
    }
    match (store.undo(&reserved, owner), outcome) {
        (Ok(()), outcome) => Ok(outcome?),
        (Err(source), Ok(_)) => Err(source.into()),
        (Err(source), Err(failed)) => {
            let failed = cni_skel::Error::from(failed).to_object().msg;
            Err(AllocateError::LeftBehind { failed, source })
        }
    }
}

/// Chooses an address of each set.
///
/// # Errors
///
/// As for [`allocate`].
pub fn plan<'s>(
    occupancy: &mut impl Occupancy,
    sets: &'s [RangeSet],
    requested: &[Addr],
    owner: &Owner,
) -> Result<Vec<Lease<'s>>, AllocateError> {
    let held = occupancy.held_by(owner)?;
    let mut leases = Vec::with_capacity(sets.len());
    for (range_set, set) in sets.iter().enumerate() {
        if let Some(address) = held.iter().copied().find(|held| set.range_of(*held).is_some()) {
            return Err(AllocateError::Duplicate { range_set, address, id: owner.container_id().to_owned() });
        }
        let wanted = requested.iter().find_map(|address| Some((*address, set.range_of(*address)?)));
        let Some((address, range)) = wanted else {
            let exhausted = || AllocateError::Exhausted { range_set, ranges: set.to_string() };
            leases.push(next_in(occupancy, sets, range_set)?.ok_or_else(exhausted)?);
            continue;
        };
        if is_gateway(sets, address) {
            return Err(AllocateError::Gateway { range_set, address });
        }
        if let Some(holder) = occupancy.holder(address)? {
            return Err(AllocateError::Held { range_set, address, ranges: set.to_string(), holder });
        }
        leases.push(Lease { range_set, range, address });
    }
    let refused: Vec<Refused> = requested
        .iter()
        .filter(|address| !leases.iter().any(|lease| lease.address == **address))
        .map(|address| Refused { address: *address, reason: reason(sets, &leases, *address) })
        .collect();
    if refused.is_empty() { Ok(leases) } else { Err(AllocateError::Refused(refused)) }
}

/// The address of a set whose turn it is: the next free one after the last that was given out, round through every
/// range and back to that one.
///
/// # Errors
///
/// When the store fails.
pub fn next_in<'s>(
    occupancy: &mut impl Occupancy,
    sets: &'s [RangeSet],
    range_set: usize,
) -> plugin_support::Result<Option<Lease<'s>>> {
    let ranges = sets.get(range_set).map_or(&[][..], RangeSet::ranges);
    let whole = |range: &'s Range| (range, Some(range.start()), range.end());
    // An address of no range is what a changed configuration leaves behind: the round starts anew.
    let last = occupancy
        .last_reserved(range_set)
        .and_then(|last| ranges.iter().position(|range| range.contains(last)).map(|at| (at, last)));
    let round: Vec<_> = match last {
        None => ranges.iter().map(whole).collect(),
        Some((at, last)) => {
            let (before, after) = (&ranges[..at], &ranges[at + 1..]);
            let range = &ranges[at];
            let mut round = vec![(range, last.next(), range.end())];
            round.extend(after.iter().chain(before).map(whole));
            round.push((range, Some(range.start()), last));
            round
        }
    };
    for (range, mut from, to) in round {
        while let Some(at) = from {
            match occupancy.next_free(at, to)? {
                None => break,
                Some(address) if is_gateway(sets, address) => from = address.next(),
                Some(address) => return Ok(Some(Lease { range_set, range, address })),
            }
        }
    }
    Ok(None)
}

/// Whether any range has the address for its gateway, which may lie in another range.
fn is_gateway(sets: &[RangeSet], address: Addr) -> bool {
    sets.iter().flat_map(RangeSet::ranges).any(|range| range.gateway() == address)
}

/// Why a requested address is of no set's leases.
fn reason(sets: &[RangeSet], leases: &[Lease<'_>], address: Addr) -> String {
    if let Some(lease) = leases.iter().find(|lease| sets[lease.range_set].range_of(address).is_some()) {
        return format!(
            "{address} is one too many for range set {}, which gives {}",
            lease.range_set, lease.address
        );
    }
    let ranges = || sets.iter().flat_map(RangeSet::ranges);
    if let Some(range) = ranges().find(|range| range.gateway() == address) {
        return format!("{address} is the gateway of {}", range.subnet());
    }
    if let Some(range) = ranges().find(|range| range.subnet().contains(address.ip())) {
        return format!("{address} is in {} but not in its range {range}", range.subnet());
    }
    let sets: Vec<_> = sets.iter().map(|set| format!("[{set}]")).collect();
    format!("{address} is not in any range: {}", sets.join(" "))
}

/// A requested address that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The address.
    pub address: Addr,
    /// Why not.
    pub reason: String,
}

/// Why there are no addresses. Each text contains Go's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// Files came and went although the lock is held.
    #[error("failed to allocate: the data directory is changed by a program that does not take its lock")]
    Disturbed,
    /// The attachment has an address of the set already.
    #[error(
        "failed to allocate for range {range_set}: {address} has been allocated to {id}, duplicate allocation is not allowed"
    )]
    Duplicate {
        /// The set.
        range_set: usize,
        /// The address that it has.
        address: Addr,
        /// The container's ID.
        id: String,
    },
    /// No address of a set is free.
    #[error("failed to allocate for range {range_set}: no IP addresses available in range set: {ranges}")]
    Exhausted {
        /// The set.
        range_set: usize,
        /// Its ranges.
        ranges: String,
    },
    /// A requested address is a gateway's.
    #[error("failed to allocate for range {range_set}: requested ip {address} is subnet's gateway")]
    Gateway {
        /// The set.
        range_set: usize,
        /// The address.
        address: Addr,
    },
    /// A requested address is held.
    #[error(
        "failed to allocate for range {range_set}: requested IP address {address} is not available in range set {ranges}: {holder}"
    )]
    Held {
        /// The set.
        range_set: usize,
        /// The address.
        address: Addr,
        /// The ranges of the set.
        ranges: String,
        /// Who has it.
        holder: Holder,
    },
    /// An ADD failed, and so did undoing it.
    #[error("{failed}; giving back what was reserved until then failed too")]
    LeftBehind {
        /// Why it failed.
        failed: String,
        /// Why it could not be undone.
        source: plugin_support::Error,
    },
    /// Requested addresses that no set can give.
    #[error("failed to allocate all requested IPs: {}", List(.0))]
    Refused(Vec<Refused>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] plugin_support::Error),
}

/// The addresses, then why each is refused.
struct List<'a>(&'a [Refused]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.0.iter().map(|refused| refused.address.to_string()).collect();
        let reasons: Vec<_> = self.0.iter().map(|refused| refused.reason.as_str()).collect();
        write!(f, "{}: {}", addresses.join(" "), reasons.join(", "))
    }
}

#[cfg(test)]
mod tests;
