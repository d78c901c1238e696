//! Typed `CNI_ARGS`: which keys a plugin takes, and how their values are read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::types::args::{InvalidArgs, parse_bool};
use crate::types::{self, Cidr, MacAddr};

/// The keys of `CNI_ARGS` that a plugin takes. Derive it; see the [`CniArgs`](macro@crate::CniArgs) derive.
///
/// `()` takes whatever comes and reads nothing, as plugins do that know no arguments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which keys of CNI_ARGS it takes",
    note = "add `#[derive(cni_skel::CniArgs)]` to `{Self}`"
)]
pub trait CniArgs: Sized {
    /// The keys, spelt as they are expected.
    const KEYS: &'static [&'static str];

    /// Reads the values.
    ///
    /// # Errors
    ///
    /// When a value has the wrong form, or a key is unknown and `IgnoreUnknown` does not allow that. Code 4.
    fn from_args(args: &types::CniArgs) -> Result<Self, InvalidArgs>;

    /// Reads the text of the variable.
    ///
    /// # Errors
    ///
    /// As for [`CniArgs::from_args`], and when the text is no list of pairs. Code 4.
    #[doc(alias = "LoadArgs")]
    fn parse(text: &str) -> Result<Self, InvalidArgs> {
        Self::from_args(&text.parse()?)
    }
}

impl CniArgs for () {
    const KEYS: &'static [&'static str] = &[];

    fn from_args(_: &types::CniArgs) -> Result<Self, InvalidArgs> {
        Ok(())
    }

    fn parse(_: &str) -> Result<Self, InvalidArgs> {
        Ok(())
    }
}

/// Every pair as it came, for plugins that pass arguments on or whose keys are not known beforehand. None is unknown.
///
/// ```
/// use cni_skel::{CniArgs, types};
///
/// let args = <types::CniArgs as CniArgs>::parse("A=1;B=2")?;
/// assert_eq!(args.find("B"), Some("2"));
/// # Ok::<(), types::args::InvalidArgs>(())
/// ```
impl CniArgs for types::CniArgs {
    const KEYS: &'static [&'static str] = &[];

    fn from_args(args: &types::CniArgs) -> Result<Self, InvalidArgs> {
        Ok(args.clone())
    }
}

/// A type that the value of an argument can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from the value of an argument",
    note = "implement `cni_skel::ArgValue` for `{Self}`, or use String"
)]
pub trait ArgValue: Sized {
    /// Reads the value.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words that follow `KEY=value: `.
    fn from_value(key: &str, value: &str) -> Result<Self, InvalidArgs>;
}

impl ArgValue for bool {
    fn from_value(key: &str, value: &str) -> Result<Self, InvalidArgs> {
        parse_bool(key, value)
    }
}

/// An argument that may be absent. An empty value that the type cannot have means absent as well, as in Go for `IP=`.
impl<T: ArgValue> ArgValue for Option<T> {
    fn from_value(key: &str, value: &str) -> Result<Self, InvalidArgs> {
        match T::from_value(key, value) {
            Err(_) if value.is_empty() => Ok(None),
            read => read.map(Some),
        }
    }
}

macro_rules! arg_values {
    ($($type:ty: $what:literal),* $(,)?) => {
        $(impl ArgValue for $type {
            fn from_value(key: &str, value: &str) -> Result<Self, InvalidArgs> {
                value.parse().map_err(|_| {
                    InvalidArgs::value(key, value, format!(concat!("invalid ", $what, ": {}"), value))
                })
            }
        })*
    };
}

arg_values! {
    Cidr: "CIDR address",
    IpAddr: "IP address",
    Ipv4Addr: "IPv4 address",
    Ipv6Addr: "IPv6 address",
    MacAddr: "MAC address",
    String: "text",
    i64: "number",
    u8: "number from 0 to 255",
    u16: "number from 0 to 65535",
    u32: "number from 0 to 4294967295",
    u64: "number from 0 on",
}
