//! The bridge as the containers' gateway: which addresses it needs for that, and which it has to give up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cni_skel::{Cidr, Error, IpConfig, Result, ResultExt, Route};
use ipnetwork::IpNetwork;
use plugin_attach::addresses::network;
use plugin_attach::warn;
use plugin_support::netlink::{Address, Handle, Link, NewAddress};

use crate::config::Settings;

/// What is to be changed about the addresses of the link that is the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) remove: Vec<IpNetwork>,
    pub(crate) add: Vec<IpNetwork>,
}

/// Completes what an IPAM plugin said by gateways and default routes, and gives the gateways, each with the prefix of its
/// network.
pub(crate) fn complete(ips: &mut [IpConfig], routes: &mut Vec<Route>, settings: &Settings) -> Vec<Cidr> {
    if !settings.is_gateway {
        return Vec::new();
    }
    let mut gateways = Vec::new();
    for ip in ips {
        let gateway = *ip.gateway.get_or_insert_with(|| first_of(ip.address));
        let of_family =
            |route: &Route| route.dst.prefix() == 0 && route.dst.is_ipv4() == ip.address.is_ipv4();
        // One without a router is as good: it will lead to this one.
        if settings.is_default_gateway && !routes.iter().any(of_family) {
            routes.push(Route::new(everywhere(ip.address)).via(gateway));
        }
        if let Ok(gateway) = Cidr::new(gateway, ip.address.prefix())
            && !gateways.contains(&gateway)
        {
            gateways.push(gateway);
        }
    }
    gateways
}

impl Plan {
    /// What is to be done so that a link has all of `wanted`.
    ///
    /// An IPv4 address beside them contradicts, and an IPv6 address of an overlapping network does: it is removed, if
    /// that is allowed.
    ///
    /// # Errors
    ///
    /// When an address contradicts, and is not to be removed.
    pub(crate) fn new(link: &Link, existing: &[Address], wanted: &[Cidr], force: bool) -> Result<Self> {
        let wanted: Vec<_> = wanted.iter().copied().map(network).collect();
        let existing: Vec<_> = existing.iter().map(|address| address.network).collect();
        let mut plan = Self::default();
        for gateway in &wanted {
            let contradicts = |other: &&IpNetwork| {
                let overlaps = other.contains(gateway.ip()) || gateway.contains(other.ip());
                other.is_ipv4() == gateway.is_ipv4()
                    && (gateway.is_ipv4() || overlaps)
                    && !wanted.contains(other)
            };
            for other in existing.iter().filter(contradicts) {
                if !force {
                    return Err(Error::message(format!(
                        "{:?} already has an IP address different from {gateway}: {other} (forceAddress would replace it)",
                        link.name
                    )));
                }
                if !plan.remove.contains(other) {
                    plan.remove.push(*other);
                }
            }
            if !existing.contains(gateway) {
                plan.add.push(*gateway);
            }
        }
        Ok(plan)
    }

    /// Does it, all or nothing.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub(crate) fn apply(&self, netlink: &Handle, link: &Link, detect_duplicates: bool) -> Result<()> {
        let mut removed = Vec::new();
        let mut added = Vec::new();
        let done = self.try_apply(netlink, link, detect_duplicates, &mut removed, &mut added);
        if done.is_err() {
            let undone = added
                .iter()
                .map(|address| netlink.delete_address(link, *address))
                .chain(removed.iter().map(|old| netlink.add_address(link, &NewAddress::new(*old))));
            for error in undone.filter_map(plugin_support::Result::err) {
                warn(&format!("the addresses of {:?} are not as before: {error}", link.name));
            }
        }
        done
    }

    fn try_apply(
        &self,
        netlink: &Handle,
        link: &Link,
        detect_duplicates: bool,
        removed: &mut Vec<IpNetwork>,
        added: &mut Vec<IpNetwork>,
    ) -> Result<()> {
        let name = link.name.as_str();
        for old in &self.remove {
            match netlink.delete_address(link, *old) {
                Ok(()) => removed.push(*old),
                // Another container's ADD was faster.
                Err(error) if error.is_not_found() => {}
                Err(error) => {
                    return Err(error).context(format!("could not remove IP address from {name:?}"));
                }
            }
        }
        for gateway in &self.add {
            let address = NewAddress::new(*gateway);
            // The container may need it at once, and nobody else is to have it.
            let at_once = gateway.is_ipv6() && !detect_duplicates;
            match netlink.add_address(link, &if at_once { address.no_dad() } else { address }) {
                Ok(()) => added.push(*gateway),
                Err(error) if error.is_exists() => {}
                Err(error) => return Err(error).context(format!("could not add IP address to {name:?}")),
            }
        }
        Ok(())
    }
}

/// The first address of a network.
fn first_of(address: Cidr) -> IpAddr {
    match address.network().address() {
        IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits().wrapping_add(1)).into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits().wrapping_add(1)).into(),
    }
}

fn everywhere(of_family: Cidr) -> Cidr {
    let unspecified =
        if of_family.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    Cidr::new(unspecified, 0).unwrap_or(of_family)
}

#[cfg(test)]
mod tests;
