//! ADD: everything, or nothing.

use cni_skel::types::VersionedResult;
use cni_skel::{AddRequest, AddResult, Cidr, Error, IpConfig, Result, ResultExt, Route};
use ipnetwork::IpNetwork;
use plugin_attach::addresses::{Detection, Inside, Manner};
use plugin_attach::masquerade::{IP_MASQ, Known, Rules};
use plugin_attach::result::{after, dns, interface};
use plugin_attach::veth::{self, Place};
use plugin_attach::{Owner, Undo, host};
use plugin_support::netlink::{Handle, Link, LinkChange, NewAddress};

use crate::Ptp;
use crate::config::Settings;
use crate::plan::Plan;

pub(crate) fn add(plugin: &Ptp, req: &AddRequest<Ptp>) -> Result<AddResult> {
    // Whatever is wrong with the request is told before anything is touched.
    let settings = Settings::new(req.config())?;
    let ipam = req.ipam().context("no plugin name provided")?;
    let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
    let path = req.netns().path();
    let netns = plugin.kernel.netns(path).with_context(|| format!("failed to open netns {path:?}"))?;
    let host = plugin.kernel.current()?;
    let (host_netlink, netlink) = (host.netlink()?, netns.netlink()?);
    let place =
        Place { host: &host, host_netlink: &host_netlink, container: &netns, container_netlink: &netlink };

    // Before the IPAM plugin is asked: what a failed ADD gives back would be the addresses of the ADD before it.
    veth::assert_free(place, &owner.ifname)?;
    // Dropped last: the addresses are given back when nobody has them any more.
    let lease = ipam.add()?;
    let mut undo = Undo::default();
    let ips: Vec<_> = lease.ips().collect();
    if ips.is_empty() {
        return Err(Error::message("IPAM plugin returned missing IP config"));
    }
    let plan = Plan::new(&ips)?;

    let port = veth::create(place, &owner.ifname, None, settings.mtu)?;
    undo.by("delete the container's link", || veth::delete(&netlink, &owner.ifname));
    let alias = veth::alias(&owner, settings.masquerade.map(|_| IP_MASQ));
    let port = set_up_host(place, &port, &alias, &plan)?;
    let link = netlink.link(&owner.ifname).with_context(|| format!("failed to lookup {:?}", owner.ifname))?;
    let inside = Inside { netns: &netns, netlink: &netlink, link: &link };
    set_up_container(inside, &ips, lease.routes(), &plan)?;

    if let Some(settings) = settings.masquerade {
        let rules = Rules { tools: &*plugin.tools, owner: &owner, settings };
        let addresses: Vec<_> = ips.iter().map(|ip| ip.address).collect();
        rules.add(&addresses)?;
        let addresses = Some(addresses.iter().map(Cidr::address).collect());
        let known = Known { addresses, ..Known::default() };
        undo.by("remove the masquerade rules", move || rules.remove(&known));
    }

    let mut result = AddResult::default();
    result.routes = lease.routes().to_vec();
    result.dns = dns(&req.network_config().dns, lease.dns());
    result.add_interface(interface(&port, None));
    let eth0 = result.add_interface(interface(&link, Some(req.netns().to_string())));
    result.add_ips_on(eth0, ips);
    // What an earlier plugin of the chain has made stays in the result.
    let result = after(req.result(), result);
    // What cannot be told must not be made.
    VersionedResult::new(result.clone(), req.version())?;
    // Last, as it cannot be undone: others may rely on it by then.
    host::enable_forwarding(&host, plan.addresses.iter().copied())
        .context("could not enable IP forwarding")?;
    undo.keep();
    lease.commit();
    Ok(result)
}

/// Makes the host's end the container's gateway.
fn set_up_host(place: Place<'_>, name: &str, alias: &str, plan: &Plan) -> Result<Link> {
    let netlink = place.host_netlink;
    let port = netlink.link(name).with_context(|| format!("failed to lookup {name:?}"))?;
    host::no_router_advertisements(place.host, name);
    netlink
        .change(&port, &LinkChange::new().alias(alias).up())
        .with_context(|| format!("failed to set {name:?} up"))?;
    for (gateway, _) in &plan.gateways {
        let address = NewAddress::new(IpNetwork::from(*gateway));
        // Nobody else is on the link; the container may need it at once.
        let address = if gateway.is_ipv6() { address.no_dad() } else { address };
        netlink
            .add_address(&port, &address)
            .with_context(|| format!("failed to add IP addr ({gateway}) to veth"))?;
    }
    for route in plan.to_container(&port) {
        netlink.add_route(&route).context("failed to add route on host")?;
    }
    Ok(port)
}

/// Gives the container's end its addresses and routes.
fn set_up_container(inside: Inside<'_>, ips: &[IpConfig], routes: &[Route], plan: &Plan) -> Result<()> {
    let Inside { netlink, link, .. } = inside;
    inside.give_addresses(ips, Manner { detection: Detection::Off, ..Manner::default() })?;
    // Behind those of the container's other interfaces, which may have the same gateway.
    let add = |route| netlink.append_route(&route).context("failed to add route");
    plan.to_gateways(link).try_for_each(add)?;
    // While the kernel's routes to the networks are there, as they may name other routers than the gateway.
    inside.add_routes(ips, routes)?;
    for route in plan.by_gateways(link) {
        delete_route_of_kernel(netlink, link, route.destination)?;
        add(route)?;
    }
    Ok(())
}

fn delete_route_of_kernel(netlink: &Handle, link: &Link, subnet: IpNetwork) -> Result<()> {
    match netlink.delete_route(&plugin_support::netlink::Route::to(subnet).dev(link)) {
        Err(error) if error.is_not_found() => Ok(()),
        deleted => Ok(deleted?),
    }
}
