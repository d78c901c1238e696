//! On a made-up kernel.

use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use ipvlan::Ipvlan;
use plugin_attach::testing::{NETNS, World, addresses, commands};
use plugin_support::netlink::{IpvlanMode, LinkChange, LinkDetails, LinkKind, NewLink, Peer, Route};
use serde_json::{Value, json};

use crate::config;

/// A host whose default route is by `up0`.
fn world() -> World<Ipvlan> {
    let world = World::new(|_, fake| Ipvlan::on(fake.into()));
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
fn a_container_gets_a_link_on_the_masters() {
    for (keys, mode) in [
        (json!({"master": ""}), IpvlanMode::L2),
        (json!({"mode": "l3", "mtu": 1400}), IpvlanMode::L3),
        (json!({"mode": "l3s"}), IpvlanMode::L3S),
    ] {
        let world = world();
        let added = world.add(&config(&keys));
        added.assert_success();
        let (eth0, up0) = (world.inside().link("eth0").unwrap(), world.host().link("up0").unwrap());
        assert_eq!((eth0.peer, eth0.details), (Some(up0.index), LinkDetails::Ipvlan { mode }));
        assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24"]);
        assert_eq!(added.result().ips[0].interface, Some(0));
        assert_eq!(world.container().sysctl().read("net/ipv4/conf/eth0/arp_notify").unwrap(), "1");
        world.check(&config(&keys), &added).assert_success();
    }
}

/// What a plugin says that has made a link of the host, with the container's addresses.
fn earlier(interfaces: &Value) -> Value {
    json!({
        "cniVersion": "1.1.0", "interfaces": interfaces, "ips": [{"address": "192.0.2.7/24", "interface": 0}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "192.0.2.1"}], "dns": {"nameservers": ["192.0.2.53"]},
    })
}

#[test]
fn in_a_chain_it_takes_over_the_addresses_of_the_earlier_plugin() {
    let world = world();
    let chained = config(&json!({"master": null, "ipam": {}}));
    let call =
        Invocation::add("c1", NETNS, "eth0").config(&chained).prev_result(earlier(&json!([{"name": "up0"}])));
    let added = world.run(call);
    added.assert_success();
    assert!(commands(&added).is_empty());
    assert_eq!(addresses(&world.inside(), "eth0"), ["192.0.2.7/24"]);
    let result = added.result();
    let names: Vec<_> = result.interfaces.iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!((names, result.ips[0].interface), (vec!["up0", "eth0"], Some(1)));
    assert_eq!(result.dns.nameservers, ["192.0.2.53"]);
    assert_eq!((result.ips.len(), result.routes.len()), (1, 1));
    world.check(&chained, &added).assert_success();
    world.del(&chained).assert_success();
    assert_eq!(world.inside().links().unwrap().len(), 1);
}

#[test]
fn in_a_chain_an_ipam_plugin_goes_first() {
    let world = world();
    let call = Invocation::add("c1", NETNS, "eth0").config(config(&json!({"master": null})));
    let added = world.run(call.prev_result(earlier(&json!([{"name": "up0"}]))));
    assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24"]);
    let result = added.result();
    assert_eq!((result.ips.len(), result.ips[0].interface, result.ips[1].interface), (2, Some(0), Some(1)));
}

#[test]
fn a_chain_must_name_one_master() {
    let world = world();
    let chained = config(&json!({"master": null, "ipam": null}));
    for interfaces in [json!([]), json!([{"name": "up0"}, {"name": "cable"}])] {
        let mut prev = earlier(&interfaces);
        prev["ips"] = json!([{"address": "192.0.2.7/24"}]);
        let call = Invocation::add("c1", NETNS, "eth0").config(&chained).prev_result(prev);
        let outcome = world.run(call);
        let error = outcome.assert_error(999);
        assert!(
            error.msg.starts_with("chained master failure. PrevResult lacks a single named interface"),
            "{error}"
        );
    }
}

#[test]
fn what_the_configuration_can_tell_is_told_before_anything_is_made() {
    for (keys, code, told) in [
        (json!({"mode": "l4"}), 7, "unknown ipvlan mode: \"l4\""),
        (json!({"mtu": 9000}), 7, "invalid MTU 9000, must be [0, master MTU(1500)]"),
        (json!({"master": "gone"}), 999, "failed to lookup master \"gone\": Link not found"),
        (json!({"ipam": {}}), 7, "no plugin name provided"),
    ] {
        let world = world();
        let before = world.fake.log();
        let outcome = world.add(&config(&keys));
        assert!(outcome.assert_error(code).msg.contains(told), "{told}");
        assert_eq!(world.fake.log(), before);
        world.del(&config(&keys)).assert_success();
    }
    let world = World::<Ipvlan>::new(|_, fake| Ipvlan::on(fake.into()));
    let config = config(&json!({"master": null}));
    assert_eq!(world.add(&config).assert_error(999).msg, "no default route interface found");
    let outcome = world.del(&config);
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Del], "also without a default route");
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let keys = config(&json!({}));
    let changed = |change: &dyn Fn(&World<Ipvlan>), other: Value, told: &str| {
        let world = world();
        let added = world.add(&keys);
        change(&world);
        let outcome = world.check(&config(&other), &added);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
    };
    let set = |world: &World<Ipvlan>, change: LinkChange<'_>| {
        world.inside().change(&world.inside().link("eth0").unwrap(), &change).unwrap();
    };
    changed(&|_| (), json!({"mode": "l3"}), "Container IPVlan mode l2 does not match expected value: l3");
    changed(
        &|world| set(world, LinkChange::new().mtu(1300)),
        json!({"mtu": 1500}),
        "has mtu 1300, expected 1500",
    );
    changed(&|_| (), json!({"master": "cable"}), "is not on master \"cable\"");
    changed(&|world| set(world, LinkChange::new().down()), json!({}), "eth0 is down");
    changed(&|world| set(world, LinkChange::new().name("net7")), json!({}), "eth0 not found");
}

#[test]
fn status_tells_that_the_master_is_missing_and_asks_the_ipam_plugin() {
    let world = world();
    let status = |keys: Value| world.run(Invocation::status().config(config(&keys)));
    let outcome = status(json!({}));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Status]);
    status(json!({"master": "gone"})).assert_error(50);
    status(json!({"master": null, "ipam": {}})).assert_success();
}

#[test]
fn a_name_that_is_taken_is_refused_and_its_owner_lives_on() {
    world().assert_taken_names_are_refused(&config(&json!({})), &config(&json!({"name": "n2"})));
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
    world().assert_status_tells_of_a_missing_driver(&config(&json!({})), "ipvlan", "ipvlan");
}

#[test]
fn gc_asks_the_ipam_plugin() {
    world().assert_gc_asks_the_ipam_plugin(&config(&json!({})));
}

#[test]
fn c97_conforms() {
    world().assert_conforms(&config(&json!({})));
}
