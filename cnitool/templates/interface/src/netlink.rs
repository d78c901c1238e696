//! The requests that this plugin makes of the kernel, over one synchronous socket.
//!
//! See `rtnetlink(7)` for what they mean. A socket belongs to the network namespace in which it was opened.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;

use cni_skel::{Cidr, MacAddr};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::kernel::{Link, Pair};

/// Bytes of a netlink header; messages follow each other at multiples of four.
const HEADER: usize = 16;

#[derive(Debug)]
pub(crate) struct Netlink(Socket);

impl Netlink {
    /// Connects to the calling thread's network namespace.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        Ok(Self(socket))
    }

    /// Makes both ends of a pair, down.
    pub(crate) fn create_veth(&self, pair: &Pair, netns: &File) -> io::Result<()> {
        let named = |name: &str| {
            let mut message = LinkMessage::default();
            message
                .attributes
                .push(LinkAttribute::IfName(name.to_owned()));
            message.attributes.extend(pair.mtu.map(LinkAttribute::Mtu));
            message
        };
        let mut peer = named(&pair.ifname);
        peer.attributes
            .push(LinkAttribute::NetNsFd(netns.as_raw_fd()));
        let mut message = named(&pair.host_end);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.change(
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )?;
        // The kernel does not take an alias with the request that creates.
        let mut message = named(&pair.host_end);
        message
            .attributes
            .push(LinkAttribute::IfAlias(pair.alias.clone()));
        self.change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// An interface, if there is one of the name.
    pub(crate) fn link(&self, name: &str) -> io::Result<Option<Link>> {
        let mut message = LinkMessage::default();
        message
            .attributes
            .push(LinkAttribute::IfName(name.to_owned()));
        match self.request(RouteNetlinkMessage::GetLink(message), NLM_F_ACK) {
            Ok(found) => Ok(found.into_iter().find_map(link)),
            Err(error) if is_no_such_device(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All interfaces.
    pub(crate) fn links(&self) -> io::Result<Vec<Link>> {
        let found = self.request(
            RouteNetlinkMessage::GetLink(LinkMessage::default()),
            NLM_F_DUMP,
        )?;
        Ok(found.into_iter().filter_map(link).collect())
    }

    pub(crate) fn set_up(&self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Removes an interface. One that has just gone, as with its namespace, is no error.
    pub(crate) fn delete(&self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        match self.change(RouteNetlinkMessage::DelLink(message), 0) {
            Err(error) if is_no_such_device(&error) => Ok(()),
            deleted => deleted,
        }
    }

    /// Gives an interface an address, without a route to its network, and to be used at once.
    pub(crate) fn add_address(&self, index: u32, address: Cidr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = address.prefix();
        message.header.index = index;
        message.attributes = vec![
            AddressAttribute::Local(address.address()),
            AddressAttribute::Address(address.address()),
            AddressAttribute::Flags(AddressFlags::Noprefixroute | AddressFlags::Nodad),
        ];
        self.change(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// The addresses of an interface.
    pub(crate) fn addresses(&self, index: u32) -> io::Result<Vec<Cidr>> {
        let found = self.request(
            RouteNetlinkMessage::GetAddress(AddressMessage::default()),
            NLM_F_DUMP,
        )?;
        let address = |message| {
            let RouteNetlinkMessage::NewAddress(message) = message else {
                return None;
            };
            let own = message
                .attributes
                .iter()
                .find_map(|attribute| match attribute {
                    AddressAttribute::Address(address) => Some(*address),
                    _ => None,
                });
            let is_ours = message.header.index == index;
            own.filter(|_| is_ours)
                .and_then(|own| Cidr::new(own, message.header.prefix_len).ok())
        };
        Ok(found.into_iter().filter_map(address).collect())
    }

    /// Leads to a network through an interface, by a gateway or directly.
    pub(crate) fn add_route(&self, index: u32, to: Cidr, via: Option<IpAddr>) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(to);
        message.header.destination_prefix_length = to.prefix();
        message.header.table = 254; // main
        message.header.protocol = RouteProtocol::Boot;
        message.header.kind = RouteType::Unicast;
        if via.is_some() {
            // The gateway is at the other end, whatever the routes to it say.
            message.header.flags |= RouteFlags::Onlink;
        }
        message.header.scope = if via.is_none() && to.is_ipv4() {
            RouteScope::Link
        } else {
            RouteScope::Universe
        };
        if to.prefix() > 0 {
            message
                .attributes
                .push(RouteAttribute::Destination(to.network().address().into()));
        }
        message.attributes.push(RouteAttribute::Oif(index));
        message
            .attributes
            .extend(via.map(|via| RouteAttribute::Gateway(via.into())));
        self.change(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    fn change(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.request(message, flags | NLM_F_ACK).map(drop)
    }

    /// Sends a request; gives the objects that the kernel answers with.
    fn request(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.0.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;

        let mut answer = Vec::new();
        loop {
            let (datagram, _) = self.0.recv_from_full()?;
            let mut rest = datagram.as_slice();
            while rest.len() >= HEADER {
                let message = NetlinkMessage::deserialize(rest).map_err(io::Error::other)?;
                match message.payload {
                    NetlinkPayload::InnerMessage(object) => answer.push(object),
                    // Without a code it is the acknowledgement.
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(answer),
                    _ => {}
                }
                let length = (message.header.length as usize).next_multiple_of(4);
                rest = rest.get(length..).unwrap_or_default();
            }
        }
    }
}

fn link(message: RouteNetlinkMessage) -> Option<Link> {
    let RouteNetlinkMessage::NewLink(message) = message else {
        return None;
    };
    let (mut name, mut alias, mut mac) = (None, None, None);
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text),
            LinkAttribute::IfAlias(text) => alias = Some(text),
            LinkAttribute::Address(bytes) => mac = <[u8; 6]>::try_from(bytes).ok(),
            _ => {}
        }
    }
    Some(Link {
        index: message.header.index,
        name: name?,
        alias,
        // Some kinds of interface have none.
        mac: MacAddr::new(mac.unwrap_or_default()),
        up: message.header.flags.contains(LinkFlags::Up),
    })
}

fn family(of: Cidr) -> AddressFamily {
    if of.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    }
}

fn is_no_such_device(error: &io::Error) -> bool {
    error.raw_os_error() == Some(19) // ENODEV
}
