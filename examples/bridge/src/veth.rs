//! The pair of links between the container and the bridge.

use std::time::Duration;

use cni_skel::{Error, MacAddr, Result, ResultExt};
use plugin_support::netlink::{Handle, Link, LinkChange, LinkKind, NewLink, OperState, Peer, PortOptions};
use plugin_support::netns::NetNs;

use crate::bridge::no_router_advertisements;
use crate::config::Settings;
use crate::names::{Owner, key_of, random_mac, random_veth};
use crate::vlan;

/// How many names are tried for the host's end, until one is free.
const NAMES: usize = 10;
/// How long the port may take to pass traffic.
const PORT_UP: Duration = Duration::from_millis(2550);

/// Where a pair is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) host: &'a NetNs,
    pub(crate) host_netlink: &'a Handle,
    pub(crate) container: &'a NetNs,
    pub(crate) container_netlink: &'a Handle,
}

/// Makes a pair, both ends down: `ifname` in the container, and a name of nobody on the host. Gives the latter.
///
/// # Errors
///
/// When the container has such a link already, or the kernel refuses; nothing is made then.
pub(crate) fn create(
    place: Place<'_>,
    ifname: &str,
    mac: Option<MacAddr>,
    settings: &Settings,
) -> Result<String> {
    for _ in 0..NAMES {
        let name = random_veth();
        // With an address that was asked for, nobody on the host gives the link another one behind our back.
        let peer = Peer::new(&name).netns(place.host).mac(random_mac());
        let peer = settings.mtu.into_iter().fold(peer, Peer::mtu);
        let link = NewLink::new(ifname, LinkKind::Veth(peer));
        let link = settings.mtu.into_iter().fold(link, NewLink::mtu);
        let link = mac.into_iter().fold(link, |link, mac| link.mac(mac.bytes()));
        match place.container_netlink.create(&link) {
            Ok(()) => return Ok(name),
            Err(error) if error.is_exists() => {}
            Err(error) => return Err(error).context("failed to make veth pair"),
        }
        if place.container_netlink.link(ifname).is_ok() {
            let netns = place.container.path();
            return Err(Error::message(format!(
                "container veth name ({ifname:?}) peer provided ({name:?}) already exists: {ifname:?} is in netns {netns:?}"
            )));
        }
    }
    Err(Error::message(format!("failed to find a unique veth name: {NAMES} random ones were all taken")))
}

/// Makes the host's end a port of the bridge, as it is wanted, and sets it up.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn attach(
    place: Place<'_>,
    name: &str,
    bridge: &Link,
    owner: &Owner,
    settings: &Settings,
) -> Result<Link> {
    let netlink = place.host_netlink;
    let port = netlink.link(name).with_context(|| format!("failed to lookup {name:?}"))?;
    no_router_advertisements(place.host, name);
    let change = LinkChange::new().alias(&owner.label()).master(bridge).up();
    netlink
        .change(&port, &change)
        .with_context(|| format!("failed to connect {name:?} to bridge {}", bridge.name))?;
    let wanted = |on: bool| on.then_some(true);
    let options = PortOptions {
        hairpin: wanted(settings.hairpin),
        isolated: wanted(settings.isolated),
        ..PortOptions::default()
    };
    if options != PortOptions::default() {
        let what = if settings.hairpin { "hairpin mode" } else { "isolation" };
        netlink.change_port(&port, &options).with_context(|| format!("failed to setup {what} for {name}"))?;
    }
    if let Some(vlans) = &settings.vlans {
        vlan::admit(netlink, &port, vlans)?;
    }
    Ok(port)
}

/// The host's end once it passes traffic, as it is then: others may have changed it.
///
/// # Errors
///
/// When it does not, or is gone.
pub(crate) fn settled(host: &NetNs, netlink: &Handle, index: u32) -> Result<Link> {
    let is_up = |link: &Link| link.oper_state == OperState::Up;
    let mut port = netlink.link_by_index(index)?;
    if !is_up(&port) {
        port = host.wait_for_link(index, PORT_UP, is_up)?;
    }
    if is_up(&port) {
        return Ok(port);
    }
    let state = state(port.oper_state);
    Err(Error::message(format!("bridge port in error state: {state} ({:?} should be up)", port.name)))
}

/// Deletes the container's link, and with it the host's end. That there is none is fine.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn delete(netlink: &Handle, ifname: &str) -> Result<()> {
    let deleted = netlink.link(ifname).and_then(|link| netlink.delete(&link));
    gone(deleted).with_context(|| format!("failed to delete {ifname:?}"))
}

/// Deletes the pairs whose host's end has a label with a wanted key.
///
/// # Errors
///
/// When the kernel refuses; the others are deleted all the same.
pub(crate) fn delete_labelled(netlink: &Handle, wanted: impl Fn(&str) -> bool) -> Result<()> {
    let links = netlink.links()?;
    let labelled = |link: &&Link| link.is_kind("veth") && key(link).is_some_and(&wanted);
    let failures = links.iter().filter(labelled).filter_map(|link| {
        gone(netlink.delete(link)).with_context(|| format!("failed to delete {:?}", link.name)).err()
    });
    Error::all(failures.collect::<Vec<_>>()).map_or(Ok(()), Err)
}

/// The key of the label that a link has.
pub(crate) fn key(link: &Link) -> Option<&str> {
    link.alias.as_deref().and_then(key_of)
}

/// The other end of a link, in another namespace.
///
/// # Errors
///
/// When the kernel refuses. That there is no such link is none.
pub(crate) fn other_end(link: &Link, elsewhere: &Handle) -> Result<Option<Link>> {
    let Some(index) = link.peer.filter(|_| link.is_kind("veth")) else { return Ok(None) };
    match elsewhere.link_by_index(index) {
        // Indexes are only unique within a namespace: it must say the same of this one.
        Ok(other) => Ok(Some(other).filter(|other| other.is_kind("veth") && other.peer == Some(link.index))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn gone(deleted: plugin_support::Result<()>) -> plugin_support::Result<()> {
    match deleted {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}

/// A state in the words of RFC 2863, as `ip` and Go's library print it.
fn state(state: OperState) -> &'static str {
    match state {
        OperState::NotPresent => "not-present",
        OperState::Down => "down",
        OperState::LowerLayerDown => "lower-layer-down",
        OperState::Testing => "testing",
        OperState::Dormant => "dormant",
        OperState::Up => "up",
        _ => "unknown",
    }
}
