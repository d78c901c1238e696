//! Hardware addresses, strict and in one spelling.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::parsed;

/// An Ethernet address, printed in lower case with colons.
///
/// ```
/// use cni_types::MacAddr;
/// let mac: MacAddr = "00:11:22:AA:BB:CC".parse()?;
/// assert_eq!(mac.to_string(), "00:11:22:aa:bb:cc");
/// assert!("00:11:22".parse::<MacAddr>().is_err());
/// # Ok::<(), cni_types::InvalidMac>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr([u8; 6]);

impl MacAddr {
    /// The address of these six bytes.
    pub const fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// The six bytes, first on the wire first.
    pub const fn bytes(self) -> [u8; 6] {
        self.0
    }

    /// Whether the group bit is set: such an address cannot be an interface's own.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddr {
    type Err = InvalidMac;

    fn from_str(text: &str) -> Result<Self, InvalidMac> {
        let invalid = || InvalidMac { value: text.to_owned() };
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut parts = text.split(separator);
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(invalid)?;
            let two_digits = part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
            *byte = two_digits.then(|| u8::from_str_radix(part, 16).ok()).flatten().ok_or_else(invalid)?;
        }
        if parts.next().is_some() { Err(invalid()) } else { Ok(Self(bytes)) }
    }
}

impl Serialize for MacAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MacAddr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, str::parse)
    }
}

/// A text is no hardware address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid MAC address {value:?}, expected six bytes such as \"00:11:22:aa:bb:cc\"")]
#[non_exhaustive]
pub struct InvalidMac {
    /// The text found.
    pub value: String,
}
