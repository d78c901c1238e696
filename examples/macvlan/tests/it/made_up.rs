//! On a made-up kernel.

use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use macvlan::Macvlan;
use plugin_attach::testing::{NETNS, World, addresses, commands};
use plugin_support::netlink::{
    LinkChange, LinkDetails, LinkKind, MacvlanMode, NewAddress, NewLink, Peer, Route,
};
use plugin_support::testing::FakeKernel;
use serde_json::{Value, json};

use crate::{l2, l3};

/// A host whose default route is by `up0`.
fn world() -> World<Macvlan> {
    let world = World::new(|_, fake| Macvlan::on(fake.into()));
    let host = world.host();
    host.create(&NewLink::new("up0", LinkKind::Veth(Peer::new("cable")))).unwrap();
    let up0 = host.link("up0").unwrap();
    host.set_up(&up0).unwrap();
    host.set_up(&host.link("cable").unwrap()).unwrap();
    let network = |text: &str| text.parse::<ipnetwork::IpNetwork>().unwrap();
    host.add_address(&up0, &NewAddress::new(network("192.0.2.1/24"))).unwrap();
    host.add_route(&Route::to(network("0.0.0.0/0")).dev(&up0)).unwrap();
    world
}

#[test]
fn a_container_gets_a_link_on_the_masters() {
    for keys in [json!({}), json!({"master": ""})] {
        let world = world();
        let added = world.add(&l3(&keys));
        added.assert_success();
        let (eth0, up0) = (world.inside().link("eth0").unwrap(), world.host().link("up0").unwrap());
        assert!(eth0.is_kind("macvlan") && eth0.is_up());
        assert_eq!(eth0.peer, Some(up0.index));
        assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24"]);
        let result = added.result();
        assert_eq!(result.interfaces.len(), 1);
        assert_eq!(result.interfaces[0].mac, eth0.mac.map(|mac| mac.to_string()));
        assert_eq!(
            (result.interfaces[0].sandbox.as_deref(), result.ips[0].interface),
            (Some(NETNS), Some(0))
        );
        let sysctl = |key: &str| world.container().sysctl().read(&format!("net/{key}")).unwrap();
        assert_eq!(sysctl("ipv4/conf/eth0/arp_notify"), "1");
        world.check(&l3(&keys), &added).assert_success();
    }
}

#[test]
fn settings_arrive() {
    let world = world();
    let config = l3(&json!({"mode": "private", "mtu": 1400, "bcqueuelen": 2000, "mac": "02:00:00:00:00:01"}));
    let call = Invocation::add("c1", NETNS, "eth0").config(&config).capability("mac", "02:00:00:00:00:03");
    let added = world.run(call.args("MAC=02:00:00:00:00:02"));
    added.assert_success();
    let eth0 = world.inside().link("eth0").unwrap();
    assert_eq!((eth0.mac.unwrap().to_string().as_str(), eth0.mtu), ("02:00:00:00:00:03", 1400));
    assert_eq!(
        eth0.details,
        LinkDetails::Macvlan { mode: MacvlanMode::Private, broadcast_queue: Some(2000) }
    );
    world.check(&config, &added).assert_success();
    for (keys, told) in [
        (json!({"mode": "vepa"}), "container macvlan mode private does not match expected value: vepa"),
        (json!({"bcqueuelen": 3000}), "has bcqueuelen 2000, expected 3000"),
        (json!({"master": "cable"}), "is not on master \"cable\""),
        (json!({"master": "gone"}), "failed to lookup master \"gone\": Link not found"),
    ] {
        let mut other = config.clone();
        other.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let outcome = world.check(&other, &added);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
    }
}

#[test]
fn the_master_may_be_the_containers_own() {
    let world = world();
    let inside = world.inside();
    inside.create(&NewLink::new("up0", LinkKind::Veth(Peer::new("elsewhere")))).unwrap();
    let config = l3(&json!({"linkInContainer": true}));
    let added = world.add(&config);
    added.assert_success();
    assert_eq!(inside.link("eth0").unwrap().peer, Some(inside.link("up0").unwrap().index));
    world.check(&config, &added).assert_success();
    assert!(world.check(&l3(&json!({})), &added).error().is_some(), "it is not the host's");
    world.del(&config).assert_success();
    assert!(inside.link("up0").is_ok());
    // STATUS cannot look into a container that is not there yet.
    world
        .run(Invocation::status().config(l3(&json!({"linkInContainer": true, "master": "eth7"}))))
        .assert_success();
}

#[test]
fn without_ipam_it_is_a_link_alone() {
    let world = world();
    let added = world.add(&l2(&json!({"dns": {"nameservers": ["192.0.2.53"]}})));
    let result = added.result();
    assert_eq!((result.interfaces.len(), result.ips.len(), result.dns.nameservers.len()), (1, 0, 1));
    assert!(world.inside().link("eth0").unwrap().is_up());
    world.check(&l2(&json!({})), &added).assert_success();
    world.del(&l2(&json!({"ipam": {}}))).assert_success();
    // Old versions know no result without addresses, so that nothing is made.
    let before = world.fake.log();
    world.add(&l2(&json!({"cniVersion": "0.2.0"}))).assert_error(999);
    assert_eq!(world.fake.log(), before);
}

#[test]
fn what_the_configuration_can_tell_is_told_before_anything_is_made() {
    for (keys, code, told) in [
        (json!({"mode": "source"}), 7, "unknown macvlan mode: \"source\""),
        (json!({"mtu": 9000}), 7, "invalid MTU 9000, must be [0, master MTU(1500)]"),
        (json!({"mtu": -1}), 7, "invalid MTU -1, must be [0, master MTU(1500)]"),
        (json!({"mac": "bogus"}), 7, "invalid args bogus for MAC addr"),
        (json!({"mac": "01:00:5e:00:00:01"}), 7, "cannot be that of a group"),
        (json!({"master": "gone"}), 999, "failed to lookup master \"gone\": Link not found"),
    ] {
        let world = world();
        let before = world.fake.log();
        let outcome = world.add(&l3(&keys));
        assert!(outcome.assert_error(code).msg.contains(told), "{told}");
        assert!(commands(&outcome).is_empty());
        assert_eq!(world.fake.log(), before);
        world.del(&l3(&keys)).assert_success();
    }
    let world = World::<Macvlan>::new(|_, fake| Macvlan::on(fake.into()));
    let outcome = world.add(&l3(&json!({"master": null})));
    assert_eq!(outcome.assert_error(999).msg, "no default route interface found");
    world.del(&l3(&json!({"master": null}))).assert_success();
}

#[test]
fn a_name_that_is_taken_is_refused_and_its_owner_lives_on() {
    let world = world();
    world.assert_taken_names_are_refused(&l3(&json!({})), &l3(&json!({"name": "n2"})));
    // One that Go's plugin has made says nothing of its owner.
    let inside = world.inside();
    inside.change(&inside.link("eth0").unwrap(), &LinkChange::new().alias("")).unwrap();
    world.del(&l3(&json!({}))).assert_success();
    assert!(inside.link("eth0").is_err());
}

#[test]
fn other_links_are_left_alone() {
    let world = world();
    world.inside().create(&NewLink::new("eth0", LinkKind::Ifb)).unwrap();
    world.del(&l3(&json!({}))).assert_success();
    assert!(world.inside().link("eth0").is_ok(), "of another kind");
    let world = self::world();
    world.add(&l3(&json!({}))).assert_success();
    let inside = world.inside();
    inside.change(&inside.link("eth0").unwrap(), &LinkChange::new().name("net7")).unwrap();
    world.del(&l3(&json!({}))).assert_success();
    assert!(inside.link("net7").is_err(), "renamed, but ours");
}

#[test]
fn a_result_keeps_what_others_have_said() {
    let world = world()
        .with_addresses(json!({"ips": [{"address": "10.1.0.5/24"}], "dns": {"nameservers": ["10.1.0.1"]}}));
    let earlier = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "lo", "sandbox": NETNS}], "ips": [{"address": "127.0.0.1/8", "interface": 0}]});
    let call = Invocation::add("c1", NETNS, "eth0").config(l3(&json!({}))).prev_result(&earlier);
    let result = world.run(call).result();
    assert_eq!(result.interfaces.len(), 2);
    assert_eq!((result.ips[0].interface, result.ips[1].interface), (Some(0), Some(1)));
    assert_eq!(result.dns.nameservers, ["10.1.0.1"]);
}

#[test]
fn an_ipam_plugin_that_fails_or_has_nothing_leaves_no_link() {
    let failing = world();
    let outcome = Invocation::add("c1", NETNS, "eth0")
        .config(l3(&json!({})))
        .delegate("host-local", |call| match call.command() {
            Command::Add => call.fail(cni_skel::ErrorCode::TRY_AGAIN, "the store is locked"),
            _ => cni_skel::testing::DelegateReply::nothing(),
        })
        .run(&failing.plugin());
    outcome.assert_error(11);
    assert_eq!(failing.inside().links().unwrap().len(), 1);
    let empty = world().with_addresses(json!({}));
    let outcome = empty.add(&l3(&json!({})));
    assert_eq!(outcome.assert_error(999).msg, "IPAM plugin returned missing IP config");
    assert_eq!(commands(&outcome), [Command::Add, Command::Del]);
    assert_eq!(empty.inside().links().unwrap().len(), 1);
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    let full = l3(&json!({"mtu": 1400, "mac": "02:00:00:00:00:01"}));
    World::assert_all_or_nothing(world, &full, &["find link \"up0\"", "find link \"eth0\""]);
}

#[test]
fn c65_ipv4_alone_needs_no_ipv6() {
    let world = World::on(FakeKernel::without_ipv6(), |_, fake| Macvlan::on(fake.into()));
    world.host().create(&NewLink::new("up0", LinkKind::Veth(Peer::new("cable")))).unwrap();
    let added = world.add(&l3(&json!({})));
    added.assert_success();
    world.check(&l3(&json!({})), &added).assert_success();
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    World::assert_del_cleans_up_after_a_crash(world, &l3(&json!({})));
}

#[test]
fn c22_del_twice_before_add_and_without_the_netns() {
    World::assert_del_is_patient(world, &l3(&json!({})));
}

#[test]
fn c14_without_a_netns_the_hosts_links_are_left_alone() {
    let world = world();
    let host = world.host();
    let up0 = host.link("up0").unwrap();
    let kind = LinkKind::Macvlan { parent: &up0, mode: MacvlanMode::Bridge, broadcast_queue: None };
    host.create(&NewLink::new("eth0", kind)).unwrap();
    for path in [None, Some("")] {
        let call = Invocation::del("c1", "eth0").config(l3(&json!({})));
        world.run(if let Some(path) = path { call.netns(path) } else { call }).assert_success();
    }
    assert!(host.link("eth0").is_ok());
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let config = l3(&json!({}));
    let changed = |change: &dyn Fn(&World<Macvlan>), told: &str| {
        let world = world();
        let added = world.add(&config);
        world.check(&config, &added).assert_success();
        change(&world);
        let outcome = world.check(&config, &added);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
        assert_eq!(commands(&outcome), [Command::Check]);
    };
    let set = |world: &World<Macvlan>, change: LinkChange<'_>| {
        world.inside().change(&world.inside().link("eth0").unwrap(), &change).unwrap();
    };
    changed(&|world| world.host().delete(&world.host().link("up0").unwrap()).unwrap(), "not found");
    changed(
        &|world| set(world, LinkChange::new().name("net7")),
        "Container Interface name in prevResult: eth0 not found",
    );
    changed(&|world| set(world, LinkChange::new().down()), "eth0 is down");
    changed(&|world| set(world, LinkChange::new().mac([2, 0, 0, 0, 0, 9])), "doesn't match container Mac");
    changed(
        &|world| {
            let network: ipnetwork::IpNetwork = "10.1.0.5/24".parse().unwrap();
            world.inside().delete_address(&world.inside().link("eth0").unwrap(), network).unwrap();
        },
        "Failed to match addr 10.1.0.5/24 on interface eth0",
    );
    changed(
        &|world| {
            let everywhere: ipnetwork::IpNetwork = "0.0.0.0/0".parse().unwrap();
            world.inside().delete_route(&Route::to(everywhere)).unwrap();
        },
        "Expected Route {Dst:0.0.0.0/0 GW:<nil>} not found",
    );
    let world = world();
    world.inside().create(&NewLink::new("eth0", LinkKind::Ifb)).unwrap();
    let prev: Value = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "eth0", "sandbox": NETNS}]});
    let call = |netns: &str| Invocation::check("c1", netns, "eth0").config(&config).prev_result(&prev);
    let outcome = world.run(call(NETNS));
    assert_eq!(outcome.assert_error(999).msg, "Error: Container interface eth0 not of type macvlan");
    world.fake.add_netns("/run/netns/c2");
    let outcome = world.run(call("/run/netns/c2"));
    assert!(outcome.assert_error(999).msg.starts_with(&format!(
        "Sandbox in prevResult {NETNS} doesn't match configured netns: /run/netns/c2"
    )));
}

#[test]
fn a_later_plugin_of_the_chain_may_change_the_mtu_and_nobody_else() {
    let set = |world: &World<Macvlan>| {
        world.inside().change(&world.inside().link("eth0").unwrap(), &LinkChange::new().mtu(1300)).unwrap();
    };
    let (world, config) = (world(), l3(&json!({"mtu": 1400})));
    let added = world.add(&config);
    set(&world);
    let outcome = world.check(&config, &added);
    assert!(outcome.assert_error(999).msg.contains("has mtu 1300, expected 1400"));
    let mut tuned = added.json();
    tuned["interfaces"][0]["mtu"] = json!(1300);
    let check = |config: &Value, result: &Value| {
        world.run(Invocation::check("c1", NETNS, "eth0").config(config).prev_result(result))
    };
    check(&config, &tuned).assert_success();
    // Older results cannot tell.
    tuned["cniVersion"] = json!("1.0.0");
    tuned["interfaces"][0].as_object_mut().unwrap().remove("mtu");
    check(&l3(&json!({"mtu": 1400, "cniVersion": "1.0.0"})), &tuned).assert_success();
}

#[test]
fn status_tells_that_the_master_is_missing_and_asks_the_ipam_plugin() {
    let world = world();
    let status = |keys: Value| world.run(Invocation::status().config(l3(&keys)));
    let outcome = status(json!({}));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Status]);
    status(json!({"master": null})).assert_success();
    status(json!({"master": "gone"})).assert_error(50);
    status(json!({"mtu": 9000})).assert_error(7);
    let outcome = world.run(Invocation::status().config(l2(&json!({}))));
    outcome.assert_success();
    assert!(commands(&outcome).is_empty());
}

#[test]
fn status_tells_that_the_kernel_lacks_the_driver() {
    world().assert_status_tells_of_a_missing_driver(&l3(&json!({})), "macvlan", "macvlan");
}

#[test]
fn gc_asks_the_ipam_plugin() {
    world().assert_gc_asks_the_ipam_plugin(&l3(&json!({"master": "gone"})));
}

#[test]
fn c97_conforms() {
    world().assert_conforms(&l3(&json!({})));
}
