//! Addresses with a prefix length, as strict as Go's parser, with the host bits kept.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnetwork::IpNetwork;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::{AddressText, parse_address, parsed};

/// An IP address with its prefix length: `10.1.0.5/16`.
///
/// The host bits are kept, since CNI writes an interface's address and its subnet in one value. An IPv4-mapped IPv6
/// address stays IPv6.
///
/// ```
/// use cni_types::Cidr;
/// let address: Cidr = "10.1.0.5/16".parse()?;
/// assert_eq!(address.to_string(), "10.1.0.5/16");
/// assert_eq!(address.network().to_string(), "10.1.0.0/16");
/// assert!("10.1.0.5".parse::<Cidr>().is_err(), "the prefix is not optional");
/// # Ok::<(), cni_types::InvalidCidr>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr(IpNetwork);

impl Cidr {
    /// An address with a prefix length in bits.
    ///
    /// # Errors
    ///
    /// When the prefix is longer than the address.
    pub fn new(address: IpAddr, prefix: u8) -> Result<Self, InvalidCidr> {
        IpNetwork::new(address, prefix)
            .map(Self)
            .map_err(|_| InvalidCidr { value: format!("{address}/{prefix}") })
    }

    /// One address alone: `/32` or `/128`.
    pub fn host(address: IpAddr) -> Self {
        Self(IpNetwork::from(address))
    }

    /// The address, host bits included.
    pub fn address(&self) -> IpAddr {
        self.0.ip()
    }

    /// The prefix length in bits.
    pub fn prefix(&self) -> u8 {
        self.0.prefix()
    }

    /// The same prefix with the host bits cleared.
    #[must_use]
    pub fn network(&self) -> Self {
        Self(match self.0 {
            IpNetwork::V4(net) => {
                ipnetwork::Ipv4Network::new(net.network(), net.prefix()).unwrap_or(net).into()
            }
            IpNetwork::V6(net) => {
                ipnetwork::Ipv6Network::new(net.network(), net.prefix()).unwrap_or(net).into()
            }
        })
    }

    /// The last address of the network: the broadcast address for IPv4.
    pub fn last_address(&self) -> IpAddr {
        self.0.broadcast()
    }

    /// Whether the address lies in this network. Never across families.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(address)
    }

    /// Whether this is IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.0.is_ipv4()
    }

    /// Whether this is IPv6, IPv4-mapped addresses included.
    pub fn is_ipv6(&self) -> bool {
        self.0.is_ipv6()
    }

    fn text(&self) -> AddressText {
        AddressText::with_prefix(self.address(), self.prefix())
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let parse = || {
            // Not by `split_once`, whose search costs as much as all the rest.
            let slash = text.bytes().position(|byte| byte == b'/')?;
            let (address, prefix) = (&text[..slash], &text[slash + 1..]);
            // `u8::from_str` takes a sign, which no CIDR has.
            let digits = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_digit());
            let prefix = digits.then(|| prefix.parse::<u32>().ok()).flatten()?;
            Self::new(parse_address(address)?, u8::try_from(prefix).ok()?).ok()
        };
        parse().ok_or_else(|| InvalidCidr { value: text.to_owned() })
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cidr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, str::parse)
    }
}

/// A text is no address with prefix length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid CIDR address: {value:?}, expected an address and prefix length such as \"10.1.0.5/16\"")]
#[non_exhaustive]
pub struct InvalidCidr {
    /// The text found.
    pub value: String,
}
