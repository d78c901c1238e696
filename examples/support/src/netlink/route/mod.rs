//! Routes.

mod message;

use std::fmt;
use std::net::IpAddr;

use ipnetwork::IpNetwork;
use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::route::{RouteFlags, RouteHeader};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Handle, Link};
use crate::error::{Error, Result};

pub use netlink_packet_route::route::{RouteProtocol, RouteScope, RouteType};

/// The table of all routes that name none.
pub const MAIN_TABLE: u32 = 254;

/// A route, to add or as it was when it was read.
///
/// ```
/// use plugin_support::netlink::Route;
///
/// let default: ipnetwork::IpNetwork = "0.0.0.0/0".parse()?;
/// let route = Route::to(default).via("10.1.0.1".parse::<std::net::IpAddr>()?).mtu(1400);
/// assert_eq!(route.to_string(), "0.0.0.0/0 via 10.1.0.1 mtu 1400");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Route {
    /// Where to; host bits count as zero. The default route is `0.0.0.0/0` or `::/0`.
    pub destination: IpNetwork,
    /// The next router. One of the other family is possible.
    pub gateway: Option<IpAddr>,
    /// Index of the link to go out by.
    pub link: Option<u32>,
    /// Source address that this host prefers on the route.
    pub source: Option<IpAddr>,
    /// Routing table.
    pub table: u32,
    /// How far the destination is. When adding, `None` leaves it to [`Handle::add_route`].
    pub scope: Option<RouteScope>,
    /// Lower goes first. `None` is 0 for IPv4, and 1024 for IPv6 when adding.
    pub priority: Option<u32>,
    /// Largest packet in bytes.
    pub mtu: Option<u32>,
    /// Largest TCP segment in bytes to announce.
    pub advmss: Option<u32>,
    /// Who made the route; [`RouteProtocol::Boot`] when adding, as Go's library and `ip` do.
    pub protocol: RouteProtocol,
    /// What happens to packets.
    pub kind: RouteType,
    /// Whether the gateway is taken to be on the link though no route says so.
    pub onlink: bool,
    /// Routers to choose from, instead of `gateway` and `link`.
    pub next_hops: Vec<NextHop>,
}

/// One of several routers of a [`Route`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The router.
    pub gateway: Option<IpAddr>,
    /// Index of the link to go out by.
    pub link: u32,
    /// Share of the traffic relative to the others, 1 to 256.
    pub weight: u16,
    /// As [`Route::onlink`].
    pub onlink: bool,
}

/// Which routes to list, for [`Handle::routes`]. Only the main table unless said otherwise.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RouteFilter {
    family: AddressFamily,
    table: Option<u32>,
    link: Option<u32>,
}

impl Route {
    /// A route to `destination` that so far has neither gateway nor link.
    pub fn to(destination: impl Into<IpNetwork>) -> Self {
        Self {
            destination: destination.into(),
            gateway: None,
            link: None,
            source: None,
            table: MAIN_TABLE,
            scope: None,
            priority: None,
            mtu: None,
            advmss: None,
            protocol: RouteProtocol::Boot,
            kind: RouteType::Unicast,
            onlink: false,
            next_hops: Vec::new(),
        }
    }

    /// Through a router.
    pub fn via(mut self, gateway: impl Into<IpAddr>) -> Self {
        self.gateway = Some(gateway.into());
        self
    }

    /// Out by a link.
    pub fn dev(mut self, link: &Link) -> Self {
        self.link = Some(link.index);
        self
    }

    /// With this source address where the sender has no wish.
    pub fn source(mut self, source: impl Into<IpAddr>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// In another table than the main one.
    pub fn table(mut self, table: u32) -> Self {
        self.table = table;
        self
    }

    /// How far the destination is.
    pub fn scope(mut self, scope: impl Into<RouteScope>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Lower goes first.
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Largest packet in bytes.
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.mtu = Some(bytes);
        self
    }

    /// Largest TCP segment in bytes to announce.
    pub fn advmss(mut self, bytes: u32) -> Self {
        self.advmss = Some(bytes);
        self
    }

    /// Takes the gateway to be on the link though no route says so.
    pub fn onlink(mut self) -> Self {
        self.onlink = true;
        self
    }

    /// Whether this is the default route of its family.
    pub fn is_default(&self) -> bool {
        self.destination.prefix() == 0
    }
}

/// As errors tell it, in the words of `ip route`: `10.0.0.0/8 via 10.1.0.1 dev index 3`.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.destination.network(), self.destination.prefix())?;
        if let Some(gateway) = self.gateway {
            write!(f, " via {gateway}")?;
        }
        if let Some(link) = self.link {
            write!(f, " dev index {link}")?;
        }
        if let Some(source) = self.source {
            write!(f, " src {source}")?;
        }
        if self.table != MAIN_TABLE {
            write!(f, " table {}", self.table)?;
        }
        for (name, value) in [("metric", self.priority), ("mtu", self.mtu), ("advmss", self.advmss)] {
            if let Some(value) = value {
                write!(f, " {name} {value}")?;
            }
        }
        if let Some(scope) = self.scope {
            write!(f, " scope {}", u8::from(scope))?;
        }
        if self.onlink {
            f.write_str(" onlink")?;
        }
        for hop in &self.next_hops {
            write!(f, " nexthop")?;
            if let Some(gateway) = hop.gateway {
                write!(f, " via {gateway}")?;
            }
            write!(f, " dev index {}", hop.link)?;
        }
        Ok(())
    }
}

impl RouteFilter {
    /// IPv4 routes.
    pub fn v4() -> Self {
        Self { family: AddressFamily::Inet, table: Some(MAIN_TABLE), link: None }
    }

    /// IPv6 routes.
    pub fn v6() -> Self {
        Self { family: AddressFamily::Inet6, ..Self::v4() }
    }

    /// Routes of the family of `network`.
    pub fn family_of(network: IpNetwork) -> Self {
        if network.is_ipv4() { Self::v4() } else { Self::v6() }
    }

    /// Of this table instead of the main one.
    pub fn table(mut self, table: u32) -> Self {
        self.table = Some(table);
        self
    }

    /// Of every table. The tables `local` and those of VRFs are among them.
    pub fn every_table(mut self) -> Self {
        self.table = None;
        self
    }

    /// Only those that go out by this link.
    pub fn dev(mut self, link: &Link) -> Self {
        self.link = Some(link.index);
        self
    }

    fn matches(&self, route: &Route) -> bool {
        self.table.is_none_or(|table| route.table == table)
            && self.link.is_none_or(|link| {
                route.link == Some(link) || route.next_hops.iter().any(|hop| hop.link == link)
            })
    }
}

impl Handle {
    /// The routes that pass `filter`, in the kernel's order.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. A table that does not exist has no routes.
    pub fn routes(&self, filter: &RouteFilter) -> Result<Vec<Route>> {
        let listed =
            self.dump(&RouteNetlinkMessage::GetRoute(filter.message()), || "failed to list routes".into());
        let replies = match listed {
            Ok(replies) => replies,
            Err(error) if error.is_not_found() && filter.link.is_none() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let routes = replies.into_iter().filter_map(|reply| match reply {
            // A kernel without IPv6 answers with what it has; a cached route is none of the table.
            RouteNetlinkMessage::NewRoute(message)
                if message.header.address_family == filter.family
                    && !message.header.flags.contains(RouteFlags::Cloned) =>
            {
                Route::from_message(message)
            }
            _ => None,
        });
        Ok(routes.filter(|route| filter.matches(route)).collect())
    }

    /// The route that a packet to `address` takes now, over all rules and tables; its destination is the address alone.
    ///
    /// # Errors
    ///
    /// [`Error::is_unreachable`] is true if there is none.
    pub fn route_get(&self, address: IpAddr) -> Result<Route> {
        let destination = IpNetwork::from(address);
        let attempt = || format!("failed to find a route to {address}");
        let mut message = Route::to(destination).message();
        message.header = RouteHeader {
            address_family: message.header.address_family,
            destination_prefix_length: destination.prefix(),
            ..RouteHeader::default()
        };
        let replies = self.request(&RouteNetlinkMessage::GetRoute(message), 0, attempt)?;
        let route = replies.into_iter().find_map(|reply| match reply {
            RouteNetlinkMessage::NewRoute(message) => Route::from_message(message),
            _ => None,
        });
        route.ok_or_else(|| Error::Decode {
            attempt: attempt(),
            reason: "the kernel's answer holds no route".into(),
        })
    }

    /// Adds a route. Without a scope it gets that of `ip`: link for an IPv4 route without gateway, global otherwise.
    ///
    /// # Errors
    ///
    /// [`Error::is_exists`] is true if there is one to the destination already, with the same table and priority.
    pub fn add_route(&self, route: &Route) -> Result<()> {
        self.new_route(route, NLM_F_CREATE | NLM_F_EXCL, "add")
    }

    /// Adds a route beside those to the same destination, as Go's `RouteAddEcmp` does: for IPv6 the routers then share
    /// the traffic, for IPv4 this route goes first.
    ///
    /// # Errors
    ///
    /// [`Error::is_exists`] is true if there is the very same route already.
    pub fn add_route_ecmp(&self, route: &Route) -> Result<()> {
        self.new_route(route, NLM_F_CREATE, "add")
    }

    /// Adds a route behind those to the same destination; for IPv6 the routers share the traffic.
    ///
    /// # Errors
    ///
    /// [`Error::is_exists`] is true if there is the very same route already.
    pub fn append_route(&self, route: &Route) -> Result<()> {
        self.new_route(route, NLM_F_CREATE | NLM_F_APPEND, "append")
    }

    /// Adds a route in place of the one to the same destination, with the same table and priority, if there is one.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn replace_route(&self, route: &Route) -> Result<()> {
        self.new_route(route, NLM_F_CREATE | NLM_F_REPLACE, "replace")
    }

    /// Deletes the first route that has all that `route` says; its protocol does not count.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if there is none.
    pub fn delete_route(&self, route: &Route) -> Result<()> {
        let mut message = route.message();
        // Nowhere, unspecified: whatever it is.
        message.header.scope = route.scope.unwrap_or(RouteScope::NoWhere);
        message.header.protocol = RouteProtocol::Unspec;
        self.request(&RouteNetlinkMessage::DelRoute(message), 0, || {
            format!("failed to delete route {route}")
        })?;
        Ok(())
    }

    fn new_route(&self, route: &Route, flags: u16, verb: &str) -> Result<()> {
        let mut message = route.message();
        message.header.scope = route.scope.unwrap_or_else(|| route.scope_to_add());
        self.request(&RouteNetlinkMessage::NewRoute(message), flags, || {
            format!("failed to {verb} route {route}")
        })?;
        Ok(())
    }
}
