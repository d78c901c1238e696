use netlink_packet_core::ParseableParametrized;

use super::*;
use crate::netlink::body;

/// A reply as the kernel would send it.
fn read(attributes: Vec<LinkAttribute>) -> Link {
    let mut message = LinkMessage::default();
    message.header.index = 7;
    message.attributes = attributes;
    let bytes = body(&RouteNetlinkMessage::NewLink(message));
    into_link(RouteNetlinkMessage::parse_with_param(&bytes, 16).unwrap()).unwrap()
}

#[test]
fn details_are_those_of_the_kind() {
    use netlink_packet_route::link::InfoKind;
    let of = |kind, data| {
        let link = read(vec![LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind), LinkInfo::Data(data)])]);
        (link.kind.unwrap(), link.details)
    };
    assert_eq!(
        of(
            InfoKind::Bridge,
            InfoData::Bridge(vec![InfoBridge::AgeingTime(1), InfoBridge::VlanFiltering(true)])
        ),
        ("bridge".into(), LinkDetails::Bridge { vlan_filtering: true })
    );
    assert_eq!(
        of(InfoKind::MacVlan, InfoData::MacVlan(vec![InfoMacVlan::Mode(MacvlanMode::Vepa)])),
        ("macvlan".into(), LinkDetails::Macvlan { mode: MacvlanMode::Vepa, broadcast_queue: None })
    );
    assert_eq!(
        of(InfoKind::IpVlan, InfoData::IpVlan(vec![InfoIpVlan::Mode(IpvlanMode::L3)])),
        ("ipvlan".into(), LinkDetails::Ipvlan { mode: IpvlanMode::L3 })
    );
    assert_eq!(
        of(InfoKind::Vlan, InfoData::Vlan(vec![InfoVlan::Id(100)])),
        ("vlan".into(), LinkDetails::Vlan { id: 100 })
    );
    assert_eq!(
        of(InfoKind::Vrf, InfoData::Vrf(vec![InfoVrf::TableId(9)])),
        ("vrf".into(), LinkDetails::Vrf { table: 9 })
    );
}

#[test]
fn port_settings_are_read_by_the_masters_kind() {
    use netlink_packet_route::link::InfoPortKind;
    let link = read(vec![LinkAttribute::LinkInfo(vec![
        LinkInfo::PortKind(InfoPortKind::Bridge),
        LinkInfo::PortData(InfoPortData::BridgePort(vec![
            InfoBridgePort::HairpinMode(true),
            InfoBridgePort::Isolated(true),
        ])),
    ])]);
    assert_eq!(link.port, Some(BridgePort { hairpin: true, isolated: true }));
    assert_eq!(link.details, LinkDetails::None);
}

#[test]
fn a_long_hardware_address_is_no_mac() {
    let link = read(vec![LinkAttribute::IfName("ib0".into()), LinkAttribute::Address(vec![1; 20])]);
    assert_eq!((link.name.as_str(), link.mac), ("ib0", None));
    assert_eq!(link.to_string(), r#"link "ib0" (index 7)"#);
}
