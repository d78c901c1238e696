//! On a made-up kernel, with a made-up `ip`.

use std::sync::Arc;

use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use plugin_attach::testing::{NETNS, World, addresses, commands};
use plugin_support::firewall::{Call, Outcome, Tools};
use plugin_support::netlink::{BridgeOptions, LinkChange, LinkKind, NewLink};
use plugin_support::testing::FakeKernel;
use serde_json::{Value, json};
use tap::Tap;

use crate::config;

/// `ip tuntap`, as far as the plugin uses it.
#[derive(Debug)]
struct Ip(FakeKernel);

impl Tools for Ip {
    fn run(&self, call: &Call) -> plugin_support::Result<Outcome> {
        let words: Vec<_> = call.args.iter().map(String::as_str).collect();
        match (call.tool.as_str(), words.as_slice()) {
            ("ip", ["tuntap", "show"]) => {}
            ("ip", ["tuntap", "add", "mode", "tap", "name", name, ..]) => {
                self.0.add_link(NETNS, name, "tun")?;
            }
            _ => panic!("{call}"),
        }
        Ok(Outcome {
            success: true,
            status: "exit status: 0".into(),
            stdout: String::new(),
            stderr: String::new(),
        })
    }
}

fn world() -> World<Tap> {
    let world = World::new(|_, fake| Tap::on(Arc::new(Ip(fake.clone())), fake.into()));
    world.inside().create(&NewLink::new("br0", LinkKind::Bridge(BridgeOptions::default())).up()).unwrap();
    world
}

#[test]
fn a_container_gets_an_interface_for_a_program() {
    let world = world();
    let config =
        config(&json!({"mtu": 1400, "mac": "02:00:00:00:00:01", "owner": 0, "group": 0, "bridge": "br0"}));
    let added = world.add(&config);
    added.assert_success();
    let eth0 = world.inside().link("eth0").unwrap();
    assert!(eth0.is_kind("tun") && eth0.is_up());
    assert_eq!((eth0.mac.unwrap().to_string().as_str(), eth0.mtu), ("02:00:00:00:00:01", 1400));
    assert_eq!(eth0.master, Some(world.inside().link("br0").unwrap().index));
    assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24"]);
    let result = added.result();
    assert_eq!((result.interfaces.len(), result.ips[0].interface), (1, Some(0)));
    assert_eq!(result.interfaces[0].sandbox.as_deref(), Some(NETNS));
    assert_eq!(world.container().sysctl().read("net/ipv4/conf/eth0/arp_notify").unwrap(), "1");
    world.check(&config, &added).assert_success();
}

#[test]
fn without_ipam_it_is_a_link_alone() {
    let world = world();
    let l2 = config(&json!({"ipam": null}));
    let added = world.add(&l2);
    assert_eq!((added.result().interfaces.len(), added.result().ips.len()), (1, 0));
    assert!(world.inside().link("eth0").unwrap().is_up());
    world.check(&l2, &added).assert_success();
    world.del(&l2).assert_success();
}

#[test]
fn the_runtimes_mac_goes_first() {
    let world = world();
    let call = Invocation::add("c1", NETNS, "eth0").config(config(&json!({"mac": "02:00:00:00:00:01"})));
    let added = world.run(call.args("MAC=02:00:00:00:00:02").capability("mac", "02:00:00:00:00:03"));
    assert_eq!(added.result().interfaces[0].mac.as_deref(), Some("02:00:00:00:00:03"));
    world.del(&config(&json!({}))).assert_success();
    let call = Invocation::add("c1", NETNS, "eth0").config(config(&json!({})));
    let outcome = world.run(call.args("MAC=bogus"));
    assert!(outcome.assert_error(4).msg.starts_with("invalid args bogus for MAC addr: CNI_ARGS: MAC"));
}

#[test]
fn a_bridge_that_is_missing_or_none_leaves_nothing() {
    for (bridge, told) in [
        ("gone", "failed to get bridge gone: Link not found"),
        ("lo", "failed to set tap eth0 as a port of bridge lo"),
    ] {
        let world = world();
        let outcome = world.add(&config(&json!({"bridge": bridge})));
        let error = outcome.assert_error(999);
        assert!(error.msg.starts_with(told), "{error}");
        assert_eq!(world.inside().links().unwrap().len(), 2);
        assert!(commands(&outcome).is_empty());
    }
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let keys = json!({"bridge": "br0"});
    let changed = |change: &dyn Fn(&World<Tap>), other: Value, told: &str| {
        let world = world();
        let added = world.add(&config(&keys));
        change(&world);
        let outcome = world.check(&config(&other), &added);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
    };
    let set = |world: &World<Tap>, change: LinkChange<'_>| {
        world.inside().change(&world.inside().link("eth0").unwrap(), &change).unwrap();
    };
    changed(
        &|world| set(world, LinkChange::new().mtu(1300)),
        json!({"mtu": 1500}),
        "has mtu 1300, expected 1500",
    );
    changed(&|_| (), json!({"bridge": "gone"}), "failed to get bridge gone: Link not found");
    changed(
        &|world| set(world, LinkChange::new().no_master()),
        keys.clone(),
        "tap eth0 is not a port of bridge br0",
    );
    changed(&|world| set(world, LinkChange::new().down()), json!({}), "eth0 is down");
    changed(&|world| set(world, LinkChange::new().name("net7")), json!({}), "eth0 not found");
}

#[test]
fn status_asks_the_program_and_the_ipam_plugin() {
    let world = world();
    let outcome = world.run(Invocation::status().config(config(&json!({}))));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Status]);
    world.run(Invocation::status().config(config(&json!({"mtu": 1})))).assert_error(7);
    /// No program at all.
    #[derive(Debug)]
    struct Nothing;
    impl Tools for Nothing {
        fn run(&self, call: &Call) -> plugin_support::Result<Outcome> {
            Err(plugin_support::Error::ToolMissing { tool: call.tool.clone(), searched: Vec::new() })
        }
    }
    let world = World::<Tap>::new(|_, fake| Tap::on(Arc::new(Nothing), fake.into()));
    let outcome = world.run(Invocation::status().config(config(&json!({}))));
    assert!(outcome.assert_error(50).msg.starts_with("tap interfaces cannot be made: failed to find \"ip\""));
}

#[test]
fn a_name_that_is_taken_is_refused_and_its_owner_lives_on() {
    world().assert_taken_names_are_refused(&config(&json!({})), &config(&json!({"name": "n2"})));
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    World::assert_all_or_nothing(
        world,
        &config(&json!({"mtu": 1400, "mac": "02:00:00:00:00:01", "bridge": "br0"})),
        &["find link \"eth0\""],
    );
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    World::assert_del_cleans_up_after_a_crash(
        world,
        &config(&json!({"mtu": 1400, "mac": "02:00:00:00:00:01", "bridge": "br0"})),
    );
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
fn gc_asks_the_ipam_plugin() {
    world().assert_gc_asks_the_ipam_plugin(&config(&json!({})));
}
