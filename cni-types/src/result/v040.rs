//! The layout of 0.3.0, 0.3.1 and 0.4.0: lists of interfaces and addresses, each address with its `version`.

use std::net::IpAddr;

use crate::wire::{ExtraKeys, ListOf, OptAddress, OptIndex, OptText, Required, Text, Value, wire_object};
use crate::{Cidr, Dns, Route};

/// A result of 0.3.0, 0.3.1 or 0.4.0.
///
/// See [the spec of that time](https://github.com/containernetworking/cni/blob/spec-v0.4.0/SPEC.md#result).
#[doc(alias = "types040.Result")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Result {
    pub(super) declared: Option<String>,
    /// The interfaces.
    pub interfaces: Vec<Interface>,
    /// The addresses.
    pub ips: Vec<Ip>,
    /// The routes.
    pub routes: Vec<Route>,
    /// Name resolution. Always printed.
    pub dns: Dns,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Result {
        "cniVersion" => declared: OptText,
        "interfaces" => interfaces: ListOf<Interface>,
        "ips" => ips: ListOf<Ip>,
        "routes" => routes: ListOf<Route>,
        "dns" => dns: Value<Dns>,
    }
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// The name.
    pub name: String,
    /// The hardware address.
    pub mac: Option<String>,
    /// The isolation domain; absent on the host.
    pub sandbox: Option<String>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Interface {
        "name" => name: Text,
        "mac" => mac: OptText,
        "sandbox" => sandbox: OptText,
    }
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ip {
    /// `4` or `6`. Kept as it came: conversion to 0.2.0 goes by this and not by the address.
    pub version: String,
    /// The index of the owner in `interfaces`.
    pub interface: Option<usize>,
    /// The address with its prefix length.
    pub address: Cidr,
    /// The default gateway of the address's subnet.
    pub gateway: Option<IpAddr>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Ip {
        "version" => version: Text,
        "interface" => interface: OptIndex,
        "address" => address: Required<Cidr>,
        "gateway" => gateway: OptAddress,
    }
}
