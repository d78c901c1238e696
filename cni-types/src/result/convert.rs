//! Every step between layouts; the only file that sees two of them.
//!
//! Steps go one layout at a time, as Go's do: 0.2.0 ↔ 0.4.0 ↔ 1.x. What a layout cannot express is dropped, except that
//! 0.1.0 and 0.2.0 refuse a result without an address, which they cannot express at all.

use super::{AddResult, Interface, IpConfig, v020, v040};
use crate::wire::Layout::{self, V020, V040, V100};
use crate::{CniVersion, Dns, Route};

/// A result that a version cannot express.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot convert: no valid IP addresses (result {from} to {to}, which needs an IPv4 or IPv6 address)")]
#[non_exhaustive]
pub struct ConversionError {
    /// The version of the result.
    pub from: CniVersion,
    /// The version wanted.
    pub to: CniVersion,
}

/// The layout that a version has.
pub(super) fn layout_of(version: CniVersion) -> Layout {
    match version {
        CniVersion::V0_1_0 | CniVersion::V0_2_0 => V020,
        CniVersion::V0_3_0 | CniVersion::V0_3_1 | CniVersion::V0_4_0 => V040,
        CniVersion::V1_0_0 | CniVersion::V1_1_0 => V100,
    }
}

impl From<v020::Result> for v040::Result {
    fn from(old: v020::Result) -> Self {
        let mut new = Self { dns: moved_dns(old.dns, V020, V040), ..Self::default() };
        for (version, ip) in [("4", old.ip4), ("6", old.ip6)] {
            let Some(ip) = ip else { continue };
            new.ips.push(v040::Ip {
                version: version.to_owned(),
                interface: None,
                address: ip.ip,
                gateway: ip.gateway,
                extra: ip.extra.moved(V020, V040),
            });
            new.routes.extend(ip.routes.into_iter().map(|route| moved_route(route, V020, V040)));
        }
        new.extra = old.extra.moved(V020, V040);
        new
    }
}

/// `None` when there is no address that the layout could tell.
pub(super) fn to_v020(new: v040::Result) -> Option<v020::Result> {
    let mut old = v020::Result { dns: moved_dns(new.dns, V040, V020), ..v020::Result::default() };
    for ip in new.ips {
        let slot = match ip.version.as_str() {
            "4" => &mut old.ip4,
            "6" => &mut old.ip6,
            _ => continue,
        };
        // Only the first address of each family has a place.
        slot.get_or_insert_with(|| v020::Ip {
            ip: ip.address,
            gateway: ip.gateway,
            routes: Vec::new(),
            extra: ip.extra.moved(V040, V020),
        });
    }
    for route in new.routes {
        let owner = if route.dst.is_ipv4() { &mut old.ip4 } else { &mut old.ip6 };
        if let Some(ip) = owner {
            ip.routes.push(Route {
                gw: route.gw,
                extra: route.extra.moved(V040, V020),
                ..Route::new(route.dst)
            });
        }
    }
    old.extra = new.extra.moved(V040, V020);
    (old.ip4.is_some() || old.ip6.is_some()).then_some(old)
}

impl From<v040::Result> for AddResult {
    fn from(old: v040::Result) -> Self {
        Self {
            declared: None,
            interfaces: old
                .interfaces
                .into_iter()
                .map(|interface| Interface {
                    name: interface.name,
                    mac: interface.mac,
                    sandbox: interface.sandbox,
                    extra: interface.extra.moved(V040, V100),
                    ..Interface::default()
                })
                .collect(),
            ips: old
                .ips
                .into_iter()
                .map(|ip| IpConfig {
                    interface: ip.interface,
                    address: ip.address,
                    gateway: ip.gateway,
                    extra: ip.extra.moved(V040, V100),
                })
                .collect(),
            routes: old.routes.into_iter().map(|route| moved_route(route, V040, V100)).collect(),
            dns: moved_dns(old.dns, V040, V100),
            extra: old.extra.moved(V040, V100),
        }
    }
}

impl From<AddResult> for v040::Result {
    fn from(new: AddResult) -> Self {
        Self {
            declared: None,
            interfaces: new
                .interfaces
                .into_iter()
                .map(|interface| v040::Interface {
                    name: interface.name,
                    mac: interface.mac,
                    sandbox: interface.sandbox,
                    extra: interface.extra.moved(V100, V040),
                })
                .collect(),
            ips: new
                .ips
                .into_iter()
                .map(|ip| v040::Ip {
                    version: if ip.address.is_ipv4() { "4" } else { "6" }.to_owned(),
                    interface: ip.interface,
                    address: ip.address,
                    gateway: ip.gateway,
                    extra: ip.extra.moved(V100, V040),
                })
                .collect(),
            routes: new.routes.into_iter().map(|route| moved_route(route, V100, V040)).collect(),
            dns: moved_dns(new.dns, V100, V040),
            extra: new.extra.moved(V100, V040),
        }
    }
}

fn moved_route(mut route: Route, from: Layout, to: Layout) -> Route {
    route.extra = route.extra.moved(from, to);
    route
}

fn moved_dns(mut dns: Dns, from: Layout, to: Layout) -> Dns {
    dns.extra = dns.extra.moved(from, to);
    dns
}
