//! CHECK: everything that ADD made is as it was, on either end.

use cni_skel::types::result::Interface;
use cni_skel::{CheckRequest, Error, IpConfig, Result, ResultExt};
use ipnetwork::IpNetwork;
use plugin_attach::check::{self as attached, Expected, Wanted, has_mac, mac_of};
use plugin_attach::masquerade::Rules;
use plugin_attach::{Owner, host};
use plugin_support::netlink::{Handle, Link, Route, RouteFilter};

use crate::Ptp;
use crate::config::Settings;
use crate::plan::Plan;

pub(crate) fn check(plugin: &Ptp, req: &CheckRequest<Ptp>) -> Result<()> {
    let settings = Settings::new(req.config())?;
    let path = req.netns().path();
    let netns = plugin.kernel.netns(path).with_context(|| format!("failed to open netns {path:?}"))?;
    req.ipam().context("no plugin name provided")?.check()?;
    let result = req.prev_result();
    let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
    let expected = Expected::find(&plugin.kernel, result, &owner.ifname, req.netns(), &netns)?;
    let ips: Vec<IpConfig> = expected.ips.iter().map(|ip| (*ip).clone()).collect();
    let plan = Plan::new(&ips)?;

    let (netlink, host) = (netns.netlink()?, plugin.kernel.current()?);
    let host_netlink = host.netlink()?;
    let lost = "Container Interface name in prevResult:";
    let wanted = Wanted { kind: "veth", lost, up: true, mtu: settings.mtu };
    let link = attached::link(&netlink, expected.interface, wanted)?;
    let on_host: Vec<_> = result.host_interfaces().map(|index| &result.interfaces[index]).collect();
    let port = check_port(&host_netlink, &on_host, &link)?;

    attached::addresses(&netlink, &link, &expected.ips)?;
    has_routes(&netlink, plan.to_gateways(&link).chain(plan.by_gateways(&link)))?;
    attached::routes(&netlink, &result.routes)?;
    let gateways = host_netlink.addresses(&port)?;
    for (gateway, _) in &plan.gateways {
        let gateway = IpNetwork::from(*gateway);
        if !gateways.iter().any(|found| found.network == gateway) {
            return Err(Error::message(format!("Failed to match addr {gateway} on interface {}", port.name)));
        }
    }
    has_routes(&host_netlink, plan.to_container(&port))?;
    if let Some(key) = host::not_forwarded(&host, plan.addresses.iter().copied())?.first() {
        return Err(Error::message(format!("the host does not forward packets: {key} is 0")));
    }
    if let Some(settings) = settings.masquerade {
        let addresses: Vec<_> = ips.iter().map(|ip| ip.address).collect();
        Rules { tools: &*plugin.tools, owner: &owner, settings }.check(&addresses)?;
    }
    Ok(())
}

/// Verifies that the other end is on the host, and up.
fn check_port(netlink: &Handle, on_host: &[&Interface], container: &Link) -> Result<Link> {
    for interface in on_host {
        let port = match netlink.link(&interface.name) {
            // Not ours to complain about, unless nothing else is there.
            Err(error) if error.is_not_found() => continue,
            link => link?,
        };
        let are_ends = port.peer == Some(container.index) && container.peer == Some(port.index);
        if !port.is_kind("veth") || !are_ends {
            continue;
        }
        if !has_mac(&port, interface) {
            let (name, expected) = (&port.name, interface.mac.as_deref().unwrap_or_default());
            return Err(Error::message(format!(
                "Interface {name} Mac doesn't match: {expected} not found (it is {})",
                mac_of(&port)
            )));
        }
        if !port.is_up() {
            return Err(Error::message(format!("host interface {} is down", port.name)));
        }
        return Ok(port);
    }
    Err(Error::message(format!(
        "no interface of prevResult is the other end of {:?} on the host",
        container.name
    )))
}

/// Verifies that routes by a link are there.
fn has_routes(netlink: &Handle, wanted: impl Iterator<Item = Route>) -> Result<()> {
    for route in wanted {
        let one = |link, gateway| (link, gateway) == (route.link, route.gateway);
        // The container's other interfaces may have the same gateway.
        let any = |found: &Route| found.next_hops.iter().any(|hop| one(Some(hop.link), hop.gateway));
        let is = |found: &Route| {
            found.destination == route.destination && (one(found.link, found.gateway) || any(found))
        };
        if !netlink.routes(&RouteFilter::family_of(route.destination))?.iter().any(is) {
            return Err(Error::message(format!("Expected Route {route} not found in routing table")));
        }
    }
    Ok(())
}
