//! VLANs, on a kernel that keeps them apart.

use plugin_support::netlink::{BridgeOptions, BridgeVlan, LinkDetails, LinkKind, NewLink};
use serde_json::{Value, json};

use super::world::{World, addresses, config, l3, log};

/// The VLANs of the container's port after an ADD with these keys: native ones have a star.
fn vlans(keys: &Value) -> Vec<String> {
    let world = World::new();
    let (config, added) = (config(keys), world.add(&config(keys)));
    added.assert_success();
    let found = world.host().vlans(&world.port()).unwrap();
    world.check(&config, &added).assert_success();
    let text = |vlan: &BridgeVlan| {
        let native = *vlan == BridgeVlan::native(vlan.id);
        assert!(native || *vlan == BridgeVlan::tagged(vlan.id) || vlan.id == 1, "{vlan:?}");
        format!("{}{}", vlan.id, if native { "*" } else { "" })
    };
    found.iter().map(text).collect()
}

#[test]
fn the_port_is_in_its_vlans_and_in_no_other() {
    assert_eq!(vlans(&json!({})), ["1*"], "the kernel's default");
    assert_eq!(vlans(&json!({"vlan": 100})), ["100*"]);
    assert_eq!(vlans(&json!({"vlanTrunk": []})), ["1*"]);
    assert_eq!(
        vlans(&json!({"vlanTrunk": [{"minID": 10, "maxID": 12}, {"id": 20}]})),
        ["1*", "10", "11", "12", "20"]
    );
    assert_eq!(vlans(&json!({"vlan": 11, "vlanTrunk": [{"minID": 10, "maxID": 12}]})), ["10", "11*", "12"]);
    // A port can have one native VLAN; the default one is then only left untagged.
    assert_eq!(vlans(&json!({"vlan": 100, "preserveDefaultVlan": true})), ["1", "100*"]);
}

#[test]
fn the_bridge_keeps_vlans_apart_only_if_it_has_to() {
    for (keys, expected) in [
        (json!({}), false),
        (json!({"vlan": 0}), false),
        (json!({"vlan": 5}), true),
        (json!({"vlanTrunk": []}), true),
    ] {
        let world = World::new();
        world.add(&config(&keys)).assert_success();
        let details = world.host().link("cni0").unwrap().details;
        assert_eq!(details, LinkDetails::Bridge { vlan_filtering: expected }, "{keys}");
    }
}

#[test]
fn a_bridge_that_was_made_without_vlans_learns_them() {
    let world = World::new();
    world.host().create(&NewLink::new("cni0", LinkKind::Bridge(BridgeOptions::default())).up()).unwrap();
    world.add(&config(&json!({"vlan": 5}))).assert_success();
    let details = world.host().link("cni0").unwrap().details;
    assert_eq!(details, LinkDetails::Bridge { vlan_filtering: true }, "else all VLANs would be one");
}

#[test]
fn a_whole_trunk_is_one_request() {
    let world = World::new();
    world.add(&config(&json!({"vlanTrunk": [{"minID": 1, "maxID": 4094}]}))).assert_success();
    let added: Vec<_> = log(&world).into_iter().filter(|line| line.contains("vlans")).collect();
    assert_eq!(added, [r#"add vlans 2 to 4094 to link "veth*" (index N)"#]);
    assert_eq!(world.host().vlans(&world.port()).unwrap().len(), 4094);
}

#[test]
fn the_gateway_of_a_vlan_is_a_link_into_it() {
    let world = World::new();
    let config = l3(&json!({"vlan": 100, "isGateway": true}));
    let added = world.add(&config);
    added.assert_success();
    let host = world.host();
    let (bridge, gateway) = (host.link("cni0").unwrap(), host.link("cni0.100").unwrap());
    let result = added.result();
    assert_eq!(result.interfaces.len(), 4);
    assert_eq!(result.interfaces[3].name, "cni0.100");
    assert_eq!(result.interfaces[3].mac, gateway.mac.map(|mac| mac.to_string()));
    assert_eq!(
        (addresses(&host, "cni0.100"), addresses(&host, "cni0").len()),
        (vec!["10.1.0.1/24".into()], 0)
    );
    assert!(gateway.is_up() && gateway.is_kind("veth"));
    let port = host.link_by_index(gateway.peer.unwrap()).unwrap();
    assert!(port.is_up() && port.master == Some(bridge.index));
    assert_eq!(host.vlans(&port).unwrap(), [BridgeVlan::native(100)]);
    for link in ["cni0.100", &port.name] {
        assert_eq!(world.host_sysctl(&format!("net/ipv6/conf/{link}/accept_ra")), "0", "{link}");
    }
    world.check(&config, &added).assert_success();
    // The next container finds it, the one that a crashed ADD has left half done is completed.
    world.del(&config).assert_success();
    host.change(&port, &plugin_support::netlink::LinkChange::new().no_master().down()).unwrap();
    host.set_down(&gateway).unwrap();
    let added = world.add(&config);
    added.assert_success();
    let port = host.link_by_index(port.index).unwrap();
    assert_eq!(
        (port.master, host.vlans(&port).unwrap()),
        (Some(bridge.index), vec![BridgeVlan::native(100)])
    );
    assert!(host.link("cni0.100").unwrap().is_up());
    assert_eq!(world.host_links().len(), 5, "{:?}", world.host_links());
    world.check(&config, &added).assert_success();
}

#[test]
fn check_sees_a_vlan_that_is_missing_and_one_that_is_not_the_containers() {
    let config = config(&json!({"vlan": 100, "vlanTrunk": [{"minID": 200, "maxID": 210}]}));
    let added = || {
        let world = World::new();
        let added = world.add(&config);
        added.assert_success();
        (world, added)
    };
    let told = |change: &dyn Fn(&World)| {
        let (world, added) = added();
        change(&world);
        world.check(&config, &added).assert_error(999).msg.clone()
    };
    let lost = |id| told(&move |world: &World| world.host().delete_vlan(&world.port(), id).unwrap());
    assert!(lost(100).ends_with("vlan 100 not found"), "{}", lost(100));
    assert!(lost(205).ends_with("vlan 205 not found"), "{}", lost(205));
    let tagged = told(&|world| world.host().add_vlan(&world.port(), BridgeVlan::tagged(100)).unwrap());
    assert!(tagged.ends_with("vlan 100 not found"), "{tagged}");
    let foreign = told(&|world| world.host().add_vlan(&world.port(), BridgeVlan::tagged(300)).unwrap());
    assert!(foreign.ends_with("in vlan 300, which is not the container's"), "{foreign}");
    let open = told(&|world| {
        let off = BridgeOptions { vlan_filtering: Some(false), ..BridgeOptions::default() };
        world.host().change_bridge(&world.host().link("cni0").unwrap(), &off).unwrap();
    });
    assert!(open.contains("does not keep VLANs apart"), "{open}");
}

#[test]
fn check_sees_a_gateway_of_a_vlan_that_is_gone() {
    let config = l3(&json!({"vlan": 100, "isGateway": true}));
    let world = World::new();
    let added = world.add(&config);
    added.assert_success();
    world.host().delete(&world.host().link("cni0.100").unwrap()).unwrap();
    let error = world.check(&config, &added).assert_error(999).clone();
    assert!(error.msg.starts_with("Interface name cni0.100 not found"), "{error}");
}

#[test]
fn a_kernel_without_vlans_says_so() {
    let world = World::new();
    world.fake.refuse("create bridge", 95);
    let error = world.add(&config(&json!({"bridge": "brv", "vlan": 5}))).assert_error(999).clone();
    assert_eq!(error.msg, r#"failed to create bridge "brv": could not add "brv": operation not supported"#);
}
