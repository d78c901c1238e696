use netlink_packet_core::ParseableParametrized;

use super::*;
use crate::netlink::body;

/// The link with index 7 of a kind.
fn link(kind: &str) -> Link {
    Link { index: 7, name: "x".into(), kind: Some(kind.into()), ..Link::from_message(LinkMessage::default()) }
}

/// `struct ifinfomsg` for family AF_BRIDGE and index 7.
const HEADER: [u8; 16] = [7, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[cfg(target_endian = "little")]
#[test]
fn a_vlan_of_a_port_goes_to_its_master() {
    let spec = [BridgeVlanInfo { flags: BridgeVlan::native(100).flags(), vid: 100 }];
    let message = RouteNetlinkMessage::SetLink(membership(&link("veth"), &spec));
    let mut expected = HEADER.to_vec();
    // As `bridge vlan add dev x vid 100 pvid untagged master` sends it.
    expected.extend([20, 0, 26, 0]); // IFLA_AF_SPEC
    expected.extend([6, 0, 0, 0, 1, 0, 0, 0]); // IFLA_BRIDGE_FLAGS: MASTER
    expected.extend([8, 0, 2, 0, 0x06, 0, 100, 0]); // IFLA_BRIDGE_VLAN_INFO: PVID|UNTAGGED, 100
    assert_eq!((message.message_type(), body(&message)), (19, expected));
}

#[cfg(target_endian = "little")]
#[test]
fn a_range_on_a_bridge_goes_to_itself() {
    let spec = [
        BridgeVlanInfo { flags: BridgeVlanInfoFlags::RangeBegin, vid: 10 },
        BridgeVlanInfo { flags: BridgeVlanInfoFlags::RangeEnd, vid: 20 },
    ];
    let message = RouteNetlinkMessage::SetLink(membership(&link("bridge"), &spec));
    let mut expected = HEADER.to_vec();
    // As `bridge vlan add dev x vid 10-20 self` sends it.
    expected.extend([28, 0, 26, 0]);
    expected.extend([6, 0, 0, 0, 2, 0, 0, 0]);
    expected.extend([8, 0, 2, 0, 0x08, 0, 10, 0]);
    expected.extend([8, 0, 2, 0, 0x10, 0, 20, 0]);
    assert_eq!(body(&message), expected);
}

#[test]
fn ranges_become_their_members() {
    let info = |flags, vid| AfSpecBridge::VlanInfo(BridgeVlanInfo { flags, vid });
    let spec = [
        info(BridgeVlanInfoFlags::Pvid | BridgeVlanInfoFlags::Untagged, 1),
        info(BridgeVlanInfoFlags::RangeBegin, 10),
        info(BridgeVlanInfoFlags::RangeEnd, 12),
        info(BridgeVlanInfoFlags::empty(), 4094),
    ];
    let mut vlans = Vec::new();
    expand(&spec, &mut vlans).unwrap();
    let tagged = [10, 11, 12, 4094].map(BridgeVlan::tagged);
    assert_eq!(vlans, [&[BridgeVlan::native(1)][..], &tagged].concat());
    assert!(expand(&[info(BridgeVlanInfoFlags::RangeEnd, 12)], &mut vlans).is_err());
}

#[test]
fn only_settings_given_are_sent() {
    assert_eq!(BridgeOptions::default().data(), None);
    let on = BridgeOptions { vlan_filtering: Some(true), ..Default::default() };
    assert_eq!(on.data(), Some(InfoData::Bridge(vec![InfoBridge::VlanFiltering(true)])));
    let port = PortOptions { hairpin: Some(false), isolated: Some(true), ..Default::default() };
    assert_eq!(
        port.data(),
        InfoPortData::BridgePort(vec![InfoBridgePort::HairpinMode(false), InfoBridgePort::Isolated(true)])
    );
}

#[test]
fn a_dump_reply_survives_the_way_through_bytes() {
    let spec = [BridgeVlanInfo { flags: BridgeVlan::native(9).flags(), vid: 9 }];
    let bytes = body(&RouteNetlinkMessage::NewLink(membership(&link("veth"), &spec)));
    let RouteNetlinkMessage::NewLink(message) = RouteNetlinkMessage::parse_with_param(&bytes, 16).unwrap()
    else {
        panic!("another message came back");
    };
    let mut vlans = Vec::new();
    for attribute in &message.attributes {
        if let LinkAttribute::AfSpecBridge(spec) = attribute {
            expand(spec, &mut vlans).unwrap();
        }
    }
    assert_eq!(vlans, [BridgeVlan::native(9)]);
}
