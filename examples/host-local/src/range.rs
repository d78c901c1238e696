//! Ranges and sets of them, checked and with every default filled in. What is held in them is not known here.
//!
//! An explicit `rangeStart` at the network address, or `rangeEnd` at the broadcast address, is given out as Go does:
//! in a wide layer-2 network both may be ordinary addresses, and whoever writes them down means it. The defaults leave
//! both out.

use std::fmt;
use std::net::IpAddr;

use cni_skel::Cidr;

use crate::addr::{Addr, Family};

/// The addresses from `start` to `end`, both included, less the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    subnet: Cidr,
    start: Addr,
    end: Addr,
    gateway: Addr,
}

/// A range as a configuration has it.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The subnet.
    pub subnet: Cidr,
    /// The first address; by default the one after the network address.
    pub start: Option<IpAddr>,
    /// The last address; by default the one before the broadcast address for IPv4, the subnet's last for IPv6.
    pub end: Option<IpAddr>,
    /// The gateway; by default the address after the network address.
    pub gateway: Option<IpAddr>,
}

impl Range {
    /// Checks a range and fills in the defaults.
    ///
    /// # Errors
    ///
    /// When the subnet is too small or no network, or a bound lies outside.
    pub fn new(bounds: Bounds) -> Result<Self, RangeError> {
        let Bounds { subnet, .. } = bounds;
        let bits = if subnet.is_ipv4() { 32 } else { 128 };
        // /31 and /32, /127 and /128: nothing is left besides network address, gateway and broadcast address.
        if subnet.prefix() > bits - 2 {
            return Err(RangeError::TooSmall { subnet });
        }
        if subnet != subnet.network() {
            return Err(RangeError::HostBits { subnet });
        }
        if subnet.is_ipv6() && holds_mapped(subnet) {
            return Err(RangeError::Mapped { subnet });
        }
        let network = Addr::from(subnet.address());
        let last = Addr::from(subnet.last_address());
        // At least four addresses: there is one after the first, and one before the last.
        let first_host = network.next().unwrap_or(network);
        let last_host = match last.family() {
            Family::V4 => last.previous().unwrap_or(last),
            Family::V6 => last,
        };

        let start = bounds.start.map_or(first_host, Addr::from);
        let end = bounds.end.map_or(last_host, Addr::from);
        if !within(start, network, last) {
            return Err(RangeError::Start { start, subnet, end: None });
        }
        if !within(end, network, last) {
            return Err(RangeError::End { end, subnet });
        }
        if start > end {
            return Err(RangeError::Start { start, subnet, end: Some(end) });
        }
        // It may lie outside of the subnet, as Go allows: a point-to-point link has such gateways.
        let gateway = bounds.gateway.map_or(first_host, Addr::from);
        if gateway.family() != network.family() {
            return Err(RangeError::Gateway { gateway, subnet });
        }
        Ok(Self { subnet, start, end, gateway })
    }

    /// The subnet.
    pub fn subnet(&self) -> Cidr {
        self.subnet
    }

    /// The first address.
    pub fn start(&self) -> Addr {
        self.start
    }

    /// The last address.
    pub fn end(&self) -> Addr {
        self.end
    }

    /// The gateway, which is never given out.
    pub fn gateway(&self) -> Addr {
        self.gateway
    }

    /// Whether the address lies in the range; the gateway may.
    pub fn contains(&self, address: Addr) -> bool {
        within(address, self.start, self.end)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.start.family() == other.start.family() && self.start <= other.end && other.start <= self.end
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

fn within(address: Addr, start: Addr, end: Addr) -> bool {
    // Families are ordered, so an address of another one is outside.
    start <= address && address <= end
}

/// Whether the subnet has IPv4-mapped addresses: their files could not be told from those of IPv4.
fn holds_mapped(subnet: Cidr) -> bool {
    const MAPPED: u128 = 0xffff << 32;
    let IpAddr::V6(network) = subnet.address() else { return false };
    let shift = 128 - u32::from(subnet.prefix().min(96));
    let same = |number: u128| number.checked_shr(shift).unwrap_or(0);
    same(network.to_bits()) == same(MAPPED)
}

/// Ranges that are used in turn, for one address of a container. Never empty, all of one family, none overlapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSet(Vec<Range>);

impl RangeSet {
    /// Checks a set of ranges.
    ///
    /// # Errors
    ///
    /// When there is none, one is wrong, or they do not go together.
    pub fn new(bounds: impl IntoIterator<Item = Bounds>) -> Result<Self, RangeError> {
        let ranges: Vec<Range> = bounds.into_iter().map(Range::new).collect::<Result<_, _>>()?;
        let Some(first) = ranges.first() else { return Err(RangeError::Empty) };
        if ranges.iter().any(|range| range.start.family() != first.start.family()) {
            return Err(RangeError::Mixed);
        }
        for (at, range) in ranges.iter().enumerate() {
            if let Some(other) = ranges[at + 1..].iter().find(|other| range.overlaps(other)) {
                return Err(RangeError::Overlap { first: range.to_string(), second: other.to_string() });
            }
        }
        Ok(Self(ranges))
    }

    /// The ranges, in order.
    pub fn ranges(&self) -> &[Range] {
        &self.0
    }

    /// The family of the addresses.
    pub fn family(&self) -> Family {
        self.0.first().map_or(Family::V4, |range| range.start.family())
    }

    /// The range that an address lies in.
    pub fn range_of(&self, address: Addr) -> Option<&Range> {
        self.0.iter().find(|range| range.contains(address))
    }

    /// Whether a range of this set overlaps one of another.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().any(|range| other.0.iter().any(|other| range.overlaps(other)))
    }
}

impl fmt::Display for RangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(","))
    }
}

/// What is wrong with a range or a set. Each text starts with Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// A set without ranges.
    #[error("empty range set")]
    Empty,
    /// `rangeEnd` lies outside of the subnet.
    #[error("RangeEnd {end} not in network {subnet}")]
    End {
        /// The address.
        end: Addr,
        /// The subnet.
        subnet: Cidr,
    },
    /// The gateway is of another family than the subnet.
    #[error("gateway {gateway} is not of the family of network {subnet}")]
    Gateway {
        /// The address.
        gateway: Addr,
        /// The subnet.
        subnet: Cidr,
    },
    /// The subnet is no network address.
    #[error(
        "Network has host bits set. For a subnet mask of length {} the network address is {}",
        subnet.prefix(),
        subnet.network().address()
    )]
    HostBits {
        /// The subnet as given.
        subnet: Cidr,
    },
    /// The subnet has IPv4-mapped addresses.
    #[error(
        "IPNet IP and Mask version mismatch: {subnet} has IPv4-mapped addresses, which are written as IPv4"
    )]
    Mapped {
        /// The subnet.
        subnet: Cidr,
    },
    /// IPv4 and IPv6 in one set.
    #[error("mixed address families")]
    Mixed,
    /// Two ranges of a set overlap.
    #[error("subnets {first} and {second} overlap")]
    Overlap {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// `rangeStart` lies outside of the subnet, or after `rangeEnd`.
    #[error("RangeStart {start} not in network {subnet}{}", end.map(|end| format!(" up to RangeEnd {end}")).unwrap_or_default())]
    Start {
        /// The address.
        start: Addr,
        /// The subnet.
        subnet: Cidr,
        /// The end of the range that starts after it.
        end: Option<Addr>,
    },
    /// The subnet has no address to give out.
    #[error("Network {subnet} too small to allocate from")]
    TooSmall {
        /// The subnet.
        subnet: Cidr,
    },
}

#[cfg(test)]
mod tests;
