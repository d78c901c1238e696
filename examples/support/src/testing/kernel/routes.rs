//! Routes of the made-up kernel. IPv6 routes to one destination stay apart, where Linux lists them as one.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressScope};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use rustix::io::Errno as RawErrno;

use super::addresses::network;
use super::{Answer, State};
use crate::netlink::MAIN_TABLE;

/// Priorities that Linux gives to IPv6 routes of users, and to its own.
const USER_PRIORITY: u32 = 1024;
const KERNEL_PRIORITY: u32 = 256;

impl State {
    pub(super) fn add_route(
        &mut self,
        netns: usize,
        wanted: &RouteMessage,
        exclusive: bool,
        replace: bool,
    ) -> Answer<()> {
        let mut route = wanted.clone();
        let v6 = route.header.address_family == AddressFamily::Inet6;
        if v6 && !self.ipv6 {
            return Err(RawErrno::OPNOTSUPP);
        }
        self.complete(netns, &mut route)?;
        if v6 && priority(&route) == 0 {
            route.attributes.push(RouteAttribute::Priority(USER_PRIORITY));
        }
        let routes = &mut self.namespaces[netns].routes;
        let rival = routes.iter().position(|other| key(other) == key(&route));
        match rival {
            Some(_) if exclusive => Err(RawErrno::EXIST),
            Some(rival) if replace => {
                routes[rival] = route;
                Ok(())
            }
            Some(_) if routes.iter().any(|other| key(other) == key(&route) && hop(other) == hop(&route)) => {
                Err(RawErrno::EXIST)
            }
            Some(rival) if !v6 => {
                routes.insert(rival, route);
                Ok(())
            }
            _ => {
                routes.push(route);
                Ok(())
            }
        }
    }

    /// The most specific route of the main table, with the lowest priority: there are no rules here.
    pub(super) fn lookup(&self, netns: usize, wanted: &RouteMessage) -> Answer<RouteMessage> {
        let address = key(wanted).0.ok_or(RawErrno::INVAL)?.ip();
        let leads = |route: &&RouteMessage| {
            let (destination, table, _) = key(route);
            table == MAIN_TABLE && destination.is_some_and(|destination| destination.contains(address))
        };
        let routes = self.namespaces[netns].routes.iter().filter(leads);
        let best = routes
            .min_by_key(|route| (std::cmp::Reverse(route.header.destination_prefix_length), priority(route)));
        let mut route = best.ok_or(RawErrno::NETUNREACH)?.clone();
        route.header.destination_prefix_length = wanted.header.destination_prefix_length;
        route.attributes.retain(|attribute| !matches!(attribute, RouteAttribute::Destination(_)));
        route.attributes.push(RouteAttribute::Destination(address.into()));
        Ok(route)
    }

    pub(super) fn delete_route(&mut self, netns: usize, wanted: &RouteMessage) -> Answer<()> {
        let matches = |route: &RouteMessage| {
            let scope = wanted.header.scope;
            (key(route).0, key(route).1) == (key(wanted).0, key(wanted).1)
                && (priority(wanted) == 0 || priority(wanted) == priority(route))
                && (gateway(wanted).is_none() || gateway(wanted) == gateway(route))
                && (link(wanted).is_none() || link(wanted) == link(route))
                && (scope == RouteScope::NoWhere || scope == route.header.scope)
        };
        let routes = &mut self.namespaces[netns].routes;
        let found = routes.iter().position(matches).ok_or(RawErrno::SRCH)?;
        routes.remove(found);
        Ok(())
    }

    /// Checks that the route leads somewhere, and finds its link.
    fn complete(&self, netns: usize, route: &mut RouteMessage) -> Answer<()> {
        if route.attributes.iter().any(|attribute| matches!(attribute, RouteAttribute::MultiPath(_))) {
            return Ok(());
        }
        if let Some(index) = link(route) {
            if !self.link(netns, index)?.is_up() {
                return Err(RawErrno::NETDOWN);
            }
            if gateway(route).is_none() || route.header.flags.contains(RouteFlags::Onlink) {
                return Ok(());
            }
        }
        let unreachable = if route.header.address_family == AddressFamily::Inet {
            RawErrno::NETUNREACH
        } else {
            RawErrno::HOSTUNREACH
        };
        let gateway = gateway(route).ok_or(RawErrno::NODEV)?;
        let wanted = link(route);
        let on_link = self.namespaces[netns].routes.iter().find(|other| {
            let (destination, _, _) = key(other);
            other.attributes.iter().all(|attribute| !matches!(attribute, RouteAttribute::Gateway(_)))
                && destination.is_some_and(|destination| destination.contains(gateway))
                && (wanted.is_none() || wanted == link(other))
        });
        let found = on_link.and_then(link).ok_or(unreachable)?;
        if wanted.is_none() {
            route.attributes.push(RouteAttribute::Oif(found));
        }
        Ok(())
    }

    /// Routes to the networks of a link's addresses, while it is up.
    pub(super) fn add_connected_routes(&mut self, netns: usize, index: u32) {
        if !self.link(netns, index).is_ok_and(super::links::FakeLink::is_up) {
            return;
        }
        let addresses = self.namespaces[netns].addresses.clone();
        for address in addresses {
            let silent = address.header.scope == AddressScope::Host
                || address.attributes.iter().any(|attribute| {
                    matches!(attribute, AddressAttribute::Flags(flags) if flags.contains(AddressFlags::Noprefixroute))
                });
            let Some(network) = network(&address).filter(|_| address.header.index == index && !silent) else {
                continue;
            };
            let v4 = network.is_ipv4();
            if v4 && network.prefix() == 32 {
                continue;
            }
            let mut route = RouteMessage::default();
            route.header.address_family = address.header.family;
            route.header.destination_prefix_length = network.prefix();
            route.header.protocol = RouteProtocol::Kernel;
            route.header.kind = RouteType::Unicast;
            route.header.table = u8::try_from(MAIN_TABLE).unwrap_or_default();
            route.header.scope = if v4 { RouteScope::Link } else { RouteScope::Universe };
            route.attributes.push(RouteAttribute::Destination(network.network().into()));
            route.attributes.push(RouteAttribute::Oif(index));
            if v4 {
                route.attributes.push(RouteAttribute::PrefSource(network.ip().into()));
            } else {
                route.attributes.push(RouteAttribute::Priority(KERNEL_PRIORITY));
            }
            // There already, from another address or an earlier time.
            let _ = self.add_route(netns, &route, true, false);
        }
    }

    pub(super) fn remove_connected_route(&mut self, netns: usize, index: u32, network: IpNetwork) {
        let of_kernel = |route: &RouteMessage| {
            route.header.protocol == RouteProtocol::Kernel
                && link(route) == Some(index)
                && key(route).0 == IpNetwork::new(network.network(), network.prefix()).ok()
        };
        self.namespaces[netns].routes.retain(|route| !of_kernel(route));
        // Another address may be in the same network.
        self.add_connected_routes(netns, index);
    }

    pub(super) fn remove_routes_of(&mut self, netns: usize, index: u32) {
        self.namespaces[netns].routes.retain(|route| link(route) != Some(index));
    }
}

/// What routes are told apart by: destination, table, priority.
fn key(route: &RouteMessage) -> (Option<IpNetwork>, u32, u32) {
    let mut table = route.header.table.into();
    let mut destination = match route.header.address_family {
        AddressFamily::Inet6 => IpAddr::from([0; 16]),
        _ => IpAddr::from([0; 4]),
    };
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Destination(RouteAddress::Inet(ip)) => destination = (*ip).into(),
            RouteAttribute::Destination(RouteAddress::Inet6(ip)) => destination = (*ip).into(),
            RouteAttribute::Table(number) => table = *number,
            _ => {}
        }
    }
    let destination = IpNetwork::new(destination, route.header.destination_prefix_length).ok();
    (destination, table, priority(route))
}

/// What makes two routes of one [`key`] different.
fn hop(route: &RouteMessage) -> (Option<IpAddr>, Option<u32>) {
    (gateway(route), link(route))
}

fn priority(route: &RouteMessage) -> u32 {
    let given = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Priority(priority) => Some(*priority),
        _ => None,
    });
    given.unwrap_or_default()
}

fn link(route: &RouteMessage) -> Option<u32> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    })
}

fn gateway(route: &RouteMessage) -> Option<IpAddr> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(ip)) => Some((*ip).into()),
        RouteAttribute::Gateway(RouteAddress::Inet6(ip)) => Some((*ip).into()),
        _ => None,
    })
}
