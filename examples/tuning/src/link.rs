//! Settings of the interface: what they are, what is to become of them, and whether that is so.

use cni_skel::{Error, Result, ResultExt};
use plugin_support::Mac;
use plugin_support::netlink::{Handle, Link, LinkChange, LinkFlags};

use crate::backup::Originals;
use crate::config::LinkSettings;

/// Makes the changes, in Go's order.
pub(crate) fn apply(netlink: &Handle, link: &Link, settings: &LinkSettings) -> plugin_support::Result<()> {
    let change = |change: LinkChange<'_>| netlink.change(link, &change);
    if let Some(mac) = settings.mac {
        change(LinkChange::new().mac(mac.bytes()))?;
    }
    if settings.promisc {
        change(LinkChange::new().promisc(true))?;
    }
    if let Some(mtu) = settings.mtu {
        change(LinkChange::new().mtu(mtu))?;
    }
    if let Some(allmulti) = settings.allmulti {
        change(LinkChange::new().allmulti(allmulti))?;
    }
    if let Some(tx_queue) = settings.tx_queue {
        change(LinkChange::new().tx_queue(tx_queue))?;
    }
    Ok(())
}

/// Makes everything as it was, in Go's order; goes on past errors.
pub(crate) fn restore(netlink: &Handle, link: &Link, originals: &Originals) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut change = |what: &str, change: LinkChange<'_>| {
        let changed = netlink.change(link, &change).with_context(|| format!("failed to restore {what}"));
        errors.extend(changed.err());
    };
    if let Some(mtu) = originals.mtu {
        change("MTU", LinkChange::new().mtu(mtu));
    }
    if let Some(mac) = originals.mac() {
        change("MAC address", LinkChange::new().mac(mac));
    }
    if let Some(promisc) = originals.promisc {
        change("promiscuous mode", LinkChange::new().promisc(promisc));
    }
    if let Some(allmulti) = originals.allmulti {
        change("all-multicast mode", LinkChange::new().allmulti(allmulti));
    }
    if let Some(tx_queue) = originals.tx_queue {
        change("transmit queue length", LinkChange::new().tx_queue(tx_queue));
    }
    errors
}

/// Verifies the settings.
pub(crate) fn check(link: &Link, settings: &LinkSettings) -> Result<()> {
    let name = &link.name;
    let differs = |what: &str, configured: &dyn std::fmt::Display, current: &dyn std::fmt::Display| {
        Err(Error::message(format!("Error: Tuning {what} is {configured}, current value is {current}")))
    };
    if let Some(mac) = settings.mac {
        let current = link.mac.map(Mac::octets);
        if current != Some(mac.bytes()) {
            let shown = link.mac.map(|mac| mac.to_string()).unwrap_or_default();
            return differs(&format!("configured Ethernet of {name}"), &mac, &shown);
        }
    }
    // Without the setting, others may have reason to: a sniffer, say, or a bridge that the link is a port of.
    if settings.promisc && !is_promisc(link) {
        return differs(&format!("link {name} configured promisc"), &true, &link.promiscuity);
    }
    match settings.mtu {
        Some(mtu) if mtu != link.mtu => {
            return differs(&format!("configured MTU of {name}"), &mtu, &link.mtu);
        }
        _ => {}
    }
    match settings.allmulti {
        Some(allmulti) if allmulti != link.is_allmulti() => {
            let what = format!("configured all-multicast mode of {name}");
            return differs(&what, &allmulti, &link.is_allmulti());
        }
        _ => {}
    }
    match settings.tx_queue {
        Some(length) if length != link.tx_queue => {
            differs(&format!("configured transmit queue length of {name}"), &length, &link.tx_queue)
        }
        _ => Ok(()),
    }
}

/// Whether an administrator has made the link take every frame. The kernel counts others who want that apart.
pub(crate) fn is_promisc(link: &Link) -> bool {
    link.flags.contains(LinkFlags::Promisc)
}
