//! Bridges and their ports: settings, and which VLANs pass.

use std::ops::RangeInclusive;

use netlink_packet_route::link::{
    AfSpecBridge, BridgeFlag, BridgeVlanInfo, BridgeVlanInfoFlags, InfoBridge, InfoBridgePort, InfoData,
    InfoKind, InfoPortData, InfoPortKind, LinkAttribute, LinkExtentMask, LinkInfo, LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::super::Handle;
use super::Link;
use crate::error::{Error, Result};

/// Settings of a bridge; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeOptions {
    /// Whether ports only see the VLANs they are members of. Off by default.
    pub vlan_filtering: Option<bool>,
    /// The VLAN that new ports are untagged members of; 0 for none. 1 by default.
    pub default_pvid: Option<u16>,
}

/// Settings of a bridge's port; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortOptions {
    /// Whether a frame may leave where it came in. Off by default.
    pub hairpin: Option<bool>,
    /// Whether frames of other isolated ports are kept away. Off by default.
    pub isolated: Option<bool>,
    /// Whether the bridge learns addresses from the port. On by default.
    pub learning: Option<bool>,
    /// Whether frames for unknown addresses go out here. On by default.
    pub unicast_flood: Option<bool>,
}

/// A VLAN that passes a port of a bridge, or the bridge itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeVlan {
    /// VLAN ID, 1 to 4094.
    pub id: u16,
    /// Whether frames without a tag that come in belong to this VLAN. One VLAN at most is a port's.
    pub pvid: bool,
    /// Whether frames leave without a tag.
    pub untagged: bool,
}

impl BridgeOptions {
    pub(super) fn data(&self) -> Option<InfoData> {
        let mut options = Vec::new();
        options.extend(self.vlan_filtering.map(InfoBridge::VlanFiltering));
        options.extend(self.default_pvid.map(InfoBridge::VlanDefaultPvid));
        (!options.is_empty()).then_some(InfoData::Bridge(options))
    }
}

impl PortOptions {
    fn data(&self) -> InfoPortData {
        let mut options = Vec::new();
        options.extend(self.hairpin.map(InfoBridgePort::HairpinMode));
        options.extend(self.isolated.map(InfoBridgePort::Isolated));
        options.extend(self.learning.map(InfoBridgePort::Learning));
        options.extend(self.unicast_flood.map(InfoBridgePort::UnicastFlood));
        InfoPortData::BridgePort(options)
    }
}

impl BridgeVlan {
    /// A VLAN whose frames have tags on both ways.
    pub fn tagged(id: u16) -> Self {
        Self { id, pvid: false, untagged: false }
    }

    /// The VLAN of all frames without a tag.
    pub fn native(id: u16) -> Self {
        Self { id, pvid: true, untagged: true }
    }

    fn flags(self) -> BridgeVlanInfoFlags {
        let mut flags = BridgeVlanInfoFlags::empty();
        flags.set(BridgeVlanInfoFlags::Pvid, self.pvid);
        flags.set(BridgeVlanInfoFlags::Untagged, self.untagged);
        flags
    }
}

impl Handle {
    /// Changes settings of a bridge.
    ///
    /// # Errors
    ///
    /// If the link is none, or the kernel refuses.
    pub fn change_bridge(&self, bridge: &Link, options: &BridgeOptions) -> Result<()> {
        let info = [LinkInfo::Kind(InfoKind::Bridge)].into_iter().chain(options.data().map(LinkInfo::Data));
        self.change_info(bridge, info.collect(), || format!("failed to set {bridge}: {options:?}"))
    }

    /// Changes settings of a port of a bridge.
    ///
    /// # Errors
    ///
    /// If the link is none, or the kernel refuses.
    pub fn change_port(&self, port: &Link, options: &PortOptions) -> Result<()> {
        let info = vec![LinkInfo::PortKind(InfoPortKind::Bridge), LinkInfo::PortData(options.data())];
        self.change_info(port, info, || format!("failed to set {port}: {options:?}"))
    }

    /// Lets a VLAN pass a port of a bridge or, if `link` is a bridge, lets the bridge itself take part in it.
    ///
    /// # Errors
    ///
    /// If the link is neither, or the kernel has no VLAN filtering.
    pub fn add_vlan(&self, link: &Link, vlan: BridgeVlan) -> Result<()> {
        let spec = [BridgeVlanInfo { flags: vlan.flags(), vid: vlan.id }];
        self.request(&RouteNetlinkMessage::SetLink(membership(link, &spec)), 0, || {
            format!("failed to add vlan {} to {link}", vlan.id)
        })?;
        Ok(())
    }

    /// Lets a range of VLANs pass with their tags, as [`add_vlan`](Self::add_vlan) does one.
    ///
    /// # Errors
    ///
    /// As [`add_vlan`](Self::add_vlan).
    pub fn add_tagged_vlans(&self, link: &Link, ids: RangeInclusive<u16>) -> Result<()> {
        let spec = [
            BridgeVlanInfo { flags: BridgeVlanInfoFlags::RangeBegin, vid: *ids.start() },
            BridgeVlanInfo { flags: BridgeVlanInfoFlags::RangeEnd, vid: *ids.end() },
        ];
        let spec = if ids.start() == ids.end() {
            // The kernel refuses a range of one.
            &[BridgeVlanInfo { flags: BridgeVlanInfoFlags::empty(), vid: *ids.start() }][..]
        } else {
            &spec
        };
        self.request(&RouteNetlinkMessage::SetLink(membership(link, spec)), 0, || {
            format!("failed to add vlans {} to {} to {link}", ids.start(), ids.end())
        })?;
        Ok(())
    }

    /// Lets a VLAN pass no longer.
    ///
    /// # Errors
    ///
    /// As [`add_vlan`](Self::add_vlan); [`Error::is_not_found`] is true if it did not pass.
    pub fn delete_vlan(&self, link: &Link, id: u16) -> Result<()> {
        let spec = [BridgeVlanInfo { flags: BridgeVlanInfoFlags::empty(), vid: id }];
        self.request(&RouteNetlinkMessage::DelLink(membership(link, &spec)), 0, || {
            format!("failed to delete vlan {id} from {link}")
        })?;
        Ok(())
    }

    /// The VLANs that pass a port of a bridge, or those that the bridge itself takes part in, by ID.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. A link that is neither has no VLANs.
    pub fn vlans(&self, link: &Link) -> Result<Vec<BridgeVlan>> {
        let mut message = LinkMessage::default();
        message.header.interface_family = AddressFamily::Bridge;
        message.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::BrvlanCompressed]));
        let attempt = || format!("failed to list vlans of {link}");
        let mut vlans = Vec::new();
        for reply in self.dump(&RouteNetlinkMessage::GetLink(message), attempt)? {
            let RouteNetlinkMessage::NewLink(message) = reply else { continue };
            if message.header.index != link.index {
                continue;
            }
            for attribute in message.attributes {
                if let LinkAttribute::AfSpecBridge(spec) = attribute {
                    expand(&spec, &mut vlans)
                        .map_err(|reason| Error::Decode { attempt: attempt(), reason: reason.into() })?;
                }
            }
        }
        Ok(vlans)
    }

    fn change_info(&self, link: &Link, info: Vec<LinkInfo>, attempt: impl Fn() -> String) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = link.index;
        message.attributes.push(LinkAttribute::LinkInfo(info));
        // Only RTM_NEWLINK, without NLM_F_CREATE, takes settings of a kind.
        self.request(&RouteNetlinkMessage::NewLink(message), 0, attempt)?;
        Ok(())
    }
}

/// A request about the VLANs of `link`.
fn membership(link: &Link, vlans: &[BridgeVlanInfo]) -> LinkMessage {
    let target = if link.is_kind("bridge") { BridgeFlag::LowerDev } else { BridgeFlag::Controller };
    let spec = [AfSpecBridge::Flags(target)]
        .into_iter()
        .chain(vlans.iter().map(|vlan| AfSpecBridge::VlanInfo(*vlan)));
    let mut message = LinkMessage::default();
    message.header.interface_family = AddressFamily::Bridge;
    message.header.index = link.index;
    message.attributes.push(LinkAttribute::AfSpecBridge(spec.collect()));
    message
}

/// Ranges as their members.
fn expand(spec: &[AfSpecBridge], vlans: &mut Vec<BridgeVlan>) -> Result<(), &'static str> {
    let mut first = None;
    for entry in spec {
        let AfSpecBridge::VlanInfo(info) = entry else { continue };
        let pvid = info.flags.contains(BridgeVlanInfoFlags::Pvid);
        let untagged = info.flags.contains(BridgeVlanInfoFlags::Untagged);
        if info.flags.contains(BridgeVlanInfoFlags::RangeBegin) {
            first = Some(info.vid);
            continue;
        }
        let start = if info.flags.contains(BridgeVlanInfoFlags::RangeEnd) {
            first.take().ok_or("a range of vlans that ends without having begun")?
        } else {
            info.vid
        };
        vlans.extend((start..=info.vid).map(|id| BridgeVlan { id, pvid, untagged }));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
