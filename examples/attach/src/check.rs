//! CHECK of the container's side: the link, its addresses and its routes.

use cni_skel::types::result::{Interface, IpConfig};
use cni_skel::{AddResult, Error, Netns, Result, ResultExt, Route};
use ipnetwork::IpNetwork;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{self, Handle, Link, RouteFilter, RouteProtocol};
use plugin_support::netns::NetNs;

use crate::addresses::{kernel_route, network};

/// The kernel's table of its own addresses.
const LOCAL_TABLE: u32 = 255;

/// What ADD said of the container's interface.
#[derive(Clone, Debug)]
pub struct Expected<'a> {
    /// The interface.
    pub interface: &'a Interface,
    /// Its addresses, and those that nobody is said to have.
    pub ips: Vec<&'a IpConfig>,
}

/// What a container's link must be.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Its kind, in the kernel's words.
    pub kind: &'a str,
    /// What an error about a link that is gone begins with, before the name.
    pub lost: &'a str,
    /// Whether it must be up.
    pub up: bool,
    /// Its MTU, if the configuration says one. What counts is what the result says of it, as a later plugin of the chain
    /// may have changed it by right; results before 1.1.0 do not say.
    pub mtu: Option<u32>,
}

impl<'a> Expected<'a> {
    /// Looks for the interface of a name in a container.
    ///
    /// # Errors
    ///
    /// When the result has none there.
    pub fn find(
        kernel: &Kernel,
        result: &'a AddResult,
        ifname: &str,
        path: &Netns,
        netns: &NetNs,
    ) -> Result<Self> {
        // One namespace may have several paths.
        let is_there = |sandbox: &str| {
            sandbox == path.to_string() || kernel.netns(sandbox).is_ok_and(|other| other == *netns)
        };
        let is_wanted = |interface: &Interface| {
            interface.name == ifname && interface.sandbox.as_deref().is_some_and(is_there)
        };
        let Some(index) = result.interfaces.iter().position(is_wanted) else {
            let named = result.interfaces.iter().find(|interface| interface.name == ifname);
            let sandbox = named.and_then(|interface| interface.sandbox.as_deref()).unwrap_or_default();
            return Err(Error::message(format!(
                "Sandbox in prevResult {sandbox} doesn't match configured netns: {path} ({ifname:?})"
            )));
        };
        let own = |ip: &&IpConfig| ip.interface.is_none_or(|owner| owner == index);
        Ok(Self { interface: &result.interfaces[index], ips: result.ips.iter().filter(own).collect() })
    }
}

/// Verifies that the container's link is as it was made.
///
/// # Errors
///
/// When it is not.
pub fn link(netlink: &Handle, expected: &Interface, wanted: Wanted<'_>) -> Result<Link> {
    let name = expected.name.as_str();
    let link = netlink.link(name).with_context(|| format!("{} {name} not found", wanted.lost))?;
    if !link.is_kind(wanted.kind) {
        return Err(Error::message(format!("Error: Container interface {name} not of type {}", wanted.kind)));
    }
    if !has_mac(&link, expected) {
        let (expected, found) = (expected.mac.as_deref().unwrap_or_default(), mac_of(&link));
        return Err(Error::message(format!(
            "Interface {name} Mac {expected} doesn't match container Mac: {found}"
        )));
    }
    if wanted.up && !link.is_up() {
        return Err(Error::message(format!("container interface {name} is down")));
    }
    match wanted.mtu.and(expected.mtu) {
        Some(mtu) if mtu != u64::from(link.mtu) => {
            Err(Error::message(format!("container interface {name} has mtu {}, expected {mtu}", link.mtu)))
        }
        _ => Ok(link),
    }
}

/// Verifies that the link has its addresses, and that there are routes to their networks by it.
///
/// # Errors
///
/// When one is missing.
pub fn addresses(netlink: &Handle, link: &Link, expected: &[&IpConfig]) -> Result<()> {
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
        // A later plugin of the chain may have moved it to a table for packets from the address.
        let is_there = |route: &netlink::Route| route.destination == subnet && route.table != LOCAL_TABLE;
        let every = RouteFilter::family_of(address).dev(link).every_table();
        if !alone && !netlink.routes(&every)?.iter().any(is_there) {
            return Err(Error::message(format!(
                "Failed to find route to {subnet} of interface {}",
                link.name
            )));
        }
    }
    Ok(())
}

/// Verifies that routes are there. What a route does not say may be anything.
///
/// # Errors
///
/// When one is missing.
pub fn routes(netlink: &Handle, expected: &[Route]) -> Result<()> {
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

/// Whether a link has the hardware address that a result says; one that says none is right.
pub fn has_mac(link: &Link, expected: &Interface) -> bool {
    let Some(expected) = expected.mac.as_deref() else { return true };
    link.mac.is_some_and(|mac| mac.to_string().eq_ignore_ascii_case(expected))
}

/// The hardware address of a link, for people.
pub fn mac_of(link: &Link) -> String {
    link.mac.map_or_else(|| "none".to_owned(), |mac| mac.to_string())
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
