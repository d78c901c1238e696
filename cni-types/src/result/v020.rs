//! The layout of 0.1.0 and 0.2.0: at most one address of each family.

use std::net::IpAddr;

use crate::wire::{ExtraKeys, ListOf, OptAddress, OptText, OptValue, Required, Value, wire_object};
use crate::{Cidr, Dns, Route};

/// A result of 0.1.0 or 0.2.0.
///
/// See [the spec of that time](https://github.com/containernetworking/cni/blob/spec-v0.2.0/SPEC.md#result).
#[doc(alias = "types020.Result")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Result {
    pub(super) declared: Option<String>,
    /// The IPv4 address.
    pub ip4: Option<Ip>,
    /// The IPv6 address.
    pub ip6: Option<Ip>,
    /// Name resolution. Always printed.
    pub dns: Dns,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Result {
        "cniVersion" => declared: OptText,
        "ip4" => ip4: OptValue<Ip>,
        "ip6" => ip6: OptValue<Ip>,
        "dns" => dns: Value<Dns>,
    }
}

/// The address of one family, with the routes of that family.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ip {
    /// The address with its prefix length.
    pub ip: Cidr,
    /// The default gateway of the address's subnet.
    pub gateway: Option<IpAddr>,
    /// The routes.
    pub routes: Vec<Route>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Ip {
        "ip" => ip: Required<Cidr>,
        "gateway" => gateway: OptAddress,
        "routes" => routes: ListOf<Route>,
    }
}
