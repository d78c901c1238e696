//! The way of a device into a container and back.
//!
//! Its alias says what it is called on the host, as with Go's plugin, and is set before the device leaves: whatever happens
//! then, its name can be found again.

use cni_skel::{Error, Result, ResultExt};
use plugin_attach::owner::key_of;
use plugin_attach::single::Place;
use plugin_support::netlink::{Address, Handle, Link, LinkChange, NewAddress};
use plugin_support::netns::NetNs;

use crate::config::Wanted;

/// The longest name of a link, in bytes.
const LONGEST_NAME: usize = 15;

/// A device as it was on the host.
#[derive(Debug)]
pub(crate) struct Before {
    link: Link,
    addresses: Vec<Address>,
}

impl Before {
    pub(crate) fn of(netlink: &Handle, link: Link) -> Result<Self> {
        let addresses = netlink.addresses(&link)?;
        Ok(Self { link, addresses })
    }

    /// Gives it its name, its addresses and its state back, wherever it is.
    pub(crate) fn restore(&self, place: &Place) -> Result<()> {
        let Self { link: before, addresses } = self;
        let ifname = place.owner.ifname.as_str();
        // It may have been stopped on its way, under either name.
        for name in [ifname, before.name.as_str()] {
            match place.container_netlink.link(name) {
                Ok(link) if link.alias.as_deref() == Some(&before.name) => {
                    send_back(&place.container_netlink, &link, &place.host, &before.name)?;
                }
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        let netlink = &place.host_netlink;
        let link = netlink.link(&before.name)?;
        netlink.change(&link, &LinkChange::new().alias(before.alias.as_deref().unwrap_or_default()))?;
        if before.is_up() {
            netlink.set_up(&link)?;
        }
        for address in addresses {
            let is_own = address.network.ip().is_ipv6()
                && address.scope != plugin_support::netlink::AddressScope::Universe;
            if !is_own {
                netlink.replace_address(&link, &NewAddress::new(address.network))?;
            }
        }
        Ok(())
    }
}

/// Moves a device into a container, under the name that it is to have there.
pub(crate) fn send_in(place: &Place, before: &Before) -> Result<Link> {
    let (device, ifname) = (&before.link, place.owner.ifname.as_str());
    let (host, container) = (&place.host_netlink, &place.container_netlink);
    let failed = || format!("failed to move link {:?}", device.name);
    host.change(device, &LinkChange::new().alias(&device.name)).with_context(failed)?;
    host.change(device, &LinkChange::new().netns(&place.container).name(ifname)).with_context(failed)?;
    container.link(ifname).with_context(|| format!("failed to find {ifname:?}"))
}

/// Moves a device out of a container, under a name that must be free.
pub(crate) fn send_back(container: &Handle, link: &Link, host: &NetNs, name: &str) -> Result<()> {
    let failed = || format!("failed to move {name:?} to host netns");
    if host.netlink()?.link(name).is_ok() {
        return Err(Error::message(format!(
            "{}: file exists: the host has another link of that name",
            failed()
        )));
    }
    let change = LinkChange::new().down().netns(host).name(name).alias("");
    container.change(link, &change).with_context(failed)
}

/// The name that a link has on the host, if its alias says one: not what the alias says of other plugins' links.
pub(crate) fn name_on_host(link: &Link) -> Option<&str> {
    let is_name = |alias: &&str| {
        (1..=LONGEST_NAME).contains(&alias.len())
            && !alias.contains(|c: char| c == '/' || c == ':' || c.is_whitespace())
            && key_of(alias).is_none()
    };
    link.alias.as_deref().filter(is_name)
}

/// Whether a link may be the device that is meant; what cannot be told is possible.
pub(crate) fn may_be(link: &Link, wanted: Option<&Wanted>) -> bool {
    let Some(name) = name_on_host(link) else { return false };
    match wanted {
        Some(Wanted::Name(wanted)) => wanted == name,
        _ => true,
    }
}

/// Renames a device that the kernel has brought back to the host by itself, with a name of the container's or any.
pub(crate) fn find_lost(netlink: &Handle, wanted: &Wanted, ifname: &str) -> Result<()> {
    let is_wanted = |link: &&Link| {
        let Some(name) = name_on_host(link).filter(|name| *name != link.name) else { return false };
        // The kernel names what clashes `dev` and a number.
        let came_back = link.name == ifname || link.name.starts_with("dev");
        came_back
            && match wanted {
                Wanted::Name(wanted) => wanted == name,
                Wanted::Mac(mac) => link.mac.is_some_and(|found| found.octets() == mac.bytes()),
                _ => false,
            }
    };
    let links = netlink.links()?;
    let Some(link) = links.iter().find(is_wanted) else { return Ok(()) };
    let Some(name) = name_on_host(link).filter(|name| !links.iter().any(|other| other.name == *name)) else {
        return Ok(());
    };
    netlink
        .change(link, &LinkChange::new().down().name(name).alias(""))
        .with_context(|| format!("failed to restore {:?} to original name {name:?}", link.name))
}
