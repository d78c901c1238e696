//! The host's end of the container's pair, as a port of the bridge, and what passes it first.

use std::time::Duration;

use cni_skel::{Error, Result, ResultExt};
use plugin_attach::Owner;
use plugin_attach::host::no_router_advertisements;
use plugin_attach::masquerade::IP_MASQ;
use plugin_attach::veth::{Place, alias};
use plugin_support::netlink::{Handle, Link, LinkChange, OperState, PortOptions};
use plugin_support::netns::NetNs;

use crate::config::Settings;
use crate::{macspoof, vlan};

/// How long the port may take to pass traffic.
const PORT_UP: Duration = Duration::from_millis(2550);

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
    let masquerade = settings.masquerade.filter(|_| settings.ipam).map(|_| IP_MASQ);
    let rules = masquerade.into_iter().chain(settings.mac_spoof_check.then_some(macspoof::KEY));
    let change = LinkChange::new().alias(&alias(owner, rules)).master(bridge).up();
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

/// Lets the container's end tell its neighbours whose its addresses are, that another container may have had just before.
/// It has done so when it came up, but the port let nothing pass then.
///
/// # Errors
///
/// When the kernel refuses.
pub(crate) fn announce(netlink: &Handle, link: &Link) -> Result<()> {
    let Some(mac) = link.mac else { return Ok(()) };
    // A change of the hardware address is announced, also to the one that it is.
    netlink
        .change(link, &LinkChange::new().mac(mac))
        .with_context(|| format!("failed to announce the addresses of {:?}", link.name))
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
