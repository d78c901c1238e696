//! A hardware address as the kernel has it. Parsing what a user wrote is not done here.

use std::fmt;

/// A 48-bit hardware address. Prints in lower case: `0a:58:0a:01:00:05`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// From the kernel's bytes; `None` for other lengths (an InfiniBand address has 20 bytes, a tunnel 4 or 16).
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The six bytes.
    pub fn octets(self) -> [u8; 6] {
        self.0
    }
}

impl From<[u8; 6]> for Mac {
    fn from(octets: [u8; 6]) -> Self {
        Self(octets)
    }
}

impl From<Mac> for [u8; 6] {
    fn from(mac: Mac) -> Self {
        mac.0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, last] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{last:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_lower_case() {
        assert_eq!(Mac([0x0a, 0x58, 0xAB, 0, 0, 5]).to_string(), "0a:58:ab:00:00:05");
    }

    #[test]
    fn other_lengths_are_no_mac() {
        assert_eq!(Mac::from_bytes(&[1, 2, 3, 4]), None);
        assert_eq!(Mac::from_bytes(&[1, 2, 3, 4, 5, 6]), Some(Mac([1, 2, 3, 4, 5, 6])));
    }
}
