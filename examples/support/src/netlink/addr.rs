//! Addresses of links.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};

use super::{Handle, Link};
use crate::error::{Error, Result};

pub use netlink_packet_route::address::{AddressFlags, AddressScope};

/// An address of a link as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
}
