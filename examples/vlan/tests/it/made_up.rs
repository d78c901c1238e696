//! On a made-up kernel.

use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use plugin_attach::testing::{NETNS, World, addresses, commands};
use plugin_support::netlink::{LinkChange, LinkDetails, LinkKind, NewLink, Peer, Route};
use serde_json::{Value, json};
use vlan::Vlan;

use crate::config;

/// A host whose default route is by `up0`.
fn world() -> World<Vlan> {
    let world = World::new(|_, fake| Vlan::on(fake.into()));
    let host = world.host();
    host.create(&NewLink::new("up0", LinkKind::Veth(Peer::new("cable")))).unwrap();
    let up0 = host.link("up0").unwrap();
    host.set_up(&up0).unwrap();
    host.set_up(&host.link("cable").unwrap()).unwrap();
    let everywhere: ipnetwork::IpNetwork = "0.0.0.0/0".parse().unwrap();
    host.add_route(&Route::to(everywhere).dev(&up0)).unwrap();
    world
}

#[test]
fn a_container_gets_a_vlan_of_the_master() {
    let world = world();
    let config = config(&json!({"mtu": 1400, "dns": {"nameservers": ["192.0.2.53"]}}));
    let added = world.add(&config);
    added.assert_success();
    let (eth0, up0) = (world.inside().link("eth0").unwrap(), world.host().link("up0").unwrap());
    assert_eq!((eth0.peer, eth0.mtu, eth0.is_up()), (Some(up0.index), 1400, true));
    assert_eq!(eth0.details, LinkDetails::Vlan { id: 100 });
    assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24"]);
    let result = added.result();
    assert_eq!((result.interfaces.len(), result.ips[0].interface), (1, Some(0)));
    assert_eq!(result.interfaces[0].sandbox.as_deref(), Some(NETNS));
    assert_eq!(result.dns.nameservers, ["192.0.2.53"]);
    world.check(&config, &added).assert_success();
}

#[test]
fn the_master_may_be_the_containers_own() {
    let world = world();
    let inside = world.inside();
    inside.create(&NewLink::new("up0", LinkKind::Veth(Peer::new("elsewhere")))).unwrap();
    let config = config(&json!({"linkInContainer": true}));
    let added = world.add(&config);
    added.assert_success();
    assert_eq!(inside.link("eth0").unwrap().peer, Some(inside.link("up0").unwrap().index));
    world.check(&config, &added).assert_success();
    world.del(&config).assert_success();
    assert!(inside.link("up0").is_ok());
}

#[test]
fn what_the_configuration_can_tell_is_told_before_anything_is_made() {
    for (keys, code, told) in [
        (
            json!({"master": ""}),
            7,
            "\"master\" field is required. It specifies the host interface name to create the VLAN for",
        ),
        (json!({"vlanId": 4095}), 7, "invalid VLAN ID 4095 (must be between 0 and 4095 inclusive)"),
        (json!({"mtu": 9000}), 7, "invalid MTU 9000, must be [0, master MTU(1500)]"),
        (json!({"master": "gone"}), 999, "failed to lookup master \"gone\": Link not found"),
        (json!({"ipam": {}}), 7, "failed to execute IPAM delegate: no plugin name provided"),
    ] {
        let world = world();
        let before = world.fake.log();
        let outcome = world.add(&config(&keys));
        assert!(outcome.assert_error(code).msg.contains(told), "{told}");
        assert_eq!(world.fake.log(), before);
        // Whatever stands there, and whether or not the master is there.
        world.del(&config(&keys)).assert_success();
    }
}

#[test]
fn del_does_not_need_the_master() {
    let world = world();
    world.add(&config(&json!({}))).assert_success();
    world.host().delete(&world.host().link("up0").unwrap()).unwrap();
    let outcome = world.del(&config(&json!({})));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Del]);
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let keys = config(&json!({}));
    let changed = |change: &dyn Fn(&World<Vlan>), other: Value, told: &str| {
        let world = world();
        let added = world.add(&keys);
        change(&world);
        let outcome = world.check(&config(&other), &added);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
    };
    let set = |world: &World<Vlan>, change: LinkChange<'_>| {
        world.inside().change(&world.inside().link("eth0").unwrap(), &change).unwrap();
    };
    changed(
        &|_| (),
        json!({"vlanId": 7}),
        "Error: Tuning link eth0 configured vlanId is 7, current value is 100",
    );
    changed(
        &|world| set(world, LinkChange::new().mtu(1300)),
        json!({"mtu": 1500}),
        "has mtu 1300, expected 1500",
    );
    changed(&|_| (), json!({"master": "cable"}), "is not on master \"cable\"");
    changed(&|_| (), json!({"master": "gone"}), "failed to lookup master \"gone\"");
    changed(&|world| set(world, LinkChange::new().down()), json!({}), "eth0 is down");
    changed(&|world| set(world, LinkChange::new().name("net7")), json!({}), "eth0 not found");
    changed(&|world| set(world, LinkChange::new().mac([2, 0, 0, 0, 0, 9])), json!({}), "Mac");
}

#[test]
fn status_tells_that_the_master_is_missing_and_asks_the_ipam_plugin() {
    let world = world();
    let status = |keys: Value| world.run(Invocation::status().config(config(&keys)));
    let outcome = status(json!({}));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Status]);
    status(json!({"master": "gone"})).assert_error(50);
    status(json!({"master": "gone", "linkInContainer": true})).assert_success();
    status(json!({"ipam": {}})).assert_error(7);
}

#[test]
fn a_name_that_is_taken_is_refused_and_its_owner_lives_on() {
    world()
        .assert_taken_names_are_refused(&config(&json!({})), &config(&json!({"name": "n2", "vlanId": 200})));
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    World::assert_all_or_nothing(world, &config(&json!({"mtu": 1400})), &["find link \"eth0\""]);
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    World::assert_del_cleans_up_after_a_crash(world, &config(&json!({"mtu": 1400})));
}

#[test]
fn c22_del_twice_before_add_and_without_the_netns() {
    World::assert_del_is_patient(world, &config(&json!({})));
}

#[test]
fn links_of_another_kind_are_left_alone() {
    world().assert_other_links_are_left_alone(&config(&json!({})));
}

#[test]
fn status_tells_that_the_kernel_lacks_the_driver() {
    world().assert_status_tells_of_a_missing_driver(&config(&json!({})), "vlan", "8021q");
}

#[test]
fn gc_asks_the_ipam_plugin() {
    world().assert_gc_asks_the_ipam_plugin(&config(&json!({})));
}

#[test]
fn c97_conforms() {
    world().assert_conforms(&config(&json!({})));
}
