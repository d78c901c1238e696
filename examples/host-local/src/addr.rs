//! An address as a number of its family, so that ranges can be counted through without overflow.
//!
//! An IPv4-mapped IPv6 address is the IPv4 address that it holds, as Go has it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address of a pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr {
    family: Family,
    number: u128,
}

/// Which kind of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// 32 bits.
    V4,
    /// 128 bits.
    V6,
}

impl Family {
    /// The number of the family's last address.
    const fn last(self) -> u128 {
        match self {
            Self::V4 => u32::MAX as u128,
            Self::V6 => u128::MAX,
        }
    }
}

impl Addr {
    /// The address with this number, unless the family ends before it.
    pub const fn new(family: Family, number: u128) -> Option<Self> {
        if number <= family.last() { Some(Self { family, number }) } else { None }
    }

    /// The family.
    pub const fn family(self) -> Family {
        self.family
    }

    /// The address as a number.
    pub const fn number(self) -> u128 {
        self.number
    }

    /// The address after this one; `None` after the last of the family.
    pub fn next(self) -> Option<Self> {
        self.number.checked_add(1).and_then(|number| Self::new(self.family, number))
    }

    /// The address before this one; `None` before the first of the family.
    pub fn previous(self) -> Option<Self> {
        self.number.checked_sub(1).and_then(|number| Self::new(self.family, number))
    }

    /// The address that a file of the store is named by, if it is named by one: only the form that is written counts,
    /// since no other would be found again.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let address = Self::from(name.parse::<IpAddr>().ok()?);
        (address.to_string() == name).then_some(address)
    }

    /// The address in the standard library's type.
    pub fn ip(self) -> IpAddr {
        match self.family {
            // `new` keeps the number within 32 bits.
            Family::V4 => Ipv4Addr::from_bits(self.number as u32).into(),
            Family::V6 => Ipv6Addr::from_bits(self.number).into(),
        }
    }
}

impl From<IpAddr> for Addr {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self { family: Family::V4, number: v4.to_bits().into() },
            IpAddr::V6(v6) => Self { family: Family::V6, number: v6.to_bits() },
        }
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ip().fmt(f)
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> Addr {
        Addr::from(text.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn counting_ends_where_the_family_does() {
        assert_eq!(addr("10.0.0.255").next(), Some(addr("10.0.1.0")));
        assert_eq!(addr("255.255.255.255").next(), None);
        assert_eq!(addr("0.0.0.0").previous(), None);
        assert_eq!(addr("fd00::ffff").next(), Some(addr("fd00::1:0")));
        assert_eq!(addr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").next(), None);
        assert_eq!(addr("::").previous(), None);
        assert_eq!(Addr::new(Family::V4, 1 << 32), None);
    }

    #[test]
    fn a_mapped_address_is_the_one_it_holds() {
        assert_eq!(addr("::ffff:10.0.0.1"), addr("10.0.0.1"));
        assert_eq!(addr("::ffff:10.0.0.1").to_string(), "10.0.0.1");
        assert_ne!(addr("::a00:1"), addr("10.0.0.1"));
    }

    #[test]
    fn only_the_form_that_is_written_names_a_reservation() {
        for name in ["10.0.0.1", "fd00:1::2", "::", "::1"] {
            assert_eq!(Addr::from_file_name(name).map(|found| found.to_string()).as_deref(), Some(name));
        }
        for name in [
            "lock",
            "last_reserved_ip.0",
            "10.0.0.01",
            "FD00::1",
            "fd00:0::1",
            "::ffff:10.0.0.1",
            "10.0.0.1 ",
            "",
        ] {
            assert_eq!(Addr::from_file_name(name), None, "{name:?}");
        }
    }
}
