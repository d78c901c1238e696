//! Which addresses and routes each end of the pair needs.
//!
//! The container's end has the address with the prefix of its network, to which the kernel makes a route. But nobody of
//! that network is on the link, save for the gateway. So the route is replaced by one to the gateway alone, and one by the
//! gateway to the network. The host's end has the gateway's address, without a network, and routes to the container's.

use std::net::IpAddr;

use cni_skel::{Cidr, Error, IpConfig, Result};
use ipnetwork::IpNetwork;
use plugin_attach::addresses::network;
use plugin_support::netlink::{Link, Route, RouteScope};

/// What the two ends need. Nothing is there twice: several addresses may have one gateway, or be of one network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The container's addresses.
    pub(crate) addresses: Vec<IpAddr>,
    /// The gateways, each with an address to talk to it from.
    pub(crate) gateways: Vec<(IpAddr, IpAddr)>,
    /// The networks of more than one address, each with its gateway and an address to talk to it from.
    pub(crate) networks: Vec<(IpNetwork, IpAddr, IpAddr)>,
}

impl Plan {
    /// What addresses of an IPAM plugin come to.
    ///
    /// # Errors
    ///
    /// When one has no gateway, or one of the other family.
    pub(crate) fn new(ips: &[IpConfig]) -> Result<Self> {
        let mut plan = Self::default();
        for ip in ips {
            let own = ip.address.address();
            let gateway = ip.gateway.filter(|gateway| gateway.is_ipv4() == own.is_ipv4());
            let Some(gateway) = gateway else {
                let found = ip.gateway.map_or_else(|| "none".to_owned(), |gateway| gateway.to_string());
                return Err(Error::message(format!(
                    "IPAM plugin returned address {} with gateway {found}, expected one of its family",
                    ip.address
                )));
            };
            if !plan.addresses.contains(&own) {
                plan.addresses.push(own);
            }
            if !plan.gateways.iter().any(|(known, _)| *known == gateway) {
                plan.gateways.push((gateway, own));
            }
            let subnet = network(ip.address.network());
            if Cidr::host(own) != ip.address && !plan.networks.iter().any(|(known, ..)| *known == subnet) {
                plan.networks.push((subnet, gateway, own));
            }
        }
        Ok(plan)
    }

    /// The container's routes to the gateways.
    pub(crate) fn to_gateways(&self, link: &Link) -> impl Iterator<Item = Route> {
        let route = move |(gateway, own): &(IpAddr, IpAddr)| {
            Route::to(*gateway).dev(link).scope(RouteScope::Link).source(*own)
        };
        self.gateways.iter().map(route)
    }

    /// The container's routes by the gateways, which replace those of the kernel.
    pub(crate) fn by_gateways(&self, link: &Link) -> impl Iterator<Item = Route> {
        let route = move |(subnet, gateway, own): &(IpNetwork, IpAddr, IpAddr)| {
            Route::to(*subnet).via(*gateway).dev(link).scope(RouteScope::Universe).source(*own)
        };
        self.networks.iter().map(route)
    }

    /// The host's routes to the container.
    pub(crate) fn to_container(&self, link: &Link) -> impl Iterator<Item = Route> {
        self.addresses.iter().map(|own| Route::to(*own).dev(link).scope(RouteScope::Host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(ips: &[(&str, Option<&str>)]) -> Result<Plan> {
        let ip = |(address, gateway): &(&str, Option<&str>)| {
            let ip = IpConfig::new(address.parse().unwrap());
            gateway.map_or(ip.clone(), |gateway| ip.with_gateway(gateway.parse().unwrap()))
        };
        Plan::new(&ips.iter().map(ip).collect::<Vec<_>>())
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_of_each_family() {
        let plan = plan(&[("10.1.0.5/24", Some("10.1.0.1")), ("fd00::5/64", Some("fd00::1"))]).unwrap();
        assert_eq!(plan.gateways, [(ip("10.1.0.1"), ip("10.1.0.5")), (ip("fd00::1"), ip("fd00::5"))]);
        let networks: Vec<_> = plan.networks.iter().map(|(network, ..)| network.to_string()).collect();
        assert_eq!(networks, ["10.1.0.0/24", "fd00::/64"]);
    }

    #[test]
    fn nothing_is_there_twice() {
        let plan = plan(&[
            ("10.1.0.5/24", Some("10.1.0.1")),
            ("10.1.0.6/24", Some("10.1.0.1")),
            ("10.2.0.5/24", Some("10.1.0.1")),
        ])
        .unwrap();
        assert_eq!((plan.addresses.len(), plan.gateways.len(), plan.networks.len()), (3, 1, 2));
    }

    #[test]
    fn an_address_alone_has_no_network() {
        let plan = plan(&[("10.1.0.5/32", Some("169.254.1.1")), ("fd00::5/128", Some("fe80::1"))]).unwrap();
        assert_eq!((plan.gateways.len(), plan.networks.len()), (2, 0));
    }

    #[test]
    fn a_gateway_is_needed() {
        for (gateway, told) in [(None, "gateway none"), (Some("fd00::1"), "gateway fd00::1")] {
            let error = plan(&[("10.1.0.5/24", gateway)]).unwrap_err().to_object();
            assert!(error.msg.contains(told) && error.msg.contains("10.1.0.5/24"), "{error}");
        }
    }
}
