//! Addresses, alone, with a prefix length and as ranges: they print as what they parse, and keep their order.

use std::net::IpAddr;

use cni_types::config::capability::RequestedIp;
use cni_types::{Cidr, MacAddr};
use host_local::addr::Addr;
use host_local::range::{Bounds, Range, RangeSet};

/// Reads bytes as text of every kind of address, and lines of it as a range set.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(cidr) = text.parse::<Cidr>() {
        check_cidr(cidr);
    }
    if let Ok(requested) = text.parse::<RequestedIp>() {
        assert_eq!(requested.to_string().parse(), Ok(requested));
    }
    if let Ok(mac) = text.parse::<MacAddr>() {
        assert_eq!(mac.to_string().parse(), Ok(mac));
    }
    if let Some(address) = Addr::from_file_name(&text) {
        assert_eq!(address.to_string(), text, "a file's name is how its address prints");
    }
    if let Ok(set) = RangeSet::new(text.split(';').filter_map(bounds)) {
        check_set(&set);
    }
}

fn check_cidr(cidr: Cidr) {
    assert_eq!(cidr.to_string().parse(), Ok(cidr));
    assert_eq!(Cidr::new(cidr.address(), cidr.prefix()), Ok(cidr));
    let network = cidr.network();
    assert_eq!(network.network(), network);
    assert_eq!(network.last_address(), cidr.last_address());
    for address in [cidr.address(), network.address(), cidr.last_address()] {
        assert!(cidr.contains(address) && network.contains(address));
        assert!(network.address() <= address && address <= cidr.last_address());
        assert_eq!(address.is_ipv4(), cidr.is_ipv4());
    }
}

/// `subnet,start,end,gateway`, all but the first optional.
fn bounds(text: &str) -> Option<Bounds> {
    let mut parts = text.split(',');
    let subnet = parts.next()?.parse().ok()?;
    let mut next = || parts.next().and_then(|text| text.parse::<IpAddr>().ok());
    Some(Bounds { subnet, start: next(), end: next(), gateway: next() })
}

fn check_set(set: &RangeSet) {
    assert!(!set.ranges().is_empty());
    for (at, range) in set.ranges().iter().enumerate() {
        check_range(range);
        assert_eq!(range.start().family(), set.family());
        for other in &set.ranges()[at + 1..] {
            assert!(!range.contains(other.start()) && !other.contains(range.start()), "{set} overlap");
        }
        assert_eq!(set.range_of(range.end()), Some(range));
    }
}

fn check_range(range: &Range) {
    let subnet = range.subnet();
    assert!(range.start() <= range.end());
    for address in [range.start(), range.end()] {
        assert!(subnet.contains(address.ip()), "{range} is not within {subnet}");
        assert!(range.contains(address));
        assert_eq!(Addr::new(address.family(), address.number()), Some(address));
    }
    assert!(!range.start().previous().is_some_and(|address| range.contains(address)));
    assert!(!range.end().next().is_some_and(|address| range.contains(address)));
    assert_eq!(range.gateway().family(), range.start().family());
}
