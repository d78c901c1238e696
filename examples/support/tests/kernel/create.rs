use plugin_support::Mac;
use plugin_support::netlink::{
    BridgeOptions, BridgeVlan, Handle, LinkChange, LinkDetails, LinkKind, MacvlanMode, NewLink, Peer,
    PortOptions,
};
use plugin_support::testing::TestNetns;

fn veth(netlink: &Handle, first: &str, second: &str) {
    netlink.create(&NewLink::new(first, LinkKind::Veth(Peer::new(second)))).unwrap();
}

#[test]
fn a_veth_pair_spans_namespaces() {
    let (Some(host), Some(container)) = (TestNetns::new(), TestNetns::new()) else { return };
    let (outside, inside) = (host.netlink().unwrap(), container.netlink().unwrap());
    let peer = Peer::new("veth0").netns(&host).mac([2, 0, 0, 0, 0, 2]).mtu(1300).tx_queue(9);
    let eth0 = NewLink::new("eth0", LinkKind::Veth(peer)).mac([2, 0, 0, 0, 0, 1]).mtu(1400).tx_queue(8).up();
    inside.create(&eth0).unwrap();
    let (eth0, veth0) = (inside.link("eth0").unwrap(), outside.link("veth0").unwrap());
    assert_eq!((eth0.peer, veth0.peer), (Some(veth0.index), Some(eth0.index)));
    assert!(eth0.peer_netns.is_some() && eth0.is_up() && !veth0.is_up());
    assert_eq!((eth0.mac, veth0.mac), (Some(Mac([2, 0, 0, 0, 0, 1])), Some(Mac([2, 0, 0, 0, 0, 2]))));
    assert_eq!((eth0.mtu, veth0.mtu, eth0.tx_queue, veth0.tx_queue), (1400, 1300, 8, 9));
}

#[test]
fn a_name_in_use_is_told_with_both_names() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    veth(&netlink, "a", "b");
    let error = netlink.create(&NewLink::new("c", LinkKind::Veth(Peer::new("b")))).unwrap_err();
    assert!(error.is_exists());
    assert_eq!(error.to_string(), r#"failed to create veth "c" with peer "b""#);
    let peer = Peer::new("b").netns(&host);
    let error = netlink.create(&NewLink::new("a", LinkKind::Veth(peer))).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(r#"failed to create veth "a" with peer "b" in netns {:?}"#, host.path())
    );
}

#[test]
fn bridges_take_ports_and_port_settings() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    netlink.create(&NewLink::new("br0", LinkKind::Bridge(BridgeOptions::default())).mtu(1400).up()).unwrap();
    let bridge = netlink.link("br0").unwrap();
    assert!(bridge.is_kind("bridge") && bridge.is_up() && bridge.mtu == 1400);
    let port = NewLink::new("a", LinkKind::Veth(Peer::new("b"))).master(&bridge);
    netlink.create(&port).unwrap();
    let a = netlink.link("a").unwrap();
    assert_eq!(a.master, Some(bridge.index));
    let on = PortOptions { hairpin: Some(true), isolated: Some(true), ..PortOptions::default() };
    netlink.change_port(&a, &on).unwrap();
    let port = netlink.link("a").unwrap().port.unwrap();
    assert!(port.hairpin && port.isolated);
    netlink.change_port(&a, &PortOptions { hairpin: Some(false), ..PortOptions::default() }).unwrap();
    let port = netlink.link("a").unwrap().port.unwrap();
    assert!(!port.hairpin && port.isolated, "what is not named stays");
}

#[test]
fn settings_of_a_port_need_a_port() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    veth(&netlink, "a", "b");
    let a = netlink.link("a").unwrap();
    let error =
        netlink.change_port(&a, &PortOptions { hairpin: Some(true), ..PortOptions::default() }).unwrap_err();
    assert!(error.to_string().starts_with(&format!("failed to set {a}: PortOptions {{ hairpin: Some(true)")));
}

#[test]
fn macvlan_lands_in_another_namespace() {
    let (Some(host), Some(container)) = (TestNetns::new(), TestNetns::new()) else { return };
    let netlink = host.netlink().unwrap();
    veth(&netlink, "a", "b");
    let a = netlink.link("a").unwrap();
    let kind = LinkKind::Macvlan { parent: &a, mode: MacvlanMode::Bridge, broadcast_queue: Some(2000) };
    netlink.create(&NewLink::new("temp", kind).netns(&container)).unwrap();
    let inside = container.netlink().unwrap();
    let temp = inside.link("temp").unwrap();
    assert_eq!((temp.kind.as_deref(), temp.peer), (Some("macvlan"), Some(a.index)));
    assert_eq!(temp.details, LinkDetails::Macvlan { mode: MacvlanMode::Bridge, broadcast_queue: Some(2000) });
    inside.change(&temp, &LinkChange::new().name("eth0")).unwrap();
    assert_eq!(inside.link("eth0").unwrap().index, temp.index);
}

#[test]
fn an_ifb_can_be_made() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    netlink.create(&NewLink::new("ifb9", LinkKind::Ifb).up()).unwrap();
    assert!(netlink.link("ifb9").unwrap().is_kind("ifb"));
}

/// Kinds that not every kernel has. Where one is missing, the error has to say so.
#[test]
fn further_kinds_are_made_or_are_unsupported() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    veth(&netlink, "a", "b");
    let a = netlink.link("a").unwrap();
    let kinds = [
        ("dummy", LinkKind::Dummy),
        ("ipvlan", LinkKind::Ipvlan { parent: &a, mode: plugin_support::netlink::IpvlanMode::L3 }),
        ("vlan", LinkKind::Vlan { parent: &a, id: 100 }),
        ("vrf", LinkKind::Vrf { table: 10 }),
    ];
    for (kind, spec) in kinds {
        match netlink.create(&NewLink::new("x", spec)) {
            Ok(()) => {
                let x = netlink.link("x").unwrap();
                assert!(x.is_kind(kind), "{x:?}");
                match kind {
                    "vlan" => assert_eq!(
                        (x.details.clone(), x.peer),
                        (LinkDetails::Vlan { id: 100 }, Some(a.index))
                    ),
                    "vrf" => assert_eq!(x.details, LinkDetails::Vrf { table: 10 }),
                    _ => {}
                }
                netlink.delete(&x).unwrap();
            }
            Err(error) => {
                assert!(error.is_unsupported(), "{error:?}");
                assert!(error.to_string().starts_with(&format!("failed to create {kind} \"x\"")), "{error}");
            }
        }
    }
}

/// Not every kernel filters VLANs. Where it does not, the error has to say so.
#[test]
fn vlans_pass_ports_and_bridges_or_are_unsupported() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    let filtering = BridgeOptions { vlan_filtering: Some(true), ..BridgeOptions::default() };
    match netlink.create(&NewLink::new("br0", LinkKind::Bridge(filtering))) {
        Ok(()) => vlans_pass(&netlink),
        Err(error) => {
            assert!(error.is_unsupported(), "{error:?}");
            netlink.create(&NewLink::new("br0", LinkKind::Bridge(BridgeOptions::default()))).unwrap();
            let bridge = netlink.link("br0").unwrap();
            assert!(netlink.change_bridge(&bridge, &filtering).unwrap_err().is_unsupported());
            assert_eq!(netlink.vlans(&bridge).unwrap(), []);
            assert!(netlink.add_vlan(&bridge, BridgeVlan::tagged(5)).unwrap_err().is_unsupported());
        }
    }
}

fn vlans_pass(netlink: &Handle) {
    let bridge = netlink.link("br0").unwrap();
    assert_eq!(bridge.details, LinkDetails::Bridge { vlan_filtering: true });
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).master(&bridge)).unwrap();
    let a = netlink.link("a").unwrap();
    assert_eq!(netlink.vlans(&a).unwrap(), [BridgeVlan::native(1)]);
    netlink.delete_vlan(&a, 1).unwrap();
    netlink.add_vlan(&a, BridgeVlan::native(100)).unwrap();
    netlink.add_tagged_vlans(&a, 200..=202).unwrap();
    netlink.add_tagged_vlans(&a, 300..=300).unwrap();
    netlink.add_vlan(&bridge, BridgeVlan::tagged(100)).unwrap();
    let tagged = [200, 201, 202, 300].map(BridgeVlan::tagged);
    assert_eq!(netlink.vlans(&a).unwrap(), [&[BridgeVlan::native(100)][..], &tagged].concat());
    assert_eq!(netlink.vlans(&bridge).unwrap(), [BridgeVlan::native(1), BridgeVlan::tagged(100)]);
    assert!(netlink.delete_vlan(&a, 1).unwrap_err().is_not_found());
}

#[test]
fn settings_of_a_bridge_need_a_bridge() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    veth(&netlink, "a", "b");
    let a = netlink.link("a").unwrap();
    let options = BridgeOptions { vlan_filtering: Some(true), ..BridgeOptions::default() };
    let error = netlink.change_bridge(&a, &options).unwrap_err();
    assert!(error.to_string().starts_with(&format!("failed to set {a}: BridgeOptions {{")), "{error}");
}

#[test]
fn whether_a_kind_can_be_made_is_told_and_nothing_is() {
    let Some(host) = TestNetns::new() else { return };
    let netlink = host.netlink().unwrap();
    for kind in ["bridge", "ifb", "macvlan", "veth"] {
        netlink.try_kind(kind).unwrap();
    }
    let error = netlink.try_kind("nothing").unwrap_err();
    assert!(error.is_unsupported());
    assert!(error.to_string().starts_with(r#"failed to create nothing "cni/probe""#), "{error}");
    assert_eq!(netlink.links().unwrap().len(), 1);
}
