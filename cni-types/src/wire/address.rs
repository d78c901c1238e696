//! IP addresses and their text.
//!
//! By the standard library, which reads byte by byte what may be an address of either kind and prints through its
//! formatter, the few addresses of a result take a sixth of all the time that it takes to read, convert and print it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};

/// Reads an address, and whatever the standard library does not take is none.
pub(crate) fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.as_bytes();
    parse_v4(text).map(IpAddr::V4).or_else(|| parse_v6(text).map(IpAddr::V6))
}

fn parse_v4(text: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let (mut place, mut octet) = (0, None);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        octet = match octet {
            _ if *byte == b'.' => {
                *octets.get_mut(place)? = octet?;
                place += 1;
                None
            }
            None if digit < 10 => Some(digit),
            // A zero in front would make it octal elsewhere.
            Some(octet @ 1..) if digit < 10 => Some(octet.checked_mul(10)?.checked_add(digit)?),
            _ => return None,
        };
    }
    octets[3] = octet.filter(|_| place == 3)?;
    Some(octets.into())
}

fn parse_v6(text: &[u8]) -> Option<Ipv6Addr> {
    let mut groups = [0; 8];
    let (mut count, mut gap, mut ended) = (0, None, false);
    // At either end of the text it takes two colons to make a gap, in between there is nothing between two.
    let start = usize::from(text.starts_with(b":"));
    let end = text.len() - usize::from(text.ends_with(b":"));
    if text.is_empty()
        || (start > 0 && !text.starts_with(b"::"))
        || (end < text.len() && !text.ends_with(b"::"))
    {
        return None;
    }
    for part in text.get(start..end)?.split(|byte| *byte == b':') {
        if ended || (part.is_empty() && gap.replace(count).is_some()) {
            return None;
        }
        if part.is_empty() {
            continue;
        }
        if let Some(group) = hexadecimal(part) {
            *groups.get_mut(count)? = group;
            count += 1;
        } else {
            // The last two groups may be written as IPv4.
            let [a, b, c, d] = parse_v4(part)?.octets();
            let last = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
            groups.get_mut(count..count + 2)?.copy_from_slice(&last);
            (count, ended) = (count + 2, true);
        }
    }
    match gap {
        None if count == groups.len() => {}
        // What follows the gap goes to the end.
        Some(gap) if count < groups.len() => groups[gap..].rotate_right(8 - count),
        _ => return None,
    }
    Some(groups.into())
}

/// A number of four digits at most.
fn hexadecimal(digits: &[u8]) -> Option<u16> {
    if digits.len() > 4 {
        return None;
    }
    let mut number = 0;
    for digit in digits {
        number = number << 4 | char::from(*digit).to_digit(16)? as u16;
    }
    Some(number)
}

/// The text of an address, as the standard library prints it.
pub(crate) struct AddressText {
    bytes: [u8; ROOM],
    len: usize,
}

/// For the longest text, with a prefix length; in sixteens.
const ROOM: usize = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128".len().next_multiple_of(16);

impl AddressText {
    pub(crate) fn new(address: IpAddr) -> Self {
        let mut text = Self { bytes: [0; ROOM], len: 0 };
        text.push_address(address);
        text
    }

    pub(crate) fn with_prefix(address: IpAddr, prefix: u8) -> Self {
        let mut text = Self::new(address);
        text.push(b'/');
        text.push_decimal(prefix);
        text
    }

    pub(crate) fn as_str(&self) -> &str {
        // Only ASCII was pushed. As a whole that is seen sooner, since sixteen bytes are looked at together.
        &std::str::from_utf8(&self.bytes).unwrap_or_default()[..self.len]
    }

    fn push_address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.push_v4(address),
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(mapped) => {
                    b"::ffff:".iter().for_each(|byte| self.push(*byte));
                    self.push_v4(mapped);
                }
                None => self.push_v6(address),
            },
        }
    }

    fn push_v4(&mut self, address: Ipv4Addr) {
        for (place, octet) in address.octets().into_iter().enumerate() {
            if place > 0 {
                self.push(b'.');
            }
            self.push_decimal(octet);
        }
    }

    fn push_v6(&mut self, address: Ipv6Addr) {
        let groups = address.segments();
        // Of the longest runs of zeros the first is left out, if it is more than one.
        let (mut gap, mut zeros) = (0..0, 0..0);
        for (place, group) in groups.into_iter().enumerate() {
            zeros = if group == 0 { zeros.start..place + 1 } else { place + 1..place + 1 };
            if zeros.len() > gap.len().max(1) {
                gap = zeros.clone();
            }
        }
        for (place, group) in groups.into_iter().enumerate() {
            if place == gap.start && !gap.is_empty() {
                self.push(b':');
                self.push(b':');
            }
            if gap.contains(&place) {
                continue;
            }
            if place > 0 && place != gap.end {
                self.push(b':');
            }
            for shift in [12, 8, 4, 0] {
                if group >> shift > 0 || shift == 0 {
                    self.push(b"0123456789abcdef"[usize::from(group >> shift & 0xf)]);
                }
            }
        }
    }

    fn push_decimal(&mut self, number: u8) {
        if number >= 100 {
            self.push(b'0' + number / 100);
        }
        if number >= 10 {
            self.push(b'0' + number / 10 % 10);
        }
        self.push(b'0' + number % 10);
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }
}

impl Serialize for AddressText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// An address as it is printed alone.
pub(crate) struct Printed(pub(crate) IpAddr);

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            // For these serde has a way of its own, which need not check that it wrote text.
            IpAddr::V4(address) => address.serialize(serializer),
            IpAddr::V6(_) => AddressText::new(self.0).serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::{AddressText, Printed, parse_address};

    fn address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<[u8; 4]>().prop_map(IpAddr::from),
            any::<[u16; 8]>().prop_map(IpAddr::from),
            // With runs of zeros, and those that are written as IPv4 for a part.
            vec(select(vec![0, 0, 0, 1, 0xff, 0xffff]), 8)
                .prop_map(|groups| IpAddr::from(<[u16; 8]>::try_from(groups).unwrap())),
            any::<[u8; 4]>()
                .prop_map(|octets| IpAddr::from(std::net::Ipv4Addr::from(octets).to_ipv6_mapped())),
        ]
    }

    /// Pieces of addresses, put together at random: some are one, most nearly.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = select(vec![
            ":",
            ":",
            ":",
            "::",
            ".",
            "0",
            "00",
            "1",
            "9",
            "10",
            "255",
            "256",
            "1000",
            "f",
            "FfFf",
            "0fff",
            "12345",
            "1.2.3.4",
            "01.2.3.4",
            "1.2.3",
            "1:2:3:4",
            "1:2:3:4:5:6:",
            "g",
            "+1",
            " ",
            "%1",
            "é",
        ]);
        vec(piece, 0..10).prop_map(|pieces| pieces.concat())
    }

    /// As many numbers as an address has, or one more or less, with a gap or a number of another kind among them.
    fn groups(separator: &'static str, group: &'static str, count: usize) -> impl Strategy<Value = String> {
        let group = prop_oneof![9 => group, 1 => Just(String::new()), 1 => "[0-9]{1,3}(\\.[0-9]{1,3}){3}"];
        vec(group, count - 1..=count + 1).prop_map(move |groups| groups.join(separator))
    }

    #[test]
    fn the_longest_text_has_room() {
        let address: IpAddr = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap();
        let text = AddressText::with_prefix(address, u8::MAX);
        assert_eq!(text.as_str(), format!("{address}/255"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn text_is_that_of_the_standard_library(address in address(), prefix: u8) {
            let text = address.to_string();
            let alone = AddressText::new(address);
            prop_assert_eq!(alone.as_str(), &text);
            prop_assert_eq!(serde_json::to_string(&Printed(address)).unwrap(), format!("{text:?}"));
            let whole = AddressText::with_prefix(address, prefix);
            prop_assert_eq!(whole.as_str(), format!("{text}/{prefix}"));
            prop_assert_eq!(parse_address(&text), Some(address));
            prop_assert_eq!(parse_address(&text.to_uppercase()), Some(address));
        }

        #[test]
        fn an_address_is_what_the_standard_library_takes_for_one(
            text in prop_oneof![
                pieces(),
                groups(".", "[0-9]{1,4}", 4),
                groups(":", "0?[0-9a-fA-F]{1,4}", 8),
                groups(":", "[0-9a-f]{1,4}", 5),
                ".*",
            ],
        ) {
            prop_assert_eq!(parse_address(&text), text.parse().ok(), "{}", text);
        }
    }
}
