//! Links of the made-up kernel: how they come to be and change.

use netlink_packet_core::Nla;
use netlink_packet_route::link::{
    InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoMacVlan, InfoPortData, InfoVeth, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage,
};
use rustix::io::Errno as RawErrno;

use super::links::{ETHERNET_MTU, FakeLink, name};
use super::{Answer, State, sysctls};
use crate::netlink::BridgeVlan;

/// The smallest MTU of an Ethernet device.
const SMALLEST_MTU: u32 = 68;
/// How many broadcasts wait for the links of a macvlan's master, if nobody asks for more.
const BROADCAST_QUEUE: u32 = 1000;

impl State {
    pub(super) fn create_link(&mut self, netns: usize, message: &LinkMessage) -> Answer<()> {
        let mut info = Vec::new();
        for attribute in &message.attributes {
            if let LinkAttribute::LinkInfo(attributes) = attribute {
                info.clone_from(attributes);
            }
        }
        let kind = info.iter().find_map(|info| match info {
            LinkInfo::Kind(kind) => Some(kind.clone()),
            _ => None,
        });
        let is_known = |kind: &InfoKind| !matches!(kind, InfoKind::Other(_));
        let kind = kind.filter(is_known).ok_or(RawErrno::OPNOTSUPP)?;
        let mut peer = None;
        let mut data = None;
        for info in info {
            match info {
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(message))) => peer = Some(message),
                LinkInfo::Data(given) if kind != InfoKind::Bridge => data = Some(given),
                _ => {}
            }
        }
        if let Some(InfoData::MacVlan(options)) = &mut data
            && !options.iter().any(|option| matches!(option, InfoMacVlan::BcQueueLen(_)))
        {
            options.push(InfoMacVlan::BcQueueLen(BROADCAST_QUEUE));
        }
        let parent = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Link(index) => Some(*index),
            _ => None,
        });
        let parent =
            parent.map(|index| self.link(netns, index).map(|link| (link.index, link.mtu))).transpose()?;
        let needs_parent = matches!(kind, InfoKind::MacVlan | InfoKind::IpVlan | InfoKind::Vlan);
        if needs_parent && parent.is_none() {
            return Err(RawErrno::INVAL);
        }

        // The other end comes first and goes if this one cannot be had.
        let other = match (&kind, peer) {
            (InfoKind::Veth, Some(message)) => Some(self.insert(netns, &message, kind.clone())?),
            (InfoKind::Veth, None) => return Err(RawErrno::INVAL),
            _ => None,
        };
        let created = self.insert(netns, message, kind);
        let (at, index) = match (created, other) {
            (Ok(created), _) => created,
            (Err(errno), Some((at, index))) => {
                self.delete_link(at, index)?;
                return Err(errno);
            }
            (Err(errno), None) => return Err(errno),
        };
        let mtu_given = message.attributes.iter().any(|attribute| matches!(attribute, LinkAttribute::Mtu(_)));
        let link = self.link_mut(at, index)?;
        link.data = data;
        link.peer = other.or(parent.map(|(parent, _)| (netns, parent)));
        if let (Some((_, mtu)), false) = (parent, mtu_given) {
            link.mtu = mtu;
        }
        if let Some((other_at, other_index)) = other {
            self.link_mut(other_at, other_index)?.peer = Some((at, index));
        }
        // Its flags, which may need the other end, and what is left.
        self.apply(at, index, message).inspect_err(|_| {
            let _ = self.delete_link(at, index);
        })
    }

    /// A link of a kind that no request makes.
    pub(super) fn add_link(&mut self, netns: usize, name: &str, kind: &str) -> Answer<()> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.insert(netns, &message, InfoKind::Other(kind.to_owned())).map(drop)
    }

    /// A new link with its name, in its namespace.
    fn insert(&mut self, netns: usize, message: &LinkMessage, kind: InfoKind) -> Answer<(usize, u32)> {
        let at = self.target(message)?.unwrap_or(netns);
        let name = name(message).ok_or(RawErrno::INVAL)?;
        self.name_is_free(at, name)?;
        let index = self.next_index;
        let mut link = FakeLink::new(index, name.to_owned(), Some(kind));
        if link.is_bridge() {
            link.bridge = vec![InfoBridge::VlanFiltering(false), InfoBridge::VlanDefaultPvid(1)];
            link.vlans = vec![BridgeVlan::native(1)];
        }
        self.next_index += 1;
        self.namespaces[at].links.push(link);
        sysctls::add_link(self.namespaces[at].sysctls.path(), name);
        // The other end's flags are not looked at, as Linux refuses them: nothing is connected yet.
        let mut settings = message.clone();
        settings.header.change_mask = LinkFlags::empty();
        match self.apply(at, index, &settings) {
            Ok(()) => Ok((at, index)),
            Err(errno) => {
                self.delete_link(at, index)?;
                Err(errno)
            }
        }
    }

    pub(super) fn change_link(&mut self, netns: usize, message: &LinkMessage) -> Answer<()> {
        self.link(netns, message.header.index)?;
        if message.attributes.iter().any(|attribute| matches!(attribute, LinkAttribute::Mtu(_))) {
            self.link_mut(netns, message.header.index)?.mtu_set = true;
        }
        self.apply(netns, message.header.index, message)
    }

    /// Settings in the order of Linux; those before the first that is refused stay.
    fn apply(&mut self, netns: usize, index: u32, message: &LinkMessage) -> Answer<()> {
        let netns = match self.target(message)? {
            Some(target) if target != netns => self.move_link(netns, index, target, message)?,
            _ => netns,
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::Address(bytes) => {
                    let link = self.link_mut(netns, index)?;
                    link.mac = bytes.as_slice().try_into().map_err(|_| RawErrno::INVAL)?;
                    link.mac_set = true;
                }
                LinkAttribute::Mtu(mtu) if *mtu < SMALLEST_MTU => return Err(RawErrno::INVAL),
                LinkAttribute::Mtu(mtu) => self.set_mtu(netns, index, *mtu)?,
                LinkAttribute::IfName(name) => self.rename(netns, index, name)?,
                LinkAttribute::IfAlias(text) => {
                    self.link_mut(netns, index)?.alias = Some(text.clone()).filter(|text| !text.is_empty());
                }
                LinkAttribute::TxQueueLen(packets) => self.link_mut(netns, index)?.tx_queue = *packets,
                LinkAttribute::Controller(master) => self.set_master(netns, index, *master)?,
                LinkAttribute::LinkInfo(info) => self.set_info(netns, index, info)?,
                _ => {}
            }
        }
        self.set_flags(netns, index, message.header.flags, message.header.change_mask)
    }

    fn set_flags(&mut self, netns: usize, index: u32, flags: LinkFlags, mask: LinkFlags) -> Answer<()> {
        let link = self.link_mut(netns, index)?;
        let was_up = link.is_up();
        link.flags = (link.flags - mask) | (flags & mask);
        match (was_up, link.is_up()) {
            (false, true) => self.link_went_up(netns, index),
            (true, false) => self.link_went_down(netns, index),
            _ => {}
        }
        Ok(())
    }

    fn set_mtu(&mut self, netns: usize, index: u32, mtu: u32) -> Answer<()> {
        let link = self.link_mut(netns, index)?;
        link.mtu = mtu;
        if let Some(master) = link.master {
            self.adjust_bridge(netns, master);
        }
        Ok(())
    }

    /// A bridge takes the lowest address and the lowest MTU of its ports, unless it was given its own.
    fn adjust_bridge(&mut self, netns: usize, index: u32) {
        let ports = || self.namespaces[netns].links.iter().filter(|port| port.master == Some(index));
        let (mac, mtu) = (ports().map(|port| port.mac).min(), ports().map(|port| port.mtu).min());
        if let Ok(bridge) = self.link_mut(netns, index) {
            if let (Some(mac), false) = (mac, bridge.mac_set) {
                bridge.mac = mac;
            }
            if !bridge.mtu_set {
                bridge.mtu = mtu.unwrap_or(ETHERNET_MTU);
            }
        }
    }

    fn set_master(&mut self, netns: usize, index: u32, master: u32) -> Answer<()> {
        if master == 0 {
            let link = self.link_mut(netns, index)?;
            let old = link.master.take();
            (link.port, link.vlans) = (Vec::new(), Vec::new());
            if let Some(old) = old {
                self.adjust_bridge(netns, old);
            }
            return Ok(());
        }
        let bridge = self.link(netns, master)?;
        if bridge.kind == Some(InfoKind::Vrf) {
            self.link_mut(netns, index)?.master = Some(master);
            // Linux takes the link down and up.
            self.link_went_down(netns, index);
            self.add_connected_routes(netns, index);
            return Ok(());
        }
        if !bridge.is_bridge() {
            return Err(RawErrno::OPNOTSUPP);
        }
        let native = bridge.bridge.iter().find_map(|option| match option {
            InfoBridge::VlanDefaultPvid(id) if *id != 0 => Some(BridgeVlan::native(*id)),
            _ => None,
        });
        let mut links = self.namespaces.iter().flat_map(|namespace| &namespace.links);
        if links.any(|other| other.kind == Some(InfoKind::MacVlan) && other.peer == Some((netns, index))) {
            return Err(RawErrno::BUSY);
        }
        let link = self.link_mut(netns, index)?;
        if link.is_bridge() || link.flags.contains(LinkFlags::Loopback) {
            return Err(RawErrno::INVAL);
        }
        link.master = Some(master);
        link.port = vec![InfoBridgePort::HairpinMode(false), InfoBridgePort::Isolated(false)];
        link.vlans = native.into_iter().collect();
        self.adjust_bridge(netns, master);
        Ok(())
    }

    fn set_info(&mut self, netns: usize, index: u32, info: &[LinkInfo]) -> Answer<()> {
        let link = self.link_mut(netns, index)?;
        for info in info {
            match info {
                LinkInfo::Data(InfoData::Bridge(options)) if link.is_bridge() => {
                    merge(&mut link.bridge, options);
                }
                LinkInfo::Data(InfoData::Bridge(_)) => return Err(RawErrno::OPNOTSUPP),
                LinkInfo::PortData(InfoPortData::BridgePort(options)) if link.master.is_some() => {
                    merge(&mut link.port, options);
                }
                LinkInfo::PortData(_) => return Err(RawErrno::OPNOTSUPP),
                _ => {}
            }
        }
        Ok(())
    }

    fn rename(&mut self, netns: usize, index: u32, name: &str) -> Answer<()> {
        if self.link(netns, index)?.name == name {
            return Ok(());
        }
        self.name_is_free(netns, name)?;
        let link = self.link_mut(netns, index)?;
        let old = std::mem::replace(&mut link.name, name.to_owned());
        sysctls::rename_link(self.namespaces[netns].sysctls.path(), &old, name);
        Ok(())
    }
}

/// Puts settings in the place of those of their kind.
fn merge<T: Nla + Clone>(settings: &mut Vec<T>, given: &[T]) {
    for setting in given {
        settings.retain(|old| old.kind() != setting.kind());
        settings.push(setting.clone());
    }
}
