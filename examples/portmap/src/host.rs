//! What the host needs beside rules: a route for connections from 127.0.0.1, and no memory of old UDP flows.

use std::net::{IpAddr, Ipv4Addr};

use plugin_support::Result;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Link, Route, RouteFilter};
use plugin_support::netns::NetNs;

use crate::firewall::Ports;

/// Lets packets from 127.0.0.1 leave by the link that leads to a container; otherwise they would be dropped as martians.
/// Without such a link, nothing leads to the container either.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn allow_localhost(kernel: &Kernel, container: Ipv4Addr) -> Result<()> {
    let host = kernel.current()?;
    match link_to(&host, container)? {
        Some(link) => host.sysctl().write(&route_localnet(&link.name), "1"),
        None => Ok(()),
    }
}

/// Verifies that [`allow_localhost`] was there, and nobody has undone it.
///
/// # Errors
///
/// When somebody has, or the kernel refuses.
pub(crate) fn check_localhost(kernel: &Kernel, container: Ipv4Addr) -> cni_skel::Result<()> {
    let host = kernel.current()?;
    let Some(link) = link_to(&host, container)? else { return Ok(()) };
    let sysctl = host.sysctl();
    // The one for all links counts as well.
    for name in [link.name.as_str(), "all"] {
        if sysctl.read_if_present(&route_localnet(name))?.is_some_and(|value| value != "0") {
            return Ok(());
        }
    }
    let key = route_localnet(&link.name);
    Err(cni_skel::Error::message(format!(
        "{container} is not reached from 127.0.0.1: {key} is 0, expected 1"
    )))
}

fn route_localnet(link: &str) -> String {
    format!("net/ipv4/conf/{link}/route_localnet")
}

/// Forgets UDP flows to these host ports. Without, a client that never stops sending would be sent on where the port led
/// before, or to the host.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn forget_udp(kernel: &Kernel, ports: &[Ports]) -> Result<()> {
    let mut wanted = ports.iter().filter(|(_, ports)| !ports.is_empty()).peekable();
    if wanted.peek().is_none() {
        return Ok(());
    }
    let conntrack = kernel.current()?.conntrack()?;
    for (family, ports) in wanted {
        conntrack.forget_udp(*family, ports)?;
    }
    Ok(())
}

/// The link that leads to an address: that of the most specific route.
fn link_to(host: &NetNs, address: Ipv4Addr) -> Result<Option<Link>> {
    let netlink = host.netlink()?;
    let routes = netlink.routes(&RouteFilter::v4())?;
    let leads = |route: &&Route| route.destination.contains(IpAddr::V4(address));
    let mut best = routes.iter().filter(leads).filter(|route| route.link.is_some()).collect::<Vec<_>>();
    best.sort_by_key(|route| {
        (std::cmp::Reverse(route.destination.prefix()), route.priority.unwrap_or_default())
    });
    best.first().and_then(|route| route.link).map(|index| netlink.link_by_index(index)).transpose()
}

#[cfg(test)]
mod tests {
    use plugin_support::netlink::{LinkKind, NewAddress, NewLink, Peer};
    use plugin_support::testing::FakeKernel;

    use super::*;

    #[test]
    fn the_most_specific_route_leads_to_the_container() {
        let fake = FakeKernel::new();
        let netlink = fake.host().netlink().unwrap();
        for (name, address) in [("eth0", "192.0.2.1/24"), ("br0", "10.2.0.1/16")] {
            netlink.create(&NewLink::new(name, LinkKind::Bridge(Default::default())).up()).unwrap();
            let address: ipnetwork::IpNetwork = address.parse().unwrap();
            netlink.add_address(&netlink.link(name).unwrap(), &NewAddress::new(address)).unwrap();
        }
        netlink.create(&NewLink::new("veth1", LinkKind::Veth(Peer::new("peer1"))).up()).unwrap();
        netlink.set_up(&netlink.link("peer1").unwrap()).unwrap();
        let to = |network: &str| Route::to(network.parse::<ipnetwork::IpNetwork>().unwrap());
        netlink.add_route(&to("0.0.0.0/0").dev(&netlink.link("eth0").unwrap())).unwrap();
        netlink.add_route(&to("10.2.0.9/32").dev(&netlink.link("veth1").unwrap())).unwrap();

        let leads = |address: &str| link_to(&fake.host(), address.parse().unwrap()).unwrap().unwrap().name;
        assert_eq!(["10.2.0.9", "10.2.0.8", "198.51.100.1"].map(leads), ["veth1", "br0", "eth0"]);
    }

    #[test]
    fn where_nothing_leads_nothing_is_changed() {
        let fake = FakeKernel::new();
        allow_localhost(&Kernel::from(&fake), Ipv4Addr::new(10, 2, 0, 2)).unwrap();
        assert_eq!(fake.log(), [""; 0]);
    }
}
