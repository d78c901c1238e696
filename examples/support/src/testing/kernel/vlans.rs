//! Bridge VLANs of the made-up kernel, which filters them whether or not the real one can.

use std::ops::RangeInclusive;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{
    AfSpecBridge, BridgeFlag, BridgeVlanInfo, BridgeVlanInfoFlags, LinkAttribute, LinkMessage,
};
use rustix::io::Errno as RawErrno;

use super::links::FakeLink;
use super::{Answer, State};
use crate::netlink::BridgeVlan;

/// The IDs that a frame can carry and mean.
const IDS: RangeInclusive<u16> = 1..=4094;

impl State {
    /// Adds VLANs to a link or takes them away.
    pub(super) fn set_vlans(&mut self, netns: usize, message: &LinkMessage, add: bool) -> Answer<()> {
        let link = self.link_mut(netns, message.header.index)?;
        let spec = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::AfSpecBridge(spec) => Some(spec),
            _ => None,
        });
        let spec = spec.ok_or(RawErrno::INVAL)?;
        let to_itself = spec.contains(&AfSpecBridge::Flags(BridgeFlag::LowerDev));
        let concerned = if to_itself { link.is_bridge() } else { link.master.is_some() };
        if !concerned {
            return Err(RawErrno::OPNOTSUPP);
        }
        let mut first = None;
        for entry in spec {
            let AfSpecBridge::VlanInfo(info) = entry else { continue };
            if !IDS.contains(&info.vid) {
                return Err(RawErrno::INVAL);
            }
            if info.flags.contains(BridgeVlanInfoFlags::RangeBegin) {
                first = Some(info.vid);
                continue;
            }
            let start = match (info.flags.contains(BridgeVlanInfoFlags::RangeEnd), first.take()) {
                (true, Some(first)) if first < info.vid => first,
                (true, _) => return Err(RawErrno::INVAL),
                (false, _) => info.vid,
            };
            for id in start..=info.vid {
                if add { link.add_vlan(id, info.flags) } else { link.delete_vlan(id)? }
            }
        }
        Ok(())
    }
}

impl FakeLink {
    fn add_vlan(&mut self, id: u16, flags: BridgeVlanInfoFlags) {
        let pvid = flags.contains(BridgeVlanInfoFlags::Pvid);
        self.vlans.retain(|vlan| vlan.id != id);
        if pvid {
            self.vlans.iter_mut().for_each(|vlan| vlan.pvid = false);
        }
        self.vlans.push(BridgeVlan { id, pvid, untagged: flags.contains(BridgeVlanInfoFlags::Untagged) });
        self.vlans.sort_by_key(|vlan| vlan.id);
    }

    fn delete_vlan(&mut self, id: u16) -> Answer<()> {
        let before = self.vlans.len();
        self.vlans.retain(|vlan| vlan.id != id);
        if self.vlans.len() == before { Err(RawErrno::NOENT) } else { Ok(()) }
    }
}

/// The VLANs of a link, if it has any.
pub(super) fn message(link: &FakeLink) -> Option<LinkMessage> {
    if link.vlans.is_empty() {
        return None;
    }
    let mut message = LinkMessage::default();
    message.header.interface_family = AddressFamily::Bridge;
    message.header.index = link.index;
    let spec = link.vlans.iter().map(|vlan| {
        let mut flags = BridgeVlanInfoFlags::empty();
        flags.set(BridgeVlanInfoFlags::Pvid, vlan.pvid);
        flags.set(BridgeVlanInfoFlags::Untagged, vlan.untagged);
        AfSpecBridge::VlanInfo(BridgeVlanInfo { flags, vid: vlan.id })
    });
    message.attributes.push(LinkAttribute::AfSpecBridge(spec.collect()));
    Some(message)
}
