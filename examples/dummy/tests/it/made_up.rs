//! On a made-up kernel.

use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use dummy::Dummy;
use plugin_attach::testing::{NETNS, World, addresses, commands};
use plugin_support::netlink::{LinkChange, LinkKind, NewLink, Route};
use serde_json::json;

use crate::config;

fn world() -> World<Dummy> {
    World::new(|_, fake| Dummy::on(fake.into()))
}

#[test]
fn a_container_gets_an_interface_for_its_addresses() {
    let world = world().with_addresses(json!({
        "ips": [{"address": "10.1.0.5/32"}, {"address": "fd00:1::5/128"}], "dns": {"nameservers": ["10.1.0.1"]},
    }));
    // Also if the host has one of the name.
    world.host().create(&NewLink::new("eth0", LinkKind::Ifb)).unwrap();
    let added = world.add(&config(&json!({})));
    added.assert_success();
    let eth0 = world.inside().link("eth0").unwrap();
    assert!(eth0.is_kind("dummy") && eth0.is_up());
    assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/32", "fd00:1::5/128"]);
    let result = added.result();
    assert!(result.ips.iter().all(|ip| ip.interface == Some(0)));
    assert_eq!(result.interfaces[0].mac, eth0.mac.map(|mac| mac.to_string()));
    assert_eq!((result.interfaces[0].sandbox.as_deref(), result.dns.nameservers.len()), (Some(NETNS), 1));
    world.check(&config(&json!({})), &added).assert_success();
}

#[test]
fn without_addresses_there_is_nothing_to_make() {
    let world = world();
    for ipam in [json!({}), json!(null), json!({"type": ""})] {
        let config = config(&json!({"ipam": ipam}));
        let outcome = world.add(&config);
        assert!(outcome.assert_error(7).msg.starts_with("dummy interface requires an IPAM configuration"));
        world.run(Invocation::status().config(&config)).assert_error(7);
        world.del(&config).assert_success();
    }
    assert_eq!(world.fake.log(), [""; 0]);
    let outcome = world.run(Invocation::status().config(config(&json!({}))));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Status]);
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let keys = config(&json!({}));
    let changed = |change: &dyn Fn(&World<Dummy>), told: &str| {
        let world = world();
        let added = world.add(&keys);
        change(&world);
        let outcome = world.check(&keys, &added);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
    };
    let set = |world: &World<Dummy>, change: LinkChange<'_>| {
        world.inside().change(&world.inside().link("eth0").unwrap(), &change).unwrap();
    };
    changed(&|world| set(world, LinkChange::new().down()), "eth0 is down");
    changed(
        &|world| set(world, LinkChange::new().name("net7")),
        "Container Interface name in prevResult: eth0 not found",
    );
    changed(&|world| set(world, LinkChange::new().mac([2, 0, 0, 0, 0, 9])), "doesn't match container Mac");
    changed(
        &|world| {
            let everywhere: ipnetwork::IpNetwork = "0.0.0.0/0".parse().unwrap();
            world.inside().delete_route(&Route::to(everywhere)).unwrap();
        },
        "Expected Route {Dst:0.0.0.0/0 GW:<nil>} not found",
    );
    let world = world();
    world.inside().create(&NewLink::new("eth0", LinkKind::Ifb)).unwrap();
    let prev = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "eth0", "sandbox": NETNS}]});
    let outcome = world.run(Invocation::check("c1", NETNS, "eth0").config(&keys).prev_result(&prev));
    assert_eq!(outcome.assert_error(999).msg, "Error: Container interface eth0 not of type dummy");
}

#[test]
fn a_name_that_is_taken_is_refused_and_its_owner_lives_on() {
    world().assert_taken_names_are_refused(&config(&json!({})), &config(&json!({"name": "n2"})));
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    World::assert_all_or_nothing(world, &config(&json!({})), &["find link \"eth0\""]);
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    World::assert_del_cleans_up_after_a_crash(world, &config(&json!({})));
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
    world().assert_status_tells_of_a_missing_driver(&config(&json!({})), "dummy", "dummy");
}

#[test]
fn gc_asks_the_ipam_plugin() {
    world().assert_gc_asks_the_ipam_plugin(&config(&json!({})));
}

#[test]
fn c97_conforms() {
    world().assert_conforms(&config(&json!({})));
}
