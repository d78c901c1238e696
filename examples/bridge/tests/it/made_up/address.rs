//! Hardware addresses, IPv6, and addresses that contradict.

use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use plugin_support::netlink::{AddressFlags, BridgeOptions, LinkKind, NewAddress, NewLink, RouteFilter};
use serde_json::json;

use super::world::{NETNS, World, addresses, commands, config, l3};

const A: &str = "0a:00:00:00:00:01";
const B: &str = "0a:00:00:00:00:02";
const C: &str = "0a:00:00:00:00:03";

fn dual() -> World {
    World::new().with_addresses(json!({
        "ips": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00::5/64", "gateway": "fd00::1"}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    }))
}

#[test]
fn c103_the_address_that_counts_becomes_the_containers() {
    for (runtime, of_network, args, expected) in [
        (A, B, format!("MAC={C}"), A),
        ("", B, format!("MAC={C}"), B),
        ("", "", format!("MAC={C};IgnoreUnknown=1;X=y"), C),
    ] {
        let world = World::new();
        let config = config(&json!({"args": {"cni": {"mac": of_network}}}));
        let call = Invocation::add("c1", NETNS, "eth0").config(config).args(&args);
        let outcome = world.run(call.capability("mac", runtime));
        outcome.assert_success();
        assert_eq!(outcome.result().interfaces[2].mac.as_deref(), Some(expected));
        assert_eq!(world.inside().link("eth0").unwrap().mac.unwrap().to_string(), expected);
    }
}

#[test]
fn c103_a_malformed_address_is_refused_before_anything_is_made() {
    for mac in ["0a:58", "10.1.0.5", "01:00:5e:00:00:01", "0a:58:0a:01:00:05:06"] {
        let world = World::new();
        let call = Invocation::add("c1", NETNS, "eth0").config(l3(&json!({}))).capability("mac", mac);
        let outcome = world.run(call);
        let error = outcome.assert_error(7);
        assert!(error.msg.starts_with(&format!("runtimeConfig.mac: invalid MAC address {mac:?}")), "{error}");
        assert_eq!((world.fake.log().len(), commands(&outcome).len()), (0, 0));
        // The ADD failed, so a DEL follows with the same request.
        let call = Invocation::del("c1", "eth0").netns(NETNS).config(l3(&json!({}))).capability("mac", mac);
        world.run(call).assert_success();
    }
}

#[test]
fn unknown_arguments_are_refused_unless_they_are_to_be_ignored() {
    let world = World::new();
    let call = Invocation::add("c1", NETNS, "eth0").config(config(&json!({}))).args("K8S_POD_NAME=web");
    let outcome = world.run(call);
    assert!(outcome.assert_error(4).msg.contains(r#"unknown args ["K8S_POD_NAME=web"]"#));
}

#[test]
fn ipv6_is_prepared_in_the_container() {
    let world = dual();
    for link in ["lo", "default"] {
        world.container().sysctl().write(&format!("net/ipv6/conf/{link}/disable_ipv6"), "1").unwrap();
    }
    let outcome = world.add(&l3(&json!({"isGateway": true})));
    outcome.assert_success();
    assert_eq!(world.sysctl("net/ipv6/conf/eth0/accept_dad"), "0");
    assert_eq!(world.sysctl("net/ipv6/conf/eth0/keep_addr_on_down"), "1");
    assert_eq!(world.sysctl("net/ipv6/conf/lo/disable_ipv6"), "0");
    assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24", "fd00::5/64"]);
    let default = world.inside().routes(&RouteFilter::v6()).unwrap();
    let default = default.iter().find(|route| route.is_default()).unwrap();
    assert_eq!(
        default.gateway,
        Some("fd00::1".parse().unwrap()),
        "that of the family, as the route names none"
    );
    assert_eq!(world.host_addresses("cni0"), ["10.1.0.1/24", "fd00::1/64"]);
    assert_eq!(world.host_sysctl("net/ipv6/conf/all/forwarding"), "1");
    let host = world.host();
    let gateway = host.addresses(&host.link("cni0").unwrap()).unwrap().pop().unwrap();
    assert!(gateway.flags.contains(AddressFlags::Nodad), "the container may need it at once");
}

#[test]
fn duplicates_are_detected_where_that_is_wanted() {
    let world = dual();
    world.add(&l3(&json!({"isGateway": true, "enabledad": true}))).assert_success();
    assert_eq!(world.sysctl("net/ipv6/conf/eth0/accept_dad"), "1");
    assert_eq!(world.sysctl("net/ipv6/conf/eth0/enhanced_dad"), "1");
    let host = world.host();
    let gateway = host.addresses(&host.link("cni0").unwrap()).unwrap().pop().unwrap();
    assert!(!gateway.flags.contains(AddressFlags::Nodad));
}

#[test]
fn c65_without_ipv6_addresses_its_settings_are_left_alone() {
    let world = World::new();
    let all = |world: &World| {
        ["accept_dad", "accept_ra", "disable_ipv6", "keep_addr_on_down"]
            .map(|key| world.sysctl(&format!("net/ipv6/conf/eth0/{key}")))
    };
    world.add(&l3(&json!({"isGateway": true, "hairpinMode": true}))).assert_success();
    assert_eq!(all(&world), ["1", "1", "0", "0"], "the kernel's defaults");
}

#[test]
fn c69_the_hosts_links_take_no_router_advertisements_before_they_are_up() {
    let world = World::new();
    world.fake.refuse("set link \"cni0\"", 1);
    world.add(&config(&json!({}))).assert_error(999);
    assert!(!world.host().link("cni0").unwrap().is_up());
    assert_eq!(world.host_sysctl("net/ipv6/conf/cni0/accept_ra"), "0");

    world.fake.refuse("set link \"veth", 1);
    world.fake.refuse("delete link", 1);
    world.add(&config(&json!({}))).assert_error(999);
    let port = world.port();
    assert!(!port.is_up());
    assert_eq!(world.host_sysctl(&format!("net/ipv6/conf/{}/accept_ra", port.name)), "0");
}

#[test]
fn c67_another_address_of_the_bridge_is_an_error_or_replaced() {
    let with_bridge = |address: &str| {
        let world = World::new();
        let host = world.host();
        host.create(&NewLink::new("cni0", LinkKind::Bridge(BridgeOptions::default())).up()).unwrap();
        let network: ipnetwork::IpNetwork = address.parse().unwrap();
        host.add_address(&host.link("cni0").unwrap(), &NewAddress::new(network)).unwrap();
        world
    };
    let world = with_bridge("10.9.0.1/24");
    let outcome = world.add(&l3(&json!({"isGateway": true})));
    let error = outcome.assert_error(999);
    assert!(
        error.msg.starts_with(
            r#"failed to set bridge addr: "cni0" already has an IP address different from 10.1.0.1/24"#
        ),
        "{error}"
    );
    assert_eq!(world.host_addresses("cni0"), ["10.9.0.1/24"]);
    assert_eq!(world.host_links(), ["lo", "cni0"]);
    assert_eq!(commands(&outcome), [Command::Add, Command::Del]);

    world.add(&l3(&json!({"isGateway": true, "forceAddress": true}))).assert_success();
    assert_eq!(world.host_addresses("cni0"), ["10.1.0.1/24"]);
    let world = with_bridge("10.9.0.1/24");
    world.add(&l3(&json!({}))).assert_success();
    assert_eq!(world.host_addresses("cni0"), ["10.9.0.1/24"], "no gateway, no concern");
}

#[test]
fn a_default_gateway_adds_no_second_default_route() {
    for (routes, expected) in [
        (json!([]), json!([{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}])),
        (json!([{"dst": "0.0.0.0/0"}]), json!([{"dst": "0.0.0.0/0"}])),
        (json!([{"dst": "0.0.0.0/0", "gw": "10.1.0.7"}]), json!([{"dst": "0.0.0.0/0", "gw": "10.1.0.7"}])),
    ] {
        let addresses = json!({"ips": [{"address": "10.1.0.5/24"}], "routes": routes});
        let world = World::new().with_addresses(addresses);
        let (config, outcome) =
            (l3(&json!({"isDefaultGateway": true})), world.add(&l3(&json!({"isDefaultGateway": true}))));
        outcome.assert_success();
        assert_eq!(outcome.json()["routes"], expected);
        assert_eq!(
            world.inside().routes(&RouteFilter::v4()).unwrap().iter().filter(|r| r.is_default()).count(),
            1
        );
        world.check(&config, &outcome).assert_success();
    }
}

#[test]
fn routes_have_the_attributes_of_1_1() {
    let route = json!({"dst": "192.168.0.0/16", "gw": "10.1.0.7", "mtu": 1300, "advmss": 1260, "priority": 7, "table": 100, "scope": 0});
    let addresses = json!({"ips": [{"address": "10.1.0.5/24"}], "routes": [route]});
    let world = World::new().with_addresses(addresses);
    let (config, added) = (l3(&json!({})), world.add(&l3(&json!({}))));
    added.assert_success();
    let routes = world.inside().routes(&RouteFilter::v4().table(100)).unwrap();
    let [route] = routes.as_slice() else { panic!("{routes:?}") };
    assert_eq!((route.mtu, route.advmss, route.priority), (Some(1300), Some(1260), Some(7)));
    world.check(&config, &added).assert_success();
}
