//! VLANs of a bridge: which ones pass a port, and the host's own link into one.

use cni_skel::{Result, ResultExt};
use plugin_attach::host::no_router_advertisements;
use plugin_attach::owner::{random_mac, random_veth};
use plugin_attach::veth::other_end;
use plugin_support::netlink::{BridgeVlan, Handle, Link, LinkChange, LinkKind, NewLink, Peer};
use plugin_support::netns::NetNs;

use crate::config::Vlans;

/// Lets a port take part in its VLANs, and in no other.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn admit(netlink: &Handle, port: &Link, vlans: &Vlans) -> Result<()> {
    if vlans.has_any() && !vlans.keep_default {
        let context = || format!("failed to remove default vlan on interface {:?}", port.name);
        let of_port = netlink.vlans(port).with_context(context)?;
        for vlan in of_port.iter().filter(|vlan| !vlans.contains(vlan.id)) {
            match netlink.delete_vlan(port, vlan.id) {
                Err(error) if error.is_not_found() => {}
                deleted => deleted.with_context(context)?,
            }
        }
    }
    let context = || format!("failed to setup vlan tag on interface {:?}", port.name);
    if let Some(id) = vlans.native {
        netlink.add_vlan(port, BridgeVlan::native(id)).with_context(context)?;
    }
    for ids in &vlans.tagged {
        netlink.add_tagged_vlans(port, ids.clone()).with_context(context)?;
    }
    Ok(())
}

/// The VLANs that a port must take part in, and lacks.
pub(crate) fn missing(of_port: &[BridgeVlan], vlans: &Vlans) -> Vec<u16> {
    let native = vlans.native.map(BridgeVlan::native);
    let tagged = vlans.tagged.iter().cloned().flatten().map(BridgeVlan::tagged);
    native.into_iter().chain(tagged).filter(|vlan| !of_port.contains(vlan)).map(|vlan| vlan.id).collect()
}

/// Makes sure that the host takes part in a VLAN by a link of this name, a veth pair whose other end is on the bridge, and
/// that it is up. Several may do so at once. It is left for good, like the bridge.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn ensure_gateway(
    host: &NetNs,
    netlink: &Handle,
    bridge: &Link,
    name: &str,
    vlans: &Vlans,
) -> Result<Link> {
    let link = match netlink.link(name) {
        Err(error) if error.is_not_found() => create(netlink, bridge, name)?,
        found => found?,
    };
    // Whoever has made it may not have come further yet, or never have.
    if let Some(port) = other_end(&link, netlink)?.filter(|port| port.master != Some(bridge.index)) {
        no_router_advertisements(host, &port.name);
        netlink.change(&port, &LinkChange::new().master(bridge).up())?;
        let access = Vlans { native: vlans.access, tagged: Vec::new(), ..vlans.clone() };
        admit(netlink, &port, &access)?;
    }
    if !link.is_up() {
        no_router_advertisements(host, name);
        netlink.set_up(&link)?;
    }
    Ok(link)
}

fn create(netlink: &Handle, bridge: &Link, name: &str) -> Result<Link> {
    let peer = Peer::new(random_veth()).mtu(bridge.mtu).mac(random_mac());
    let link = NewLink::new(name, LinkKind::Veth(peer)).mtu(bridge.mtu).mac(random_mac());
    match netlink.create(&link) {
        // Someone else was faster. That a random name is taken as well shows when there is none by this one.
        Err(error) if !error.is_exists() => Err(error.into()),
        _ => Ok(netlink.link(name)?),
    }
}
