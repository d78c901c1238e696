//! Neighbours: which hardware address an IP address of a link has.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage};
use netlink_packet_route::route::RouteType;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Handle, Link};
use crate::error::Result;
use crate::mac::Mac;

pub use netlink_packet_route::neighbour::NeighbourState;

/// A neighbour as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Index of the link.
    pub link: u32,
    /// The neighbour's IP address.
    pub address: IpAddr,
    /// Its hardware address, if it is known and has 48 bits.
    pub mac: Option<Mac>,
    /// How well it is known.
    pub state: NeighbourState,
}

impl Neighbour {
    fn from_message(message: NeighbourMessage) -> Option<Self> {
        let mut address = None;
        let mut mac = None;
        for attribute in message.attributes {
            match attribute {
                NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => address = Some(ip.into()),
                NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => address = Some(ip.into()),
                NeighbourAttribute::LinkLayerAddress(bytes) => mac = Mac::from_bytes(&bytes),
                _ => {}
            }
        }
        Some(Self { link: message.header.ifindex, address: address?, mac, state: message.header.state })
    }
}

impl Handle {
    /// The neighbours of a link, of both families.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn neighbours(&self, link: &Link) -> Result<Vec<Neighbour>> {
        let replies = self.dump(&RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()), || {
            format!("failed to list neighbours of {link}")
        })?;
        let neighbours = replies.into_iter().filter_map(|reply| match reply {
            RouteNetlinkMessage::NewNeighbour(message) if message.header.ifindex == link.index => {
                Neighbour::from_message(message)
            }
            _ => None,
        });
        Ok(neighbours.collect())
    }

    /// Makes a neighbour known for good, in place of what was known.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn replace_neighbour(&self, link: &Link, address: IpAddr, mac: impl Into<Mac>) -> Result<()> {
        let mac = mac.into();
        let mut message = message(link, address);
        message.header.state = NeighbourState::Permanent;
        message.header.kind = RouteType::Unicast;
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.octets().to_vec()));
        self.request(&RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE, || {
            format!("failed to add neighbour {address} with mac {mac} to {link}")
        })?;
        Ok(())
    }

    /// Forgets a neighbour.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`](crate::Error::is_not_found) is true if it was not known.
    pub fn delete_neighbour(&self, link: &Link, address: IpAddr) -> Result<()> {
        self.request(&RouteNetlinkMessage::DelNeighbour(message(link, address)), 0, || {
            format!("failed to delete neighbour {address} from {link}")
        })?;
        Ok(())
    }
}

fn message(link: &Link, address: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    message.header.ifindex = link.index;
    message.attributes.push(NeighbourAttribute::Destination(address.into()));
    message
}
