//! Links of the made-up kernel: what they are, how they are shown, moved and deleted.

use netlink_packet_route::link::{
    InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData, InfoPortKind, LinkAttribute, LinkFlags,
    LinkInfo, LinkMessage, State as OperState,
};
use rustix::io::Errno as RawErrno;

use super::{Answer, State, sysctls};
use crate::netlink::BridgeVlan;

/// The MTU of a link that nobody gave another.
pub(super) const ETHERNET_MTU: u32 = 1500;

#[derive(Clone, Debug)]
pub(super) struct FakeLink {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) kind: Option<InfoKind>,
    pub(super) flags: LinkFlags,
    pub(super) master: Option<u32>,
    pub(super) vlans: Vec<BridgeVlan>,
    /// Namespace and index of the other end or the link below.
    pub(super) peer: Option<(usize, u32)>,
    pub(super) mac: [u8; 6],
    /// Whether the address was asked for; a bridge without takes the lowest of its ports.
    pub(super) mac_set: bool,
    pub(super) mtu: u32,
    /// Whether the MTU was changed later; a bridge whose was not takes the lowest of its ports.
    pub(super) mtu_set: bool,
    pub(super) tx_queue: u32,
    pub(super) alias: Option<String>,
    pub(super) bridge: Vec<InfoBridge>,
    pub(super) port: Vec<InfoBridgePort>,
    /// Settings of kinds that never change.
    pub(super) data: Option<InfoData>,
}

impl FakeLink {
    pub(super) fn loopback() -> Self {
        Self { flags: LinkFlags::Loopback, mac: [0; 6], mtu: 65536, ..Self::new(1, "lo".into(), None) }
    }

    pub(super) fn new(index: u32, name: String, kind: Option<InfoKind>) -> Self {
        let [.., high, low] = index.to_be_bytes();
        let tx_queue = if kind == Some(InfoKind::Ifb) { 32 } else { 1000 };
        Self {
            index,
            name,
            kind,
            flags: LinkFlags::Broadcast | LinkFlags::Multicast,
            master: None,
            vlans: Vec::new(),
            peer: None,
            mac: [0x02, 0xfa, 0x4e, 0, high, low],
            mac_set: false,
            mtu: ETHERNET_MTU,
            mtu_set: false,
            tx_queue,
            alias: None,
            bridge: Vec::new(),
            port: Vec::new(),
            data: None,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.flags.contains(LinkFlags::Up)
    }

    pub(super) fn is_bridge(&self) -> bool {
        self.kind == Some(InfoKind::Bridge)
    }
}

impl State {
    pub(super) fn link(&self, netns: usize, index: u32) -> Answer<&FakeLink> {
        self.namespaces[netns].links.iter().find(|link| link.index == index).ok_or(RawErrno::NODEV)
    }

    pub(super) fn link_mut(&mut self, netns: usize, index: u32) -> Answer<&mut FakeLink> {
        self.namespaces[netns].links.iter_mut().find(|link| link.index == index).ok_or(RawErrno::NODEV)
    }

    pub(super) fn get_link(&self, netns: usize, wanted: &LinkMessage) -> Answer<LinkMessage> {
        let found = match name(wanted) {
            Some(name) => self.namespaces[netns].links.iter().find(|link| link.name == name),
            None => self.link(netns, wanted.header.index).ok(),
        };
        Ok(self.link_message(netns, found.ok_or(RawErrno::NODEV)?))
    }

    pub(super) fn link_message(&self, netns: usize, link: &FakeLink) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = link.index;
        message.header.flags = link.flags;
        let attributes = &mut message.attributes;
        attributes.extend([
            LinkAttribute::IfName(link.name.clone()),
            LinkAttribute::TxQueueLen(link.tx_queue),
            LinkAttribute::OperState(self.oper_state(netns, link)),
            LinkAttribute::Mtu(link.mtu),
            // A bridge wants all frames, too.
            LinkAttribute::Promiscuity(
                u32::from(link.flags.contains(LinkFlags::Promisc)) + u32::from(link.master.is_some()),
            ),
            LinkAttribute::Address(link.mac.to_vec()),
        ]);
        attributes.extend(link.alias.clone().map(LinkAttribute::IfAlias));
        attributes.extend(link.master.map(LinkAttribute::Controller));
        if let Some((peer_netns, index)) = link.peer {
            attributes.push(LinkAttribute::Link(index));
            if peer_netns != netns {
                attributes.push(LinkAttribute::LinkNetNsId(i32::try_from(peer_netns).unwrap_or(i32::MAX)));
            }
        }
        let mut info: Vec<_> = link.kind.clone().map(LinkInfo::Kind).into_iter().collect();
        if link.is_bridge() {
            info.push(LinkInfo::Data(InfoData::Bridge(link.bridge.clone())));
        }
        info.extend(link.data.clone().map(LinkInfo::Data));
        if link.master.is_some() {
            info.push(LinkInfo::PortKind(InfoPortKind::Bridge));
            info.push(LinkInfo::PortData(InfoPortData::BridgePort(link.port.clone())));
        }
        if !info.is_empty() {
            attributes.push(LinkAttribute::LinkInfo(info));
        }
        message
    }

    fn oper_state(&self, netns: usize, link: &FakeLink) -> OperState {
        let peer_is_up = |(netns, index)| self.link(netns, index).is_ok_and(FakeLink::is_up);
        match (&link.kind, link.peer) {
            (None | Some(InfoKind::Ifb | InfoKind::Dummy), _) => OperState::Unknown,
            (Some(_), _) if !link.is_up() => OperState::Down,
            (Some(InfoKind::Bridge), _) => {
                let ports =
                    self.namespaces[netns].links.iter().filter(|port| port.master == Some(link.index));
                if ports.into_iter().any(|port| self.oper_state(netns, port) == OperState::Up) {
                    OperState::Up
                } else {
                    OperState::Down
                }
            }
            (Some(_), Some(peer)) if !peer_is_up(peer) => OperState::LowerLayerDown,
            _ => OperState::Up,
        }
    }

    /// Moves a link, under the name that the request gives it, if any.
    pub(super) fn move_link(
        &mut self,
        from: usize,
        index: u32,
        to: usize,
        message: &LinkMessage,
    ) -> Answer<usize> {
        let mut link = self.link(from, index)?.clone();
        if link.is_bridge() || link.flags.contains(LinkFlags::Loopback) {
            return Err(RawErrno::INVAL);
        }
        let old = link.name.clone();
        if let Some(name) = name(message) {
            name.clone_into(&mut link.name);
        }
        self.name_is_free(to, &link.name)?;
        self.forget(from, index);
        sysctls::remove_link(self.namespaces[from].sysctls.path(), &old);
        sysctls::add_link(self.namespaces[to].sysctls.path(), &link.name);
        link.flags -= LinkFlags::Up;
        (link.master, link.port, link.vlans) = (None, Vec::new(), Vec::new());
        // Whoever has it for a peer finds it in its new place.
        for other in self.namespaces.iter_mut().flat_map(|namespace| &mut namespace.links) {
            if other.peer == Some((from, index)) {
                other.peer = Some((to, index));
            }
        }
        self.namespaces[to].links.push(link);
        Ok(to)
    }

    pub(super) fn delete_link(&mut self, netns: usize, index: u32) -> Answer<()> {
        let link = self.link(netns, index)?.clone();
        if link.flags.contains(LinkFlags::Loopback) {
            return Err(RawErrno::OPNOTSUPP);
        }
        self.forget(netns, index);
        sysctls::remove_link(self.namespaces[netns].sysctls.path(), &link.name);
        for port in &mut self.namespaces[netns].links {
            if port.master == Some(index) {
                (port.master, port.port, port.vlans) = (None, Vec::new(), Vec::new());
            }
        }
        // The other end goes along, and so does what was made on this link.
        let mut orphans = Vec::new();
        for (at, namespace) in self.namespaces.iter().enumerate() {
            let of_this = namespace.links.iter().filter(|other| other.peer == Some((netns, index)));
            orphans.extend(of_this.map(|other| (at, other.index)));
        }
        orphans.into_iter().try_for_each(|(at, index)| self.delete_link(at, index))
    }

    /// Takes a link out of its namespace, with its addresses and routes.
    fn forget(&mut self, netns: usize, index: u32) {
        self.link_went_down(netns, index);
        let namespace = &mut self.namespaces[netns];
        namespace.addresses.retain(|address| address.header.index != index);
        namespace.links.retain(|link| link.index != index);
    }

    pub(super) fn name_is_free(&self, netns: usize, name: &str) -> Answer<()> {
        if matches!(name, "." | "..")
            || name.contains(|c: char| matches!(c, '/' | ':') || c.is_ascii_whitespace())
        {
            return Err(RawErrno::INVAL);
        }
        let taken = self.namespaces[netns].links.iter().any(|link| link.name == name);
        if taken { Err(RawErrno::EXIST) } else { Ok(()) }
    }

    /// The namespace that a request wants a link in.
    pub(super) fn target(&self, message: &LinkMessage) -> Answer<Option<usize>> {
        let descriptor = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::NetNsFd(descriptor) => Some(descriptor),
            _ => None,
        });
        descriptor
            .map(|descriptor| self.descriptors.get(descriptor).copied().ok_or(RawErrno::INVAL))
            .transpose()
    }
}

/// The name that a message gives.
pub(super) fn name(message: &LinkMessage) -> Option<&str> {
    message.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.as_str()),
        _ => None,
    })
}
