//! CHECK of the container's side.

use cni_skel::types::result::{Interface, IpConfig};
use cni_skel::{Error, Result, ResultExt, Route};
use ipnetwork::IpNetwork;
use plugin_support::netlink::{self, Handle, Link, RouteFilter, RouteProtocol};

use super::{has_mac, mac_of};
use crate::config::Settings;
use crate::container::{kernel_route, network};

/// Verifies that the container's link is as it was made.
pub(super) fn check_link(netlink: &Handle, expected: &Interface, settings: &Settings) -> Result<Link> {
    let name = expected.name.as_str();
    let link = netlink.link(name).with_context(|| format!("Interface name {name} not found"))?;
    if !link.is_kind("veth") {
        return Err(Error::message(format!("Error: Container interface {name} not of type veth")));
    }
    if !has_mac(&link, expected) {
        let (expected, found) = (expected.mac.as_deref().unwrap_or_default(), mac_of(&link));
        return Err(Error::message(format!(
            "Interface {name} Mac {expected} doesn't match container Mac: {found}"
        )));
    }
    if settings.link_up && !link.is_up() {
        return Err(Error::message(format!("container interface {name} is down")));
    }
    if settings.mtu.is_some_and(|mtu| mtu != link.mtu) {
        return Err(Error::message(format!(
            "container interface {name} has mtu {}, expected {}",
            link.mtu,
            settings.mtu.unwrap_or_default()
        )));
    }
    Ok(link)
}

/// Verifies that the link has its addresses, and that their networks are behind it.
pub(super) fn check_addresses(netlink: &Handle, link: &Link, expected: &[&IpConfig]) -> Result<()> {
    let found = netlink.addresses(link)?;
    for ip in expected {
        let address = network(ip.address);
        if !found.iter().any(|found| found.network == address) {
            return Err(Error::message(format!(
                "Failed to match addr {} on interface {}",
                ip.address, link.name
            )));
        }
        // The kernel makes no route to a network of one IPv4 address.
        let alone = address.is_ipv4() && address.prefix() == 32;
        let subnet = IpNetwork::new(address.network(), address.prefix()).unwrap_or(address);
        let is_there = |route: &netlink::Route| route.destination == subnet;
        if !alone && !netlink.routes(&RouteFilter::family_of(address).dev(link))?.iter().any(is_there) {
            return Err(Error::message(format!(
                "Failed to find route to {subnet} of interface {}",
                link.name
            )));
        }
    }
    Ok(())
}

/// Verifies that the routes are there. What a route does not say may be anything.
pub(super) fn check_routes(netlink: &Handle, expected: &[Route]) -> Result<()> {
    for route in expected {
        let wanted = kernel_route(route, route.gw);
        let table = RouteFilter::family_of(wanted.destination).table(wanted.table);
        if !netlink.routes(&table)?.iter().any(|found| is(found, &wanted, route)) {
            let via = route.gw.map_or_else(|| "<nil>".to_owned(), |via| via.to_string());
            let route = format!("{{Dst:{} GW:{via}}}", route.dst);
            return Err(Error::message(format!("Expected Route {route} not found in routing table")));
        }
    }
    Ok(())
}

/// Whether a route of the kernel is the one of the result.
fn is(found: &netlink::Route, wanted: &netlink::Route, route: &Route) -> bool {
    let same = |found: Option<u32>, wanted: Option<u32>| wanted.is_none() || found == wanted;
    let subnet = IpNetwork::new(wanted.destination.network(), wanted.destination.prefix());
    let via = |gateway| {
        wanted.gateway.is_none()
            || gateway == wanted.gateway
            || found.next_hops.iter().any(|hop| hop.gateway == wanted.gateway)
    };
    subnet.is_ok_and(|subnet| found.destination == subnet)
        // A network of its own address is not what the result means.
        && (found.protocol != RouteProtocol::Kernel || route.gw.is_none())
        && via(found.gateway)
        && same(found.mtu, wanted.mtu)
        && same(found.advmss, wanted.advmss)
        && same(found.priority, wanted.priority)
        && (route.scope.is_none() || wanted.destination.is_ipv6() || found.scope == wanted.scope)
}
