//! Addresses of links.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Handle, Link};
use crate::error::{Error, Result};

pub use netlink_packet_route::address::{AddressFlags, AddressScope};

/// An address of a link as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Index of the link.
    pub link: u32,
    /// The link's own address, with the prefix length of its network.
    pub network: IpNetwork,
    /// The address at the other end, where there is just one.
    pub peer: Option<IpAddr>,
    /// IPv4: the network's broadcast address, if one was set.
    pub broadcast: Option<IpAddr>,
    /// IPv4: the alias name, which starts with the link's name.
    pub label: Option<String>,
    /// How far the address is valid.
    pub scope: AddressScope,
    /// `IFA_F_*` flags; see [`is_tentative`](Self::is_tentative).
    pub flags: AddressFlags,
}

/// An address to give to a link, for [`Handle::add_address`].
///
/// ```no_run
/// # use plugin_support::netlink::{Handle, NewAddress};
/// # let netlink = Handle::open()?;
/// let address: ipnetwork::IpNetwork = "10.1.0.5/16".parse().expect("an address with a prefix");
/// netlink.add_address(&netlink.link("eth0")?, &NewAddress::new(address))?;
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct NewAddress {
    network: IpNetwork,
    broadcast: bool,
    scope: AddressScope,
    flags: AddressFlags,
}

impl NewAddress {
    /// An address with the prefix length of its network, valid everywhere. An IPv4 address with a prefix below 31 bits
    /// gets the network's broadcast address, as Go's library sets it.
    pub fn new(network: impl Into<IpNetwork>) -> Self {
        Self {
            network: network.into(),
            broadcast: true,
            scope: AddressScope::Universe,
            flags: AddressFlags::empty(),
        }
    }

    /// IPv6: skips duplicate address detection, so that the address can be used at once.
    pub fn no_dad(mut self) -> Self {
        self.flags |= AddressFlags::Nodad;
        self
    }

    /// Makes no route to the network.
    pub fn no_prefix_route(mut self) -> Self {
        self.flags |= AddressFlags::Noprefixroute;
        self
    }

    /// IPv4: sets no broadcast address.
    pub fn no_broadcast(mut self) -> Self {
        self.broadcast = false;
        self
    }

    /// How far the address is valid.
    pub fn scope(mut self, scope: AddressScope) -> Self {
        self.scope = scope;
        self
    }

    fn message(&self, link: &Link) -> AddressMessage {
        let mut message = message(link, self.network);
        message.header.scope = self.scope;
        if !self.flags.is_empty() {
            // The header has room for the first eight; kernels before 3.14 know no others.
            let low = u8::try_from(self.flags.bits() & 0xff).unwrap_or_default();
            message.header.flags = AddressHeaderFlags::from_bits_retain(low);
            message.attributes.push(AddressAttribute::Flags(self.flags));
        }
        match self.network {
            IpNetwork::V4(network) if self.broadcast && network.prefix() < 31 => {
                message.attributes.push(AddressAttribute::Broadcast(network.broadcast()));
            }
            _ => {}
        }
        message
    }
}

impl Address {
    /// IPv6: whether duplicate address detection still runs, so that the address cannot be used yet.
    pub fn is_tentative(&self) -> bool {
        self.flags.contains(AddressFlags::Tentative)
    }

    /// IPv6: whether another node has this address.
    pub fn is_duplicate(&self) -> bool {
        self.flags.contains(AddressFlags::Dadfailed)
    }

    fn from_message(message: AddressMessage) -> Option<Self> {
        let mut address = None;
        let mut local = None;
        let mut broadcast = None;
        let mut label = None;
        let mut flags = AddressFlags::from_bits_retain(message.header.flags.bits().into());
        for attribute in message.attributes {
            match attribute {
                AddressAttribute::Address(ip) => address = Some(ip),
                AddressAttribute::Local(ip) => local = Some(ip),
                AddressAttribute::Broadcast(ip) => broadcast = Some(ip.into()),
                AddressAttribute::Label(text) => label = Some(text),
                AddressAttribute::Flags(all) => flags = all,
                _ => {}
            }
        }
        // IFA_ADDRESS is the peer on a point-to-point link, and the link's own address otherwise.
        let own = local.or(address)?;
        Some(Self {
            link: message.header.index,
            network: IpNetwork::new(own, message.header.prefix_len).ok()?,
            peer: address.filter(|address| *address != own),
            broadcast,
            label,
            scope: message.header.scope,
            flags,
        })
    }
}

impl Handle {
    /// The addresses of a link, IPv4 before IPv6, in the kernel's order.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if the link is gone.
    pub fn addresses(&self, link: &Link) -> Result<Vec<Address>> {
        let mut message = AddressMessage::default();
        // Kernels before 4.20 do not filter.
        message.header.index = link.index;
        let attempt = || format!("failed to list addresses of {link}");
        self.dump(&RouteNetlinkMessage::GetAddress(message), attempt)?
            .into_iter()
            .filter_map(|reply| match reply {
                RouteNetlinkMessage::NewAddress(message) if message.header.index == link.index => {
                    Some(message)
                }
                _ => None,
            })
            .map(|message| {
                Address::from_message(message).ok_or_else(|| Error::Decode {
                    attempt: attempt(),
                    reason: "an address without an IP address of its family".into(),
                })
            })
            .collect()
    }

    /// Gives an address to a link.
    ///
    /// # Errors
    ///
    /// [`Error::is_exists`] is true if the link has it already.
    pub fn add_address(&self, link: &Link, address: &NewAddress) -> Result<()> {
        self.new_address(link, address, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Gives an address to a link, or changes the settings of the one it has.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn replace_address(&self, link: &Link, address: &NewAddress) -> Result<()> {
        self.new_address(link, address, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Takes an address away from a link. The kernel takes the routes of its network along.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if the link does not have it, with this prefix length.
    pub fn delete_address(&self, link: &Link, network: impl Into<IpNetwork>) -> Result<()> {
        let network = network.into();
        self.request(&RouteNetlinkMessage::DelAddress(message(link, network)), 0, || {
            format!("failed to delete address {network} from {link}")
        })?;
        Ok(())
    }

    fn new_address(&self, link: &Link, address: &NewAddress, flags: u16) -> Result<()> {
        self.request(&RouteNetlinkMessage::NewAddress(address.message(link)), flags, || {
            format!("failed to add address {} to {link}", address.network)
        })?;
        Ok(())
    }
}

/// What names an address.
fn message(link: &Link, network: IpNetwork) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = if network.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    message.header.prefix_len = network.prefix();
    message.header.index = link.index;
    message.attributes = vec![AddressAttribute::Local(network.ip()), AddressAttribute::Address(network.ip())];
    message
}
