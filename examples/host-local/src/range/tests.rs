//! Defaults and bounds, at the ends of the address space too, and the texts of faults.

use super::*;

fn addr(text: &str) -> Addr {
    Addr::from(text.parse::<IpAddr>().unwrap())
}

/// `subnet`, `rangeStart`, `rangeEnd`, `gateway`; empty means absent.
fn bounds(subnet: &str, start: &str, end: &str, gateway: &str) -> Bounds {
    let address = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
    Bounds {
        subnet: subnet.parse().unwrap(),
        start: address(start),
        end: address(end),
        gateway: address(gateway),
    }
}

fn range(subnet: &str) -> Range {
    Range::new(bounds(subnet, "", "", "")).unwrap()
}

fn fault(subnet: &str, start: &str, end: &str, gateway: &str) -> String {
    Range::new(bounds(subnet, start, end, gateway)).unwrap_err().to_string()
}

#[test]
fn defaults_leave_out_network_and_broadcast_address() {
    for (subnet, start, end) in [
        ("10.1.0.0/24", "10.1.0.1", "10.1.0.254"),
        ("10.1.0.0/16", "10.1.0.1", "10.1.255.254"),
        ("10.2.0.0/30", "10.2.0.1", "10.2.0.2"),
        ("0.0.0.0/0", "0.0.0.1", "255.255.255.254"),
        ("255.255.255.252/30", "255.255.255.253", "255.255.255.254"),
        ("2001:db8::/120", "2001:db8::1", "2001:db8::ff"),
        ("fd00::/126", "fd00::1", "fd00::3"),
        ("::/126", "::1", "::3"),
        (
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00/120",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff01",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ),
        ("8000::/1", "8000::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ] {
        let range = range(subnet);
        assert_eq!((range.start(), range.end()), (addr(start), addr(end)), "{subnet}");
        assert_eq!(range.gateway(), addr(start), "{subnet}");
        assert!(range.contains(addr(start)) && range.contains(addr(end)), "{subnet}");
        assert_eq!(range.to_string(), format!("{start}-{end}"));
    }
}

#[test]
fn c61_explicit_bounds_at_the_edges_are_taken() {
    let range = Range::new(bounds("10.1.0.0/16", "10.1.0.0", "", "")).unwrap();
    assert_eq!(range.start(), addr("10.1.0.0"));
    let range = Range::new(bounds("10.1.0.0/24", "10.1.0.255", "10.1.0.255", "")).unwrap();
    assert_eq!((range.start(), range.end()), (addr("10.1.0.255"), addr("10.1.0.255")));
    let range = Range::new(bounds("255.255.255.0/24", "255.255.255.255", "255.255.255.255", "")).unwrap();
    assert_eq!(range.to_string(), "255.255.255.255-255.255.255.255");
}

#[test]
fn c62_an_octet_of_0_or_255_is_an_ordinary_address() {
    let range = Range::new(bounds("10.1.0.0/16", "10.1.2.250", "10.1.3.3", "")).unwrap();
    assert!(range.contains(addr("10.1.2.255")) && range.contains(addr("10.1.3.0")));
    assert!(!range.contains(addr("10.1.2.249")) && !range.contains(addr("10.1.3.4")));
}

#[test]
fn a_subnet_needs_room() {
    for subnet in ["10.8.0.0/31", "10.8.0.1/32", "fd00::/127", "fd00::1/128"] {
        assert_eq!(fault(subnet, "", "", ""), format!("Network {subnet} too small to allocate from"));
    }
}

#[test]
fn faults_are_told_in_gos_words() {
    assert_eq!(
        fault("10.8.0.3/24", "", "", ""),
        "Network has host bits set. For a subnet mask of length 24 the network address is 10.8.0.0"
    );
    assert_eq!(fault("10.8.0.0/24", "10.9.0.1", "", ""), "RangeStart 10.9.0.1 not in network 10.8.0.0/24");
    assert_eq!(fault("10.8.0.0/24", "", "10.9.0.1", ""), "RangeEnd 10.9.0.1 not in network 10.8.0.0/24");
    assert_eq!(fault("10.8.0.0/24", "fd00::1", "", ""), "RangeStart fd00::1 not in network 10.8.0.0/24");
    assert_eq!(
        fault("10.8.0.0/24", "10.8.0.9", "10.8.0.5", ""),
        "RangeStart 10.8.0.9 not in network 10.8.0.0/24 up to RangeEnd 10.8.0.5"
    );
    assert_eq!(
        fault("10.8.0.0/24", "", "", "fd00::1"),
        "gateway fd00::1 is not of the family of network 10.8.0.0/24"
    );
}

#[test]
fn mapped_addresses_are_ipv4_ones() {
    let range =
        Range::new(bounds("10.8.0.0/24", "::ffff:10.8.0.5", "::ffff:10.8.0.9", "::ffff:10.8.0.2")).unwrap();
    assert_eq!(range.to_string(), "10.8.0.5-10.8.0.9");
    assert_eq!(range.gateway(), addr("10.8.0.2"));
    for subnet in ["::ffff:10.8.0.0/120", "::ffff:0:0/96", "::/64", "::/0", "::fffe:0:0/95"] {
        let error = fault(subnet, "", "", "");
        assert!(error.starts_with("IPNet IP and Mask version mismatch"), "{subnet}: {error}");
    }
    for subnet in ["::/120", "::1:0:0:0/80", "::fffe:0:0/96", "fd00::/8"] {
        assert!(Range::new(bounds(subnet, "", "", "")).is_ok(), "{subnet}");
    }
}

#[test]
fn a_gateway_may_lie_elsewhere() {
    let range = Range::new(bounds("10.8.0.0/24", "", "", "10.9.0.1")).unwrap();
    assert_eq!(range.gateway(), addr("10.9.0.1"));
    assert_eq!(range.start(), addr("10.8.0.1"));
}

#[test]
fn sets_are_of_one_family_and_do_not_overlap() {
    let set = |subnets: &[&str]| RangeSet::new(subnets.iter().map(|subnet| bounds(subnet, "", "", "")));
    assert_eq!(set(&[]).unwrap_err(), RangeError::Empty);
    assert_eq!(set(&["10.8.0.0/24", "fd00::/64"]).unwrap_err().to_string(), "mixed address families");
    assert_eq!(
        set(&["10.8.0.0/24", "10.8.0.0/16"]).unwrap_err().to_string(),
        "subnets 10.8.0.1-10.8.0.254 and 10.8.0.1-10.8.255.254 overlap"
    );
    let both = set(&["10.8.0.0/24", "10.8.1.0/24"]).unwrap();
    assert_eq!(both.to_string(), "10.8.0.1-10.8.0.254,10.8.1.1-10.8.1.254");
    assert_eq!(both.range_of(addr("10.8.1.7")).map(Range::subnet), Some("10.8.1.0/24".parse().unwrap()));
    assert_eq!(both.range_of(addr("10.8.0.0")), None);
    assert!(both.overlaps(&set(&["10.8.1.0/30"]).unwrap()));
    assert!(!both.overlaps(&set(&["fd00::/64"]).unwrap()));
    // One end inside, and one inside the other.
    let part = RangeSet::new([bounds("10.8.0.0/16", "10.8.0.200", "10.8.0.255", "")]).unwrap();
    assert!(both.overlaps(&part) && part.overlaps(&both));
}
