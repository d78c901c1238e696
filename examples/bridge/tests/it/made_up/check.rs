//! CHECK finds everything that is not as ADD made it.

use cni_skel::testing::{DelegateReply, Invocation, Outcome};
use cni_skel::types::Command;
use plugin_support::Mac;
use plugin_support::netlink::{Handle, LinkChange, PortOptions, Route};
use serde_json::{Value, json};

use super::world::{NETNS, World, commands, config, l3};

fn full() -> Value {
    l3(&json!({"isGateway": true, "hairpinMode": true, "portIsolation": true, "mtu": 1400}))
}

fn dual() -> World {
    World::new().with_addresses(json!({
        "ips": [{"address": "10.1.0.5/24"}, {"address": "fd00::5/64"}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.168.0.0/16", "gw": "10.1.0.7"}],
    }))
}

/// What CHECK says after a change.
fn told(config: &Value, change: impl Fn(&World)) -> String {
    let world = dual();
    let added = world.add(config);
    added.assert_success();
    change(&world);
    world.check(config, &added).assert_error(999).msg.clone()
}

fn set(netlink: &Handle, link: &str, change: &LinkChange<'_>) {
    netlink.change(&netlink.link(link).unwrap(), change).unwrap();
}

#[test]
fn what_is_as_it_was_made_is_good() {
    let (world, config) = (dual(), full());
    let added = world.add(&config);
    added.assert_success();
    let checked = world.check(&config, &added);
    checked.assert_success();
    assert_eq!(commands(&checked), [Command::Check]);
}

#[test]
fn every_change_of_a_link_is_found() {
    let config = full();
    let mac = Mac([2, 0, 0, 0, 0, 1]);
    for (expected, change) in [
        (
            "CNI created bridge cni0 in host namespace was not found",
            &(|world: &World| world.host().delete(&world.host().link("cni0").unwrap()).unwrap())
                as &dyn Fn(&World),
        ),
        ("Bridge interface cni0 Mac doesn't match: ", &|world| {
            set(&world.host(), "cni0", &LinkChange::new().mac(mac));
        }),
        ("Bridge interface cni0 is down", &|world| set(&world.host(), "cni0", &LinkChange::new().down())),
        ("Interface name eth0 not found", &|world| {
            set(&world.inside(), "eth0", &LinkChange::new().name("eth1"));
        }),
        ("Interface eth0 Mac ", &|world| set(&world.inside(), "eth0", &LinkChange::new().mac(mac))),
        ("container interface eth0 is down", &|world| {
            set(&world.inside(), "eth0", &LinkChange::new().down());
        }),
        ("container interface eth0 has mtu 1300, expected 1400", &|world| {
            set(&world.inside(), "eth0", &LinkChange::new().mtu(1300));
        }),
        ("CNI veth created for bridge cni0 was not found: ", &|world| {
            world.host().change(&world.port(), &LinkChange::new().no_master()).unwrap();
        }),
        ("CNI veth created for bridge cni0 was not found: ", &|world| {
            world.host().change(&world.port(), &LinkChange::new().name("other")).unwrap();
        }),
        ("Interface veth", &|world| world.host().change(&world.port(), &LinkChange::new().mac(mac)).unwrap()),
        ("Interface veth", &|world| world.host().set_down(&world.port()).unwrap()),
    ] {
        let told = told(&config, change);
        assert!(told.starts_with(expected), "{told:?} is not {expected:?}");
    }
}

#[test]
fn settings_of_the_port_are_looked_at() {
    let port = |options: PortOptions| {
        told(&full(), move |world| world.host().change_port(&world.port(), &options).unwrap())
    };
    let told = port(PortOptions { hairpin: Some(false), ..PortOptions::default() });
    assert!(told.ends_with("hairpinMode is false, expected true"), "{told}");
    let told = port(PortOptions { isolated: Some(false), ..PortOptions::default() });
    assert!(told.ends_with("portIsolation is false, expected true"), "{told}");
    let world = World::new();
    let config = config(&json!({}));
    let added = world.add(&config);
    world
        .host()
        .change_port(&world.port(), &PortOptions { hairpin: Some(true), ..PortOptions::default() })
        .unwrap();
    let error = world.check(&config, &added).assert_error(999).clone();
    assert!(error.msg.ends_with("hairpinMode is true, expected false"), "{error}");
}

#[test]
fn addresses_and_routes_are_looked_at() {
    let config = full();
    let inside = |world: &World, address: &str| {
        let netlink = world.inside();
        let network: ipnetwork::IpNetwork = address.parse().unwrap();
        netlink.delete_address(&netlink.link("eth0").unwrap(), network).unwrap();
    };
    assert_eq!(
        told(&config, |w| inside(w, "10.1.0.5/24")),
        "Failed to match addr 10.1.0.5/24 on interface eth0"
    );
    assert_eq!(
        told(&config, |w| inside(w, "fd00::5/64")),
        "Failed to match addr fd00::5/64 on interface eth0"
    );
    let without = |world: &World, destination: &str| {
        let network: ipnetwork::IpNetwork = destination.parse().unwrap();
        world.inside().delete_route(&Route::to(network)).unwrap();
    };
    assert_eq!(
        told(&config, |w| without(w, "10.1.0.0/24")),
        "Failed to find route to 10.1.0.0/24 of interface eth0"
    );
    assert_eq!(
        told(&config, |w| without(w, "0.0.0.0/0")),
        "Expected Route {Dst:0.0.0.0/0 GW:<nil>} not found in routing table"
    );
    assert_eq!(
        told(&config, |w| without(w, "192.168.0.0/16")),
        "Expected Route {Dst:192.168.0.0/16 GW:10.1.0.7} not found in routing table"
    );
    let other_gateway = told(&config, |world| {
        without(world, "192.168.0.0/16");
        let network: ipnetwork::IpNetwork = "192.168.0.0/16".parse().unwrap();
        let via: std::net::IpAddr = "10.1.0.8".parse().unwrap();
        world.inside().add_route(&Route::to(network).via(via)).unwrap();
    });
    assert!(other_gateway.starts_with("Expected Route {Dst:192.168.0.0/16"), "{other_gateway}");
}

#[test]
fn the_gateway_is_looked_at() {
    let config = full();
    for gateway in ["10.1.0.1/24", "fd00::1/64"] {
        let told = told(&config, |world| {
            let (host, network) = (world.host(), gateway.parse::<ipnetwork::IpNetwork>().unwrap());
            host.delete_address(&host.link("cni0").unwrap(), network).unwrap();
        });
        assert_eq!(told, format!("Failed to match addr {gateway} on interface cni0"));
    }
    for key in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
        let told = told(&config, |world| world.fake.host().sysctl().write(key, "0").unwrap());
        assert_eq!(told, format!("the host does not forward packets: {key} is 0"));
    }
}

#[test]
fn promiscuous_mode_is_looked_at_where_it_was_set() {
    let config = l3(&json!({"promiscMode": true}));
    let told = told(&config, |world| set(&world.host(), "cni0", &LinkChange::new().promisc(false)));
    assert!(told.contains("configured Promisc Mode true doesn't match current state: false"), "{told}");
    // Someone who looks at the traffic is no fault of the network.
    let (world, config) = (dual(), full());
    let added = world.add(&config);
    set(&world.host(), "cni0", &LinkChange::new().promisc(true));
    world.check(&config, &added).assert_success();
}

#[test]
fn c64_another_containers_link_is_no_change() {
    let config = config(&json!({}));
    let world = World::new();
    // As Go's plugin leaves it, the bridge has the address of one of its ports.
    let host = world.host();
    let bridge = plugin_support::netlink::LinkKind::Bridge(plugin_support::netlink::BridgeOptions::default());
    host.create(&plugin_support::netlink::NewLink::new("cni0", bridge).up()).unwrap();
    let added = world.add(&config);
    added.assert_success();
    let before = host.link("cni0").unwrap().mac;
    for n in 0.. {
        let netns = format!("/run/netns/x{n}");
        world.fake.add_netns(&netns);
        world.run(Invocation::add(&format!("x{n}"), &netns, "eth0").config(&config)).assert_success();
        world.check(&config, &added).assert_success();
        if host.link("cni0").unwrap().mac != before {
            break;
        }
    }
}

#[test]
fn the_sandbox_must_be_the_containers() {
    let (world, config) = (dual(), full());
    let mut result = world.add(&config).json();
    world.fake.add_netns("/run/netns/other");
    let check = |netns: &str, result: &Value| -> Outcome {
        world.run(Invocation::check("c1", netns, "eth0").config(&config).prev_result(result))
    };
    let error = check("/run/netns/other", &result).assert_error(999).clone();
    assert!(
        error.msg.starts_with(
            "Sandbox in prevResult /run/netns/c1 doesn't match configured netns: /run/netns/other"
        ),
        "{error}"
    );
    result["interfaces"].as_array_mut().unwrap().pop();
    let error = check(NETNS, &result).assert_error(999).clone();
    assert!(error.msg.starts_with("Sandbox in prevResult  doesn't match"), "{error}");
    result["interfaces"].as_array_mut().unwrap().clear();
    check(NETNS, &result).assert_error(999);
}

#[test]
fn what_ipam_finds_is_passed_on() {
    let (world, config) = (dual(), full());
    let added = world.add(&config);
    let call = Invocation::check("c1", NETNS, "eth0").config(&config).prev_result(added.json());
    let outcome = call
        .delegate("host-local", |call| call.fail(cni_skel::ErrorCode::new(120), "the address is lost"))
        .run(&world.plugin());
    assert!(outcome.assert_error(120).msg.ends_with("the address is lost"));
    let call = Invocation::check("c1", NETNS, "eth0").config(&config);
    let outcome = call.delegate("host-local", |_| DelegateReply::nothing()).run(&world.plugin());
    assert!(outcome.assert_error(7).msg.starts_with("Required prevResult missing"));
}

#[test]
fn upper_case_and_other_interfaces_of_the_chain_are_fine() {
    let (world, config) = (dual(), full());
    let mut result = world.add(&config).json();
    for interface in result["interfaces"].as_array_mut().unwrap() {
        interface["mac"] = json!(interface["mac"].as_str().unwrap().to_uppercase());
    }
    // Such as a later plugin may add: one that is not there, and an address that is not this interface's.
    result["interfaces"].as_array_mut().unwrap().push(json!({"name": "bwp123", "sandbox": ""}));
    result["ips"].as_array_mut().unwrap().push(json!({"interface": 3, "address": "10.77.0.5/24"}));
    let call = Invocation::check("c1", NETNS, "eth0").config(&config).prev_result(&result);
    world.run(call).assert_success();
}
