//! What one value may be, when it is absent, and when it is not worth printing.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr};

use serde::de::{DeserializeOwned, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{ListInPlace, MAX_NESTING, Object, Printed, RawJson, parse_address, parsed};
use crate::{Cidr, Dns};

/// How the value of one key is read and whether it is printed.
pub(crate) trait Codec {
    type Value: Serialize;

    /// Whether an object without the key is refused.
    const IS_REQUIRED: bool = false;

    /// What an absent key means; for a required one, anything.
    fn absent() -> Self::Value;

    /// Reads the value in its place; for `null`, as if the key were absent. Says whether there was a value.
    fn read<'de, A: MapAccess<'de>>(place: &mut Self::Value, map: &mut A) -> Result<bool, A::Error>;

    /// Whether the value is left out when printed.
    fn says_nothing(value: &Self::Value) -> bool;

    /// What is printed of it.
    fn printed(value: &Self::Value) -> impl Serialize {
        value
    }
}

/// Puts a value, or what its absence means, in its place, and says whether there was one.
fn put<C: Codec>(place: &mut C::Value, value: Option<C::Value>) -> bool {
    let is_there = value.is_some();
    *place = value.unwrap_or_else(C::absent);
    is_there
}

macro_rules! codec {
    ($(#[$doc:meta])* $name:ident, $value:ty, read $read:ty, $convert:expr, skip $skip:expr) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl Codec for $name {
            type Value = $value;

            fn absent() -> $value {
                Default::default()
            }

            fn read<'de, A: MapAccess<'de>>(place: &mut $value, map: &mut A) -> Result<bool, A::Error> {
                Ok(put::<Self>(place, map.next_value::<Option<$read>>()?.map($convert)))
            }

            fn says_nothing(value: &$value) -> bool {
                let skip: fn(&$value) -> bool = $skip;
                skip(value)
            }
        }
    };
}

codec!(
    /// Text that is always printed; absent is empty.
    Text, String, read String, |text| text, skip |_| false
);
codec!(
    /// Text that is left out when empty.
    TextIfAny, String, read String, |text| text, skip String::is_empty
);
codec!(
    /// Text whose empty form means absent.
    OptText, Option<String>, read String, |text: String| Some(text).filter(|text| !text.is_empty()), skip Option::is_none
);
codec!(
    /// A list of texts; `null` in it reads as empty text, as deployed readers have it.
    TextList, Vec<String>, read Vec<Option<String>>, |list| list.into_iter().map(Option::unwrap_or_default).collect(), skip Vec::is_empty
);
codec!(
    /// A number whose zero means absent.
    Count, Option<u64>, read Uint, |Uint(n)| Some(n).filter(|n| *n != 0), skip Option::is_none
);
codec!(
    /// A number whose zero means zero.
    OptUint, Option<u64>, read Uint, |Uint(n)| Some(n), skip Option::is_none
);
codec!(
    /// An index into a list; zero means zero.
    OptIndex, Option<usize>, read Uint, |Uint(n)| Some(usize::try_from(n).unwrap_or(usize::MAX)), skip Option::is_none
);
codec!(
    /// A number of the full unsigned range, always printed.
    Uint64, u64, read u64, |n| n, skip |_| false
);
codec!(
    /// Switches by name; `null` is off, as deployed readers have it.
    Switches, Option<BTreeMap<String, bool>>, read SwitchMap, |SwitchMap(switches)| Some(switches), skip Option::is_none
);
codec!(
    /// Any value, kept as text.
    OptRaw, Option<RawJson>, read RawJson, Some, skip Option::is_none
);

codec!(
    /// Name resolution that is left out when it says nothing.
    DnsIfAny, Dns, read Dns, |dns| dns, skip Dns::is_empty
);

/// An address whose empty text means absent.
pub(crate) struct OptAddress;

impl Codec for OptAddress {
    type Value = Option<IpAddr>;

    fn absent() -> Option<IpAddr> {
        None
    }

    fn read<'de, A: MapAccess<'de>>(place: &mut Option<IpAddr>, map: &mut A) -> Result<bool, A::Error> {
        Ok(put::<Self>(place, map.next_value::<Option<Address>>()?.map(|Address(address)| address)))
    }

    fn says_nothing(value: &Option<IpAddr>) -> bool {
        value.is_none()
    }

    fn printed(value: &Option<IpAddr>) -> impl Serialize {
        value.map(Printed)
    }
}

/// A list; `null` in it is an error that names the element.
pub(crate) struct ListOf<T>(PhantomData<T>);

impl<T: Object + Serialize> Codec for ListOf<T> {
    type Value = Vec<T>;

    fn absent() -> Vec<T> {
        Vec::new()
    }

    fn read<'de, A: MapAccess<'de>>(place: &mut Vec<T>, map: &mut A) -> Result<bool, A::Error> {
        place.clear();
        map.next_value_seed(ListInPlace(place))
    }

    fn says_nothing(value: &Vec<T>) -> bool {
        value.is_empty()
    }
}

/// A value that must be there.
pub(crate) struct Required<T>(PhantomData<T>);

impl<T: DeserializeOwned + Serialize + Blank> Codec for Required<T> {
    type Value = T;

    const IS_REQUIRED: bool = true;

    fn absent() -> T {
        T::blank()
    }

    fn read<'de, A: MapAccess<'de>>(place: &mut T, map: &mut A) -> Result<bool, A::Error> {
        Ok(put::<Self>(place, map.next_value()?))
    }

    fn says_nothing(_: &T) -> bool {
        false
    }
}

/// What stands in the place of a required value until it is read.
pub(crate) trait Blank {
    fn blank() -> Self;
}

impl Blank for String {
    fn blank() -> Self {
        Self::new()
    }
}

impl Blank for Cidr {
    fn blank() -> Self {
        Self::host(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
}

/// A value with a default, always printed.
pub(crate) struct Value<T>(PhantomData<T>);

impl<T: DeserializeOwned + Serialize + Default> Codec for Value<T> {
    type Value = T;

    fn absent() -> T {
        T::default()
    }

    fn read<'de, A: MapAccess<'de>>(place: &mut T, map: &mut A) -> Result<bool, A::Error> {
        Ok(put::<Self>(place, map.next_value()?))
    }

    fn says_nothing(_: &T) -> bool {
        false
    }
}

/// A value that may be absent.
pub(crate) struct OptValue<T>(PhantomData<T>);

impl<T: DeserializeOwned + Serialize> Codec for OptValue<T> {
    type Value = Option<T>;

    fn absent() -> Option<T> {
        None
    }

    fn read<'de, A: MapAccess<'de>>(place: &mut Option<T>, map: &mut A) -> Result<bool, A::Error> {
        Ok(put::<Self>(place, map.next_value::<Option<T>>()?.map(Some)))
    }

    fn says_nothing(value: &Option<T>) -> bool {
        value.is_none()
    }
}

/// An unsigned number as far as deployed readers take it: up to the signed 64-bit limit.
struct Uint(u64);

impl<'de> Deserialize<'de> for Uint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UintVisitor;

        impl Visitor<'_> for UintVisitor {
            type Value = Uint;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 to {}", i64::MAX)
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Uint, E> {
                if n <= i64::MAX as u64 {
                    Ok(Uint(n))
                } else {
                    Err(E::invalid_value(Unexpected::Unsigned(n), &self))
                }
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<Uint, E> {
                u64::try_from(n).map(Uint).map_err(|_| E::invalid_value(Unexpected::Signed(n), &self))
            }
        }

        deserializer.deserialize_u64(UintVisitor)
    }
}

/// Switches by name, straight into their map: to make one map of another, the standard library sorts, and has the code
/// for that once more.
struct SwitchMap(BTreeMap<String, bool>);

impl<'de> Deserialize<'de> for SwitchMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SwitchVisitor;

        impl<'de> Visitor<'de> for SwitchVisitor {
            type Value = SwitchMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SwitchMap, A::Error> {
                let mut switches = BTreeMap::new();
                while let Some((name, on)) = map.next_entry::<_, Option<_>>()? {
                    switches.insert(name, on.unwrap_or_default());
                }
                Ok(SwitchMap(switches))
            }
        }

        deserializer.deserialize_map(SwitchVisitor)
    }
}

/// An address as text; empty text is none.
struct Address(Option<IpAddr>);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, |text| match parse_address(text) {
            None if !text.is_empty() => Err(format!("invalid IP address: {text:?}")),
            address => Ok(Self(address)),
        })
    }
}

/// Reads the value of a key that is not known.
pub(crate) fn unknown_value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<RawJson, A::Error> {
    let value: RawJson = map.next_value()?;
    check_nesting::<A::Error>(value.as_str())?;
    Ok(value)
}

/// Refuses a value that nests deeper than any reader of it would take.
///
/// # Errors
///
/// When it does.
pub fn check_nesting<E: Error>(value: &str) -> Result<(), E> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in value.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(E::custom(format_args!("nested deeper than {MAX_NESTING} levels")));
                }
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}
