//! CHECK of the host's side.

use cni_skel::types::result::{Interface, IpConfig};
use cni_skel::{AddResult, Cidr, Error, Result, ResultExt};
use plugin_attach::addresses::network;
use plugin_attach::check::{has_mac, mac_of};
use plugin_attach::host::not_forwarded;
use plugin_support::netlink::{Handle, Link, LinkDetails, LinkFlags};
use plugin_support::netns::NetNs;

use super::Expected;
use crate::config::Settings;
use crate::vlan;

/// Verifies that the bridge is as it is wanted.
pub(super) fn check_bridge(
    netlink: &Handle,
    expected: Option<&Interface>,
    settings: &Settings,
) -> Result<Link> {
    let name = settings.bridge.as_str();
    let not_found = || format!("CNI created bridge {name} in host namespace was not found");
    let expected = expected.ok_or_else(|| Error::message(format!("{} in prevResult", not_found())))?;
    let bridge = netlink.link(name).with_context(not_found)?;
    if !bridge.is_kind("bridge") {
        return Err(Error::message(format!("Interface {name} does not have link type of bridge")));
    }
    if !has_mac(&bridge, expected) && !follows_its_ports(netlink, &bridge)? {
        let (expected, found) = (expected.mac.as_deref().unwrap_or_default(), mac_of(&bridge));
        return Err(Error::message(format!(
            "Bridge interface {name} Mac doesn't match: {expected} (it is {found})"
        )));
    }
    // Someone may want all frames just to look at them.
    if settings.promisc && !bridge.flags.contains(LinkFlags::Promisc) {
        return Err(Error::message(format!(
            "Bridge interface {name} configured Promisc Mode true doesn't match current state: false"
        )));
    }
    if settings.vlans.is_some() && bridge.details != (LinkDetails::Bridge { vlan_filtering: true }) {
        return Err(Error::message(format!(
            "Bridge interface {name} does not keep VLANs apart (vlan_filtering)"
        )));
    }
    if !bridge.is_up() {
        return Err(Error::message(format!("Bridge interface {name} is down")));
    }
    Ok(bridge)
}

/// A bridge that was not given a hardware address, as Go's plugin makes it without isGateway, has the lowest of its ports
/// and so changes it as containers come and go.
fn follows_its_ports(netlink: &Handle, bridge: &Link) -> Result<bool> {
    let ports = netlink.links()?;
    let macs = ports.iter().filter(|port| port.master == Some(bridge.index)).filter_map(|port| port.mac);
    Ok(macs.min() == bridge.mac)
}

/// Verifies that the other end of the container's link is a port of the bridge, as it is wanted.
pub(super) fn check_port(
    netlink: &Handle,
    expected: &Expected<'_>,
    bridge: &Link,
    container: &Link,
    settings: &Settings,
) -> Result<Link> {
    let not_found = |why: &str| {
        Error::message(format!("CNI veth created for bridge {} was not found: {why}", bridge.name))
    };
    let mut found = None;
    for interface in &expected.on_host {
        let link = match netlink.link(&interface.name) {
            // Not ours to complain about, unless nothing else is there.
            Err(error) if error.is_not_found() => continue,
            link => link?,
        };
        let are_ends = link.peer == Some(container.index) && container.peer == Some(link.index);
        if link.is_kind("veth") && are_ends {
            found = Some((*interface, link));
            break;
        }
    }
    let none = || not_found(&format!("no interface of prevResult is the other end of {:?}", container.name));
    let (interface, port) = found.ok_or_else(none)?;
    let name = port.name.as_str();
    if port.master != Some(bridge.index) {
        return Err(not_found(&format!("{name:?} is not connected to it")));
    }
    if !has_mac(&port, interface) {
        let (expected, found) = (interface.mac.as_deref().unwrap_or_default(), mac_of(&port));
        return Err(Error::message(format!(
            "Interface {name} Mac doesn't match: {expected} not found (it is {found})"
        )));
    }
    let of_port = port.port.unwrap_or_default();
    for (what, wanted, found) in [
        ("hairpinMode", settings.hairpin, of_port.hairpin),
        ("portIsolation", settings.isolated, of_port.isolated),
        ("up", true, port.is_up()),
    ] {
        if wanted != found {
            return Err(Error::message(format!(
                "Interface {name} on bridge {}: {what} is {found}, expected {wanted}",
                bridge.name
            )));
        }
    }
    if let Some(vlans) = &settings.vlans {
        let of_port = netlink.vlans(&port)?;
        if let Some(id) = vlan::missing(&of_port, vlans).first() {
            return Err(Error::message(format!(
                "Interface {name} on bridge {}: vlan {id} not found",
                bridge.name
            )));
        }
        let is_foreign = |id: &u16| !vlans.contains(*id);
        let foreign = of_port.iter().map(|vlan| vlan.id).find(is_foreign);
        if let (Some(id), true) = (foreign, vlans.has_any() && !vlans.keep_default) {
            return Err(Error::message(format!(
                "Interface {name} on bridge {}: in vlan {id}, which is not the container's",
                bridge.name
            )));
        }
    }
    Ok(port)
}

/// Verifies that the host is the container's gateway.
pub(super) fn check_gateway(
    host: &NetNs,
    netlink: &Handle,
    bridge: &Link,
    result: &AddResult,
    ips: &[&IpConfig],
    settings: &Settings,
) -> Result<()> {
    if !settings.is_gateway {
        return Ok(());
    }
    let link = match settings.vlan_gateway() {
        None => bridge.clone(),
        Some(name) => {
            let link = netlink.link(&name).with_context(|| format!("Interface name {name} not found"))?;
            let of_result = result.interfaces.iter().find(|interface| interface.name == name);
            if of_result.is_some_and(|expected| !has_mac(&link, expected)) {
                return Err(Error::message(format!(
                    "Interface {name} Mac doesn't match: it is {}",
                    mac_of(&link)
                )));
            }
            link
        }
    };
    let gateways = ips.iter().filter_map(|ip| Cidr::new(ip.gateway?, ip.address.prefix()).ok());
    let gateways: Vec<_> = gateways.collect();
    let found = netlink.addresses(&link)?;
    if let Some(lost) =
        gateways.iter().find(|gateway| !found.iter().any(|found| found.network == network(**gateway)))
    {
        return Err(Error::message(format!("Failed to match addr {lost} on interface {}", link.name)));
    }
    match not_forwarded(host, gateways.iter().map(Cidr::address))?.first() {
        None => Ok(()),
        Some(key) => Err(Error::message(format!("the host does not forward packets: {key} is 0"))),
    }
}
