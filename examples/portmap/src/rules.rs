//! Which connections lead where: what a container's mappings come to, and what others' come to, in no backend's words.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use cni_skel::capability::Protocol;
use cni_skel::types::{AddResult, ErrorCode};
use cni_skel::{Cidr, Error};
use plugin_support::firewall::Family;

use crate::config::{Mapping, Mark, Settings};

/// The code of an error that tells of a port that another container has.
pub const PORT_TAKEN: ErrorCode = ErrorCode::new(100);

/// Whose rules they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The network.
    pub(crate) network: String,
    /// The container's ID.
    pub(crate) container_id: String,
    /// The interface inside the container.
    pub(crate) ifname: String,
}

/// The forwarding to a container, in one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forwarding {
    /// The family.
    pub(crate) family: Family,
    /// The container's address, with the prefix length of its network.
    pub(crate) container: Cidr,
    /// All mappings, those of the other family among them.
    pub(crate) mappings: Vec<Mapping>,
    /// From where connections are masqueraded.
    pub(crate) masqueraded: Vec<Source>,
    /// How iptables marks them.
    pub(crate) mark: Mark,
    /// Further words of a match, in the backend's own syntax.
    pub(crate) conditions: Vec<String>,
}

/// Where connections come from whose answers would not come back by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The container's network (iptables) or the container (nftables): hairpin.
    Container,
    /// Everywhere.
    Everyone,
    /// The host, by 127.0.0.1. There is no such thing for `::1`, which no kernel routes.
    Localhost,
}

/// A destination translation that is in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dnat {
    /// The protocol.
    pub(crate) protocol: Protocol,
    /// The host's port.
    pub(crate) host_port: u16,
    /// The one address of the host that is meant.
    pub(crate) host_ip: Option<IpAddr>,
    /// The container's address and port.
    pub(crate) to: SocketAddr,
}

/// A translation that is in the kernel for another container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Which connections it is for.
    pub(crate) dnat: Dnat,
    /// The other container, as far as the rules tell.
    pub(crate) container_id: String,
    /// Its network, if the rules tell.
    pub(crate) network: Option<String>,
    /// Whether there are conditions that nobody here can judge.
    pub(crate) conditional: bool,
}

/// Whose rules to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    /// The network.
    pub(crate) network: String,
    /// The container's ID.
    pub(crate) container_id: String,
    /// The addresses that rules to remove lead to, if they are known.
    pub(crate) addresses: Option<Vec<IpAddr>>,
    /// The addresses of the container's other interfaces, whose rules must stay.
    pub(crate) others: Vec<IpAddr>,
    /// Whether the container has other interfaces in the network whose addresses nobody knows.
    pub(crate) has_unknown: bool,
}

impl Forwarding {
    /// What settings come to for a container with these addresses: nothing, one family, or both.
    pub(crate) fn all(settings: &Settings, addresses: &[Cidr]) -> Vec<Self> {
        let forwardings = addresses.iter().map(|address| Self::new(settings, *address));
        forwardings.filter(|forwarding| forwarding.own().next().is_some()).collect()
    }

    fn new(settings: &Settings, container: Cidr) -> Self {
        let family = family_of(container.address());
        let masqueraded = match (settings.snat, settings.masq_all, family) {
            (false, _, _) => vec![],
            (true, true, _) => vec![Source::Everyone],
            (true, false, Family::V4) => vec![Source::Container, Source::Localhost],
            (true, false, Family::V6) => vec![Source::Container],
        };
        Self {
            family,
            container,
            mappings: settings.mappings.clone(),
            masqueraded,
            mark: settings.mark.clone(),
            conditions: settings.conditions(family).to_vec(),
        }
    }

    /// The container's address, if connections from 127.0.0.1 are to reach it.
    pub(crate) fn reached_from_localhost(&self) -> Option<Ipv4Addr> {
        match self.container.address() {
            IpAddr::V4(container) if !self.masqueraded.is_empty() => Some(container),
            _ => None,
        }
    }

    /// The mappings that are of this family.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter().filter(|mapping| mapping.is_of(self.family))
    }

    /// Where a mapping leads.
    pub(crate) fn target(&self, mapping: &Mapping) -> SocketAddr {
        SocketAddr::new(self.container.address(), mapping.container_port)
    }

    /// The host ports of UDP.
    pub(crate) fn udp_ports(&self) -> Vec<u16> {
        self.own()
            .filter(|mapping| mapping.protocol == Protocol::Udp)
            .map(|mapping| mapping.host_port)
            .collect()
    }

    /// The error for a port that another container of the host has already.
    ///
    /// Both would get the rules, and whoever comes first in them would get all connections: the other container would be
    /// running without anyone being able to reach it. `network_of` tells the network of a container, if anyone knows.
    pub(crate) fn clash(
        &self,
        owner: &Owner,
        claims: &[Claim],
        network_of: impl Fn(&str) -> Option<String>,
    ) -> Option<Error> {
        for mapping in self.own() {
            for claim in claims.iter().filter(|claim| claim.is_for(mapping)) {
                let network = claim.network.clone().or_else(|| network_of(&claim.container_id));
                // Conditions may keep two networks apart, but not two containers of one.
                let conditional = claim.conditional || !self.conditions.is_empty();
                if conditional && network.as_ref() != Some(&owner.network) {
                    continue;
                }
                let of = network.map(|network| format!(" of network {network:?}")).unwrap_or_default();
                let msg = format!(
                    "host port {}/{} is already forwarded to container {:?}{of}, at {}",
                    mapping.host_port, mapping.protocol, claim.container_id, claim.dnat.to
                );
                return Some(Error::new(PORT_TAKEN, msg));
            }
        }
        None
    }
}

impl Claim {
    /// Whether a connection can be meant by both.
    fn is_for(&self, mapping: &Mapping) -> bool {
        let Dnat { protocol, host_port, host_ip, .. } = self.dnat;
        let addresses_meet = match (host_ip, mapping.only_to()) {
            (Some(theirs), Some(ours)) => theirs == ours,
            _ => true,
        };
        protocol == mapping.protocol && host_port == mapping.host_port && addresses_meet
    }
}

impl Removal {
    /// Whether a rule goes that leads to this address (`None`: nowhere) and may be of any network of the container.
    pub(crate) fn takes(&self, address: Option<IpAddr>) -> bool {
        match (address, &self.addresses) {
            (Some(address), Some(addresses)) => addresses.contains(&address),
            (Some(address), None) => !self.others.contains(&address),
            (None, addresses) => addresses.is_none(),
        }
    }

    /// The same for a rule that is of this network.
    pub(crate) fn takes_from_network(&self, address: Option<IpAddr>) -> bool {
        let is_known =
            address.is_some_and(|address| self.addresses.iter().flatten().any(|known| *known == address));
        let stays = self.has_unknown || address.is_some_and(|address| self.others.contains(&address));
        is_known || !stays
    }
}

/// The addresses to forward to: the first of each family that is the interface's, or nobody's in particular.
pub(crate) fn container_addresses(result: &AddResult, ifname: &str) -> Vec<Cidr> {
    let may_be = |interface: Option<usize>| match interface.and_then(|index| result.interfaces.get(index)) {
        Some(interface) => interface.name == ifname && interface.sandbox.is_some(),
        None => true,
    };
    let candidates: Vec<_> =
        result.ips.iter().filter(|ip| may_be(ip.interface)).map(|ip| ip.address).collect();
    let first = |family| candidates.iter().find(|address| family_of(address.address()) == family).copied();
    [first(Family::V4), first(Family::V6)].into_iter().flatten().collect()
}

/// The family of an address.
pub(crate) fn family_of(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

/// As a person would say it: `tcp 10.0.0.1:8080 to 10.2.0.2:80`.
impl fmt::Display for Dnat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, host_port, host_ip, to } = self;
        match host_ip {
            Some(host_ip) => write!(f, "{protocol} {} to {to}", SocketAddr::new(*host_ip, *host_port)),
            None => write!(f, "{protocol} port {host_port} to {to}"),
        }
    }
}

#[cfg(test)]
mod tests;
