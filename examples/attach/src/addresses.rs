//! Addresses and routes of a link: those that an IPAM plugin has said, and what the kernel must know before.

use std::net::IpAddr;
use std::time::Duration;

use cni_skel::{Cidr, Error, IpConfig, Result, ResultExt, Route};
use ipnetwork::IpNetwork;
use plugin_support::netlink::{self, Address, Handle, Link, NewAddress, RouteScope};
use plugin_support::netns::NetNs;
use plugin_support::sysctl::Sysctl;

use crate::warn;

/// How long duplicate address detection may take.
const DETECTION: Duration = Duration::from_secs(5);

/// What a link does beside having its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Whether neighbours are told of IPv4 addresses when the link comes up.
    pub arp_notify: bool,
    /// Whether neighbours are told of IPv6 addresses when the link comes up.
    pub ndisc_notify: bool,
    /// Whether somebody else may have its IPv6 addresses.
    pub detection: Detection,
}

/// What becomes of duplicate address detection, which IPv6 begins for each address
/// ([RFC 4862, section 5.4](https://www.rfc-editor.org/rfc/rfc4862#section-5.4)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detection {
    /// It is as the namespace has it. Nobody waits for it.
    Later,
    /// It must be on, and must tell own packets that come back from those of others.
    MustBeOn,
    /// The link does without: nobody else can have the addresses.
    Off,
    /// It is as the namespace has it, and is waited for.
    #[default]
    Waited,
}

/// A container's link, and what it is seen by.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// The container's namespace.
    pub netns: &'a NetNs,
    /// The links of that namespace.
    pub netlink: &'a Handle,
    /// The link.
    pub link: &'a Link,
}

impl Inside<'_> {
    /// Gives the link its addresses and routes, and sets it up.
    ///
    /// # Errors
    ///
    /// When the kernel refuses, or another node has one of the addresses.
    pub fn configure(&self, ips: &[IpConfig], routes: &[Route], manner: Manner) -> Result<()> {
        self.give_addresses(ips, manner)?;
        self.add_routes(ips, routes)
    }

    /// Gives the link its addresses and sets it up.
    ///
    /// # Errors
    ///
    /// When the kernel refuses, or another node has one of the addresses.
    pub fn give_addresses(&self, ips: &[IpConfig], manner: Manner) -> Result<()> {
        let Self { netns, netlink, link } = self;
        let name = link.name.as_str();
        let v6 = ips.iter().any(|ip| ip.address.is_ipv6());
        // One thread for all of them.
        netns.run(|| prepare(&netns.sysctl(), name, v6, manner))??;
        // Before the link is up, so that it announces them when it comes up.
        for ip in ips {
            netlink
                .add_address(link, &NewAddress::new(network(ip.address)))
                .with_context(|| format!("failed to add IP addr {} to {name:?}", ip.address))?;
        }
        netlink.set_up(link).with_context(|| format!("failed to set {name:?} UP"))?;
        let waits = manner.detection != Detection::Later;
        if waits && v6 && gateway(ips, false).is_some() { self.wait_for_detection() } else { Ok(()) }
    }

    /// Adds routes through the link. One without a router goes by the first gateway of its family.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn add_routes(&self, ips: &[IpConfig], routes: &[Route]) -> Result<()> {
        let name = self.link.name.as_str();
        for route in routes {
            let via = route.gw.or_else(|| gateway(ips, route.dst.is_ipv4()));
            self.netlink.add_route_ecmp(&kernel_route(route, via).dev(self.link)).with_context(|| {
                let via = via.map_or_else(|| "<nil>".to_owned(), |via| via.to_string());
                format!("failed to add route '{} via {via} dev {name}'", route.dst)
            })?;
        }
        Ok(())
    }

    /// Until it is over, the addresses cannot be used, and a route by a gateway may not work.
    fn wait_for_detection(&self) -> Result<()> {
        let Self { netns, netlink, link } = self;
        let settled = |addresses: &[Address]| !addresses.iter().any(is_in_detection);
        let mut addresses = netlink.addresses(link)?;
        if !settled(&addresses) {
            addresses = netns.wait_for_addresses(link, DETECTION, settled)?;
        }
        match addresses.iter().find(|address| address.is_duplicate()) {
            None => Ok(()),
            Some(address) => Err(Error::message(format!(
                "another node has address {} of {:?} already",
                address.network, link.name
            ))),
        }
    }
}

/// The first gateway of a family.
fn gateway(ips: &[IpConfig], v4: bool) -> Option<IpAddr> {
    ips.iter().filter_map(|ip| ip.gateway).find(|gateway| gateway.is_ipv4() == v4)
}

/// What goes before the addresses. What is not there, or may not be written, matters only if an address then fails.
fn prepare(sysctl: &Sysctl<'_>, name: &str, v6: bool, manner: Manner) -> Result<()> {
    let set = |key: String, value: &str| {
        if let Err(error) = sysctl.write_if_present(&key, value) {
            warn(&error.to_string());
        }
    };
    let ipv6 = |link: &str, key: &str| format!("net/ipv6/conf/{link}/{key}");
    if manner.arp_notify {
        set(format!("net/ipv4/conf/{name}/arp_notify"), "1");
    }
    if !v6 {
        return Ok(());
    }
    if manner.ndisc_notify {
        set(ipv6(name, "ndisc_notify"), "1");
    }
    match manner.detection {
        Detection::MustBeOn => {
            // A nonce tells own packets from those of others, also where a bridge sends them back.
            set(ipv6(name, "enhanced_dad"), "1");
            set(ipv6(name, "accept_dad"), "1");
        }
        Detection::Off => set(ipv6(name, "accept_dad"), "0"),
        Detection::Later | Detection::Waited => {}
    }
    for link in ["lo", name] {
        let key = ipv6(link, "disable_ipv6");
        if sysctl.read_if_present(&key)?.is_some_and(|value| value != "0") {
            sysctl
                .write(&key, "0")
                .with_context(|| format!("failed to enable IPv6 for interface {link:?} ({key})"))?;
        }
    }
    set(ipv6(name, "keep_addr_on_down"), "1");
    Ok(())
}

/// The address that the kernel makes for the link by itself is not waited for.
fn is_in_detection(address: &Address) -> bool {
    let own = matches!(address.network.ip(), IpAddr::V6(ip) if ip.is_unicast_link_local());
    address.is_tentative() && !address.is_duplicate() && !own
}

/// A route of a result as the kernel takes it; without a scope it leads everywhere, as Go's library has it.
pub fn kernel_route(route: &Route, via: Option<IpAddr>) -> netlink::Route {
    let number = |number: Option<u64>| number.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let scope = route.scope.map_or(0, |scope| u8::try_from(scope).unwrap_or(u8::MAX));
    let mut wanted = netlink::Route::to(network(route.dst)).scope(RouteScope::from(scope));
    (wanted.gateway, wanted.mtu, wanted.advmss, wanted.priority) =
        (via, number(route.mtu), number(route.advmss), number(route.priority));
    // Table 0 means none in particular.
    wanted.table = number(route.table).filter(|table| *table != 0).unwrap_or(netlink::MAIN_TABLE);
    wanted
}

/// The same address in the kernel's type.
pub fn network(address: Cidr) -> IpNetwork {
    IpNetwork::new(address.address(), address.prefix()).unwrap_or_else(|_| address.address().into())
}
