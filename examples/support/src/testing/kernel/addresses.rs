//! Addresses of the made-up kernel. Duplicate address detection is over as soon as it begins.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::LinkFlags;
use rustix::io::Errno as RawErrno;

use super::{Answer, State};

impl State {
    pub(super) fn add_address(
        &mut self,
        netns: usize,
        wanted: &AddressMessage,
        exclusive: bool,
    ) -> Answer<()> {
        let link = self.link(netns, wanted.header.index)?;
        let name = link.name.clone();
        if wanted.header.family == AddressFamily::Inet6 && !self.ipv6 {
            return Err(RawErrno::OPNOTSUPP);
        }
        let network = network(wanted).ok_or(RawErrno::INVAL)?;
        let known = self.position(netns, wanted.header.index, network);
        if known.is_some() && exclusive {
            return Err(RawErrno::EXIST);
        }
        let mut address = wanted.clone();
        let mut flags = AddressFlags::Permanent;
        for attribute in &wanted.attributes {
            if let AddressAttribute::Flags(given) = attribute {
                flags |= *given;
            }
        }
        address.attributes.retain(|attribute| !matches!(attribute, AddressAttribute::Flags(_)));
        address.header.flags = AddressHeaderFlags::Permanent;
        if network.is_ipv4() {
            address.attributes.push(AddressAttribute::Label(name));
        }
        address.attributes.push(AddressAttribute::Flags(flags));
        let addresses = &mut self.namespaces[netns].addresses;
        match known {
            Some(known) => addresses[known] = address,
            None => addresses.push(address),
        }
        self.add_connected_routes(netns, wanted.header.index);
        Ok(())
    }

    pub(super) fn delete_address(&mut self, netns: usize, wanted: &AddressMessage) -> Answer<()> {
        self.link(netns, wanted.header.index)?;
        let network = network(wanted).ok_or(RawErrno::INVAL)?;
        let known = self.position(netns, wanted.header.index, network).ok_or(RawErrno::ADDRNOTAVAIL)?;
        self.namespaces[netns].addresses.remove(known);
        self.remove_connected_route(netns, wanted.header.index, network);
        Ok(())
    }

    pub(super) fn link_went_up(&mut self, netns: usize, index: u32) {
        let loopback = self.link(netns, index).is_ok_and(|link| link.flags.contains(LinkFlags::Loopback));
        if loopback {
            for (ip, prefix) in
                [(IpAddr::from([127, 0, 0, 1]), 8), (IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]), 128)]
            {
                let mut address = AddressMessage::default();
                address.header.family = if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
                (address.header.index, address.header.prefix_len) = (index, prefix);
                address.header.scope = AddressScope::Host;
                address.attributes = vec![AddressAttribute::Address(ip), AddressAttribute::Local(ip)];
                // Without IPv6 there is just the other one.
                let _ = self.add_address(netns, &address, false);
            }
        }
        self.add_connected_routes(netns, index);
    }

    pub(super) fn link_went_down(&mut self, netns: usize, index: u32) {
        let namespace = &mut self.namespaces[netns];
        // IPv6 addresses go with the link (save for `keep_addr_on_down`, which is not looked at), IPv4 ones stay.
        let goes = |address: &AddressMessage| {
            address.header.index == index && address.header.family == AddressFamily::Inet6
        };
        namespace.addresses.retain(|address| !goes(address));
        self.remove_routes_of(netns, index);
    }

    fn position(&self, netns: usize, link: u32, wanted: IpNetwork) -> Option<usize> {
        let addresses = &self.namespaces[netns].addresses;
        addresses.iter().position(|address| address.header.index == link && network(address) == Some(wanted))
    }
}

/// The address that a message is about.
pub(super) fn network(message: &AddressMessage) -> Option<IpNetwork> {
    let ip = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(ip) | AddressAttribute::Address(ip) => Some(*ip),
        _ => None,
    });
    IpNetwork::new(ip?, message.header.prefix_len).ok()
}
