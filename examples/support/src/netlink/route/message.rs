//! Routes as netlink messages, both ways.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteNextHop,
    RouteNextHopFlags, RouteScope, RouteType, RouteVia,
};

use super::{NextHop, Route, RouteFilter};

impl Route {
    pub(super) fn from_message(message: RouteMessage) -> Option<Self> {
        let header = &message.header;
        let unspecified = match header.address_family {
            AddressFamily::Inet => IpAddr::from([0; 4]),
            AddressFamily::Inet6 => IpAddr::from([0; 16]),
            _ => return None,
        };
        let mut route = Self {
            table: header.table.into(),
            scope: Some(header.scope),
            protocol: header.protocol,
            kind: header.kind,
            onlink: header.flags.contains(RouteFlags::Onlink),
            ..Self::to(IpNetwork::new(unspecified, header.destination_prefix_length).ok()?)
        };
        for attribute in message.attributes {
            match attribute {
                RouteAttribute::Destination(address) => {
                    let network = IpNetwork::new(ip(&address)?, route.destination.prefix());
                    route.destination = network.ok()?;
                }
                RouteAttribute::Gateway(address) => route.gateway = ip(&address),
                RouteAttribute::Via(via) => route.gateway = via_ip(&via),
                RouteAttribute::Oif(index) => route.link = Some(index),
                RouteAttribute::PrefSource(address) => route.source = ip(&address),
                RouteAttribute::Table(table) => route.table = table,
                RouteAttribute::Priority(priority) => route.priority = Some(priority),
                RouteAttribute::Metrics(metrics) => route.learn(&metrics),
                RouteAttribute::MultiPath(hops) => {
                    route.next_hops = hops.iter().map(NextHop::from_message).collect();
                }
                _ => {}
            }
        }
        Some(route)
    }

    fn learn(&mut self, metrics: &[RouteMetric]) {
        for metric in metrics {
            match metric {
                RouteMetric::Mtu(bytes) => self.mtu = Some(*bytes),
                RouteMetric::Advmss(bytes) => self.advmss = Some(*bytes),
                _ => {}
            }
        }
    }

    pub(super) fn message(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        let header = &mut message.header;
        header.address_family = family(self.destination.ip());
        header.destination_prefix_length = self.destination.prefix();
        header.protocol = self.protocol;
        header.kind = self.kind;
        if self.onlink {
            header.flags |= RouteFlags::Onlink;
        }
        let attributes = &mut message.attributes;
        match u8::try_from(self.table) {
            Ok(table) => header.table = table,
            Err(_) => {
                header.table = RouteHeader::RT_TABLE_UNSPEC;
                attributes.push(RouteAttribute::Table(self.table));
            }
        }
        if !self.is_default() {
            attributes.push(RouteAttribute::Destination(self.destination.network().into()));
        }
        attributes.extend(self.gateway.map(|gateway| gateway_attribute(self.destination.ip(), gateway)));
        attributes.extend(self.link.map(RouteAttribute::Oif));
        attributes.extend(self.source.map(|source| RouteAttribute::PrefSource(source.into())));
        attributes.extend(self.priority.map(RouteAttribute::Priority));
        let mut metrics = Vec::new();
        metrics.extend(self.mtu.map(RouteMetric::Mtu));
        metrics.extend(self.advmss.map(RouteMetric::Advmss));
        if !metrics.is_empty() {
            attributes.push(RouteAttribute::Metrics(metrics));
        }
        if !self.next_hops.is_empty() {
            let hops = self.next_hops.iter().map(|hop| hop.message(self.destination.ip()));
            attributes.push(RouteAttribute::MultiPath(hops.collect()));
        }
        message
    }

    /// What the kernel means by a route without scope differs between versions; this is the choice of `ip`.
    pub(super) fn scope_to_add(&self) -> RouteScope {
        let on_link = self.gateway.is_none() && self.next_hops.iter().all(|hop| hop.gateway.is_none());
        match self.kind {
            RouteType::Local => RouteScope::Host,
            RouteType::Unicast if on_link && self.destination.is_ipv4() => RouteScope::Link,
            _ => RouteScope::Universe,
        }
    }
}

impl NextHop {
    fn from_message(hop: &RouteNextHop) -> Self {
        let gateway = hop.attributes.iter().find_map(|attribute| match attribute {
            RouteAttribute::Gateway(address) => ip(address),
            RouteAttribute::Via(via) => via_ip(via),
            _ => None,
        });
        Self {
            gateway,
            link: hop.interface_index,
            weight: u16::from(hop.hops) + 1,
            onlink: hop.flags.contains(RouteNextHopFlags::Onlink),
        }
    }

    fn message(&self, destination: IpAddr) -> RouteNextHop {
        let mut hop = RouteNextHop::default();
        hop.interface_index = self.link;
        // The kernel counts from 0.
        hop.hops = u8::try_from(self.weight.saturating_sub(1)).unwrap_or(u8::MAX);
        hop.flags.set(RouteNextHopFlags::Onlink, self.onlink);
        hop.attributes.extend(self.gateway.map(|gateway| gateway_attribute(destination, gateway)));
        hop
    }
}

impl RouteFilter {
    pub(super) fn message(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = self.family;
        // Kernels before 4.20 do not filter.
        message.attributes.extend(self.table.map(RouteAttribute::Table));
        message.attributes.extend(self.link.map(RouteAttribute::Oif));
        message
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn gateway_attribute(destination: IpAddr, gateway: IpAddr) -> RouteAttribute {
    match gateway {
        IpAddr::V6(gateway) if destination.is_ipv4() => RouteAttribute::Via(RouteVia::Inet6(gateway)),
        gateway => RouteAttribute::Gateway(gateway.into()),
    }
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some((*ip).into()),
        RouteAddress::Inet6(ip) => Some((*ip).into()),
        _ => None,
    }
}

fn via_ip(via: &RouteVia) -> Option<IpAddr> {
    match via {
        RouteVia::Inet(ip) => Some((*ip).into()),
        RouteVia::Inet6(ip) => Some((*ip).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
