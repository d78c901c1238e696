//! The bridge itself: made by the first container that needs it, and left for good.

use cni_skel::{Error, Result, ResultExt};
use plugin_attach::host::no_router_advertisements;
use plugin_attach::owner::random_mac;
use plugin_support::netlink::{
    BridgeOptions, Handle, Link, LinkChange, LinkDetails, LinkFlags, LinkKind, NewLink,
};
use plugin_support::netns::NetNs;

use crate::config::Settings;

/// Makes sure that there is a bridge as it is wanted, and that it is up. Several may do so at once.
///
/// # Errors
///
/// When there is another kind of link with the name, or the kernel refuses.
pub(crate) fn ensure(host: &NetNs, netlink: &Handle, settings: &Settings) -> Result<Link> {
    let name = settings.bridge.as_str();
    exists_as_wanted(host, netlink, settings).with_context(|| format!("failed to create bridge {name:?}"))
}

/// Verifies that nothing else has the bridge's name.
///
/// # Errors
///
/// When another kind of link has it, or the kernel refuses.
pub(crate) fn could_be(netlink: &Handle, name: &str) -> Result<()> {
    match netlink.link(name) {
        Err(error) if error.is_not_found() => Ok(()),
        link if link.as_ref().is_ok_and(|link| !link.is_kind("bridge")) => Err(is_none(name)),
        link => Ok(link.map(drop)?),
    }
    .with_context(|| format!("failed to create bridge {name:?}"))
}

fn is_none(name: &str) -> Error {
    Error::message(format!("{name:?} already exists but is not a bridge"))
}

fn exists_as_wanted(host: &NetNs, netlink: &Handle, settings: &Settings) -> Result<Link> {
    let name = settings.bridge.as_str();
    let bridge = match netlink.link(name) {
        Err(error) if error.is_not_found() => create(netlink, settings)?,
        found => found?,
    };
    if !bridge.is_kind("bridge") {
        return Err(is_none(name));
    }
    if settings.vlans.is_some() && bridge.details != (LinkDetails::Bridge { vlan_filtering: true }) {
        // Made by someone who needed no VLANs. Without, they would be written down but not kept apart. Whoever uses the
        // bridge already stays in its default VLAN.
        netlink.change_bridge(&bridge, &filtering())?;
    }
    no_router_advertisements(host, name);
    let promisc = settings.promisc && !bridge.flags.contains(LinkFlags::Promisc);
    if promisc || !bridge.is_up() {
        let change = LinkChange::new().up();
        netlink.change(&bridge, &if promisc { change.promisc(true) } else { change })?;
    }
    Ok(bridge)
}

/// Makes the bridge, down, unless someone else was faster.
///
/// It gets a hardware address of its own at once: the kernel's choice would change with the containers, be that of one
/// of them, and be zero when the last one goes.
fn create(netlink: &Handle, settings: &Settings) -> Result<Link> {
    let name = settings.bridge.as_str();
    let options = if settings.vlans.is_some() { filtering() } else { BridgeOptions::default() };
    let bridge = NewLink::new(name, LinkKind::Bridge(options)).mac(random_mac());
    match netlink.create(&settings.mtu.into_iter().fold(bridge, NewLink::mtu)) {
        Err(error) if !error.is_exists() => {
            let reason = match &error {
                plugin_support::Error::Refused { source, explanation: None, .. } => source.to_string(),
                plugin_support::Error::Refused { source, explanation: Some(words), .. } => {
                    format!("{source} ({words})")
                }
                other => other.to_string(),
            };
            Err(Error::message(format!("could not add {name:?}: {reason}")))
        }
        _ => netlink.link(name).with_context(|| format!("could not lookup {name:?}")),
    }
}

/// Lets a bridge keep the hardware address that it has. One that someone else has made may follow its ports: as a gateway
/// it would be lost to the containers that know the old one.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn keep_mac(netlink: &Handle, bridge: &Link) -> Result<()> {
    let Some(mac) = bridge.mac else { return Ok(()) };
    netlink.change(bridge, &LinkChange::new().mac(mac)).context("could not set bridge's mac")
}

fn filtering() -> BridgeOptions {
    BridgeOptions { vlan_filtering: Some(true), ..BridgeOptions::default() }
}
