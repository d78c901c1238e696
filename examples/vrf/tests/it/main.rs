//! The plugin as a whole: on a made-up kernel, which needs no root, on the real one, and beside Go's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use cni_skel::testing::Invocation;
use ipnetwork::IpNetwork;
use plugin_attach::testing::{NETNS, Node, Pair, World, addresses};
use plugin_support::netlink::{Handle, LinkChange, LinkDetails, LinkKind, NewAddress, NewLink, Peer, Rule};
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};
use vrf::Vrf;

/// A configuration with these keys, after a plugin that has made `eth0`.
fn config(version: &str, keys: &Value) -> Value {
    let mut config = json!({"cniVersion": version, "name": "n1", "type": "vrf", "vrfname": "blue"});
    config["prevResult"] = json!({"cniVersion": version, "interfaces": [{"name": "eth0", "sandbox": NETNS}]});
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// A container with interfaces that have addresses.
fn world() -> World<Vrf> {
    let world = World::<Vrf>::new(|_, fake| Vrf::on(fake.into()));
    let inside = world.inside();
    for (name, peer) in [("net1", "cable1"), ("eth0", "cable0")] {
        inside.create(&NewLink::new(name, LinkKind::Veth(Peer::new(peer)))).unwrap();
        let link = inside.link(name).unwrap();
        for address in ["10.1.0.5/24", "fd00::5/64"] {
            let network: IpNetwork = address.parse().unwrap();
            inside.add_address(&link, &NewAddress::new(network)).unwrap();
        }
        inside.set_up(&link).unwrap();
    }
    world
}

fn table(netlink: &Handle, name: &str) -> u32 {
    let LinkDetails::Vrf { table } = netlink.link(name).unwrap().details else { panic!("no domain") };
    table
}

#[test]
fn an_interface_is_put_in_and_taken_out() {
    let world = world();
    let config = config("1.1.0", &json!({}));
    let added = world.add(&config);
    assert_eq!(added.json(), config["prevResult"]);
    let inside = world.inside();
    let blue = inside.link("blue").unwrap();
    assert!(blue.is_up() && inside.link("eth0").unwrap().master == Some(blue.index));
    assert_eq!(table(&inside, "blue"), 1);
    assert_eq!(addresses(&inside, "eth0"), ["10.1.0.5/24", "fd00::5/64"]);
    world.check(&config, &added).assert_success();
    for _ in 0..2 {
        world.del(&config).assert_success();
        assert!(inside.link("blue").is_err() && inside.link("eth0").unwrap().master.is_none());
    }
    world.add(&config).assert_success();
}

#[test]
fn a_domain_lives_as_long_as_it_has_interfaces() {
    let world = world();
    let config = config("1.0.0", &json!({"table": 1001}));
    world.add(&config).assert_success();
    let inside = world.inside();
    world.run(Invocation::add("c1", NETNS, "net1").config(&config)).assert_success();
    assert_eq!(table(&inside, "blue"), 1001);
    world.del(&config).assert_success();
    assert!(inside.link("blue").is_ok());
    world.run(Invocation::del("c1", "net1").netns(NETNS).config(&config)).assert_success();
    assert!(inside.link("blue").is_err());
}

#[test]
fn tables_in_use_are_passed_over() {
    let world = world();
    let inside = world.inside();
    inside.create(&NewLink::new("red", LinkKind::Vrf { table: 1 })).unwrap();
    // With Go's, only other domains count.
    inside.add_rule(&Rule::from_source("10.7.0.1".parse().unwrap(), 2)).unwrap();
    world.add(&config("1.0.0", &json!({"table": 0}))).assert_success();
    assert_eq!(table(&inside, "blue"), 3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |keys: Value, code: u64, told: &str| {
        let world = world();
        let inside = world.inside();
        inside.create(&NewLink::new("br0", LinkKind::Bridge(Default::default()))).unwrap();
        inside.create(&NewLink::new("red", LinkKind::Vrf { table: 7 })).unwrap();
        inside
            .change(&inside.link("net1").unwrap(), &LinkChange::new().master(&inside.link("br0").unwrap()))
            .unwrap();
        let before = world.fake.log();
        let config = config("1.0.0", &keys);
        let ifname = keys["ifname"].as_str().unwrap_or("eth0");
        let outcome = world.run(Invocation::add("c1", NETNS, ifname).config(&config));
        let error = outcome.error().unwrap_or_else(|| panic!("{told}"));
        assert!(error.msg.starts_with(told) && error.code().value() == code, "{error}");
        assert_eq!(world.fake.log(), before);
        // With Go's, DEL fails for the same reason, or takes the port out of its bridge.
        world.run(Invocation::del("c1", ifname).netns(NETNS).config(&config)).assert_success();
        assert!(inside.link("net1").unwrap().master.is_some());
    };
    refused(json!({"vrfname": ""}), 7, "configuration is expected to have a valid vrf name");
    refused(
        json!({"vrfname": "red", "table": 8}),
        999,
        "cmdAdd failed: VRF red already exist with different routing table 7",
    );
    refused(json!({"vrfname": "br0"}), 999, "cmdAdd failed: Netlink br0 is not a VRF");
    refused(json!({"ifname": "net1"}), 999, "cmdAdd failed: interface net1 has already a master set: br0");
    refused(json!({"ifname": "eth7"}), 999, "cmdAdd failed: could not get link by name eth7");
    let call = Invocation::add("c1", NETNS, "eth0")
        .config(json!({"cniVersion": "1.0.0", "name": "n1", "type": "vrf", "vrfname": "blue"}));
    assert_eq!(world().run(call).assert_error(7).msg, "missing prevResult from earlier plugin");
    world().add(&config("0.3.0", &json!({}))).assert_error(1);
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    World::assert_all_or_nothing(world, &config("1.0.0", &json!({})), &["find link \"eth0\"", "list rules"]);
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    World::assert_del_cleans_up_after_a_crash(world, &config("1.0.0", &json!({})));
}

#[test]
fn c22_del_before_add_and_without_the_netns() {
    let world = world();
    let config = config("1.0.0", &json!({}));
    world.del(&config).assert_success();
    world.add(&config).assert_success();
    let inside = world.inside();
    inside.delete(&inside.link("eth0").unwrap()).unwrap();
    world.del(&config).assert_success();
    assert!(inside.link("blue").is_err(), "its last interface has gone");
    for path in [None, Some(""), Some("/run/netns/long-gone")] {
        let call = Invocation::del("c1", "eth0").config(&config);
        world.run(if let Some(path) = path { call.netns(path) } else { call }).assert_success();
    }
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let config = config("1.0.0", &json!({"table": 9}));
    let changed = |change: &dyn Fn(&Handle), told: &str| {
        let world = world();
        let added = world.add(&config);
        change(&world.inside());
        let outcome = world.check(&config, &added);
        let error = outcome.assert_error(999);
        assert!(error.msg.starts_with(told), "{told}: {error}");
    };
    let link = |inside: &Handle, name: &str| inside.link(name).unwrap();
    changed(
        &|inside| inside.change(&link(inside, "eth0"), &LinkChange::new().no_master()).unwrap(),
        "Failed to find eth0 associated to vrf blue",
    );
    changed(&|inside| inside.set_down(&link(inside, "blue")).unwrap(), "VRF blue is down");
    changed(&|inside| inside.delete(&link(inside, "blue")).unwrap(), "Link not found");
    changed(
        &|inside| {
            inside.delete(&link(inside, "blue")).unwrap();
            inside.create(&NewLink::new("blue", LinkKind::Vrf { table: 8 })).unwrap();
        },
        "VRF blue already exist with different routing table 8",
    );
}

#[test]
fn status_looks_for_name_and_driver_and_gc_has_nothing_to_do() {
    let world = world();
    world.assert_status_tells_of_a_missing_driver(&config("1.1.0", &json!({})), "vrf", "vrf");
    world.run(Invocation::status().config(config("1.1.0", &json!({"vrfname": ""})))).assert_error(7);
    world.run(Invocation::gc([]).config(config("1.1.0", &json!({})))).assert_success();
}

#[test]
fn c97_conforms() {
    let world = world();
    // Those that the checks name, with the interfaces that they ask for.
    let netns = |number| format!("/run/netns/conformance-{}-{number}", std::process::id());
    for number in 1..=2 {
        world.fake.add_netns(netns(number));
        let inside = plugin_support::kernel::Kernel::from(&world.fake).netns(netns(number)).unwrap();
        let inside = inside.netlink().unwrap();
        for name in ["eth0", "cf2", "cf3", "cf99"] {
            inside.create(&NewLink::new(name, LinkKind::Veth(Peer::new(format!("to-{name}"))))).unwrap();
        }
    }
    world.assert_conforms(&config("1.1.0", &json!({})));
}

/// On the real kernel, with Go's plugin beside: a domain, or the same refusal and nothing left. Needs root.
#[test]
fn the_kernel_has_domains_or_says_that_it_has_not() {
    let Some(pair) = Pair::new("vrf", env!("CARGO_BIN_EXE_vrf")) else { return };
    for (whose, binary) in pair.both() {
        let (Some(node), Some(a)) = (Node::<Vrf>::new(), TestNetns::new()) else { return };
        a.ip("link add eth0 type veth peer name cable");
        a.ip("addr add fd00::5/64 dev eth0 nodad");
        a.ip("link set eth0 up");
        let config = config("1.0.0", &json!({"table": 1001}));
        let added = node.call(&binary, "ADD", "c1", a.path(), &config);
        let netlink = a.netlink().unwrap();
        if added.success {
            assert_eq!(table(&netlink, "blue"), 1001);
            assert!(addresses(&netlink, "eth0").contains(&"fd00::5/64".to_owned()), "{whose}");
            assert!(node.call(&binary, "CHECK", "c1", a.path(), &config).success, "{whose}");
        } else {
            let msg = added.stdout["msg"].as_str().unwrap();
            assert!(msg.starts_with("cmdAdd failed: could not add VRF blue: "), "{whose}: {msg}");
            assert!(msg.ends_with("operation not supported"), "{whose}: {msg}");
        }
        node.assert_status_agrees(&self::config("1.1.0", &json!({})), added.success);
        for _ in 0..2 {
            assert!(node.call(&binary, "DEL", "c1", a.path(), &config).success, "{whose}");
        }
        assert!(netlink.link("blue").is_err() && netlink.link("eth0").unwrap().master.is_none());
    }
}
