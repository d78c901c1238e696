//! What ADD makes, in which order, and what it says.

use cni_skel::testing::{DelegateReply, Invocation};
use cni_skel::types::Command;
use plugin_support::netlink::{BridgeOptions, LinkChange, LinkFlags, LinkKind, NewLink, RouteFilter};
use plugin_support::testing::{FakeKernel, ScriptedTools};
use serde_json::{Value, json};

use super::world::{NETNS, World, addresses, commands, config, l3, log};

#[test]
fn a_bridge_without_ipam_gives_a_link() {
    let world = World::new();
    let outcome = world.add(&config(&json!({"bridge": "br0", "mtu": 1400})));
    outcome.assert_success();
    let result = outcome.result();
    let shape: Vec<_> = result.interfaces.iter().map(|i| (i.sandbox.as_deref(), i.mtu)).collect();
    assert_eq!(shape, [(None, Some(1400)), (None, Some(1400)), (Some(NETNS), Some(1400))]);
    assert_eq!((result.interfaces[0].name.as_str(), result.interfaces[2].name.as_str()), ("br0", "eth0"));
    assert_eq!((result.ips.len(), result.routes.len()), (0, 0));
    let (bridge, port) = (world.host().link("br0").unwrap(), world.port());
    assert_eq!(result.interfaces[1].name, port.name);
    assert_eq!(port.master, Some(bridge.index));
    assert!(bridge.is_up() && port.is_up() && world.inside().link("eth0").unwrap().is_up());
    for (link, interface) in [(&bridge, 0), (&port, 1), (&world.inside().link("eth0").unwrap(), 2)] {
        assert_eq!(result.interfaces[interface].mac, link.mac.map(|mac| mac.to_string()));
    }
    assert_eq!(
        log(&world),
        [
            r#"create bridge "br0""#,
            r#"set link "br0" (index N): up"#,
            r#"create veth "eth0" with peer "veth*" in netns "/proc/thread-self/ns/net""#,
            &format!(r#"set link "veth*" (index N): alias "{}", master "br0", up"#, port.alias.unwrap()),
            r#"set link "eth0" (index N): up"#,
        ]
    );
}

#[test]
fn a_gateway_gives_addresses_routes_and_a_way_out() {
    let world = World::new();
    let outcome = world.add(&l3(&json!({"isGateway": true})));
    outcome.assert_success();
    let result = outcome.json();
    assert_eq!(result["ips"], json!([{"interface": 2, "address": "10.1.0.5/24", "gateway": "10.1.0.1"}]));
    assert_eq!(result["routes"], json!([{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]));
    assert_eq!(world.host_addresses("cni0"), ["10.1.0.1/24"]);
    assert_eq!(world.host_sysctl("net/ipv4/ip_forward"), "1");
    assert_eq!(world.host_sysctl("net/ipv6/conf/all/forwarding"), "0");
    assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24"]);
    let routes = world.inside().routes(&RouteFilter::v4()).unwrap();
    let default = routes.iter().find(|route| route.is_default()).unwrap();
    assert_eq!(default.gateway, Some("10.1.0.1".parse().unwrap()));
    assert_eq!(world.sysctl("net/ipv4/conf/eth0/arp_notify"), "1");
    let log = log(&world);
    let position = |text: &str| {
        log.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {log:#?}"))
    };
    // The link announces its addresses when it comes up; the bridge is changed when nothing can fail any more.
    assert!(position("add address 10.1.0.5/24") < position(r#"set link "eth0" (index N): up"#));
    assert!(position(r#"set link "eth0" (index N): up"#) < position("add route 0.0.0.0/0"));
    assert!(position("add route 0.0.0.0/0") < position("add address 10.1.0.1/24"));
    assert_eq!(commands(&outcome), [Command::Add]);
}

#[test]
fn the_next_container_changes_nothing_of_the_bridge() {
    let world = World::new();
    world.add(&l3(&json!({"isGateway": true}))).assert_success();
    world.fake.add_netns("/run/netns/c2");
    let before = world.fake.log().len();
    let call = Invocation::add("c2", "/run/netns/c2", "eth0").config(l3(&json!({"isGateway": true})));
    let ipam = json!({"ips": [{"address": "10.1.0.6/24", "gateway": "10.1.0.1"}]});
    call.delegate("host-local", move |call| call.reply(&ipam)).run(&world.plugin()).assert_success();
    let after = &world.fake.log()[before..];
    assert!(!after.iter().any(|line| line.contains(r#"link "cni0""#)), "{after:#?}");
}

#[test]
fn the_containers_of_a_bridge_share_its_address_for_good() {
    let world = World::new();
    let mac = |world: &World| world.host().link("cni0").unwrap().mac;
    let config = config(&json!({}));
    world.add(&config).assert_success();
    let first = mac(&world);
    for n in 2..10 {
        let netns = format!("/run/netns/c{n}");
        world.fake.add_netns(&netns);
        let call = Invocation::add(&format!("c{n}"), &netns, "eth0").config(&config);
        world.run(call).assert_success();
        assert_eq!(mac(&world), first, "the lowest address of a port must not become the bridge's");
    }
}

#[test]
fn a_bridge_of_others_is_used_as_it_is() {
    let world = World::new();
    let host = world.host();
    host.create(&NewLink::new("br0", LinkKind::Bridge(BridgeOptions::default()))).unwrap();
    let config = l3(&json!({"bridge": "br0", "isGateway": true, "promiscMode": true}));
    world.add(&config).assert_success();
    let bridge = host.link("br0").unwrap();
    assert!(bridge.is_up() && bridge.flags.contains(LinkFlags::Promisc));
    assert_eq!(world.host_sysctl("net/ipv6/conf/br0/accept_ra"), "0");
    assert!(world.fake.log().iter().any(|line| line.ends_with(&format!("mac {}", bridge.mac.unwrap()))));
}

#[test]
fn another_kind_of_link_is_no_bridge() {
    let world = World::new();
    let error = world.add(&config(&json!({"bridge": "lo"}))).assert_error(999).clone();
    assert_eq!(error.msg, r#"failed to create bridge "lo": "lo" already exists but is not a bridge"#);
    assert_eq!(world.fake.log(), [""; 0]);
}

#[test]
fn a_kernel_without_bridges_says_so() {
    let world = World::new();
    world.fake.refuse("create bridge", 95);
    let error = world.add(&config(&json!({"bridge": "brv"}))).assert_error(999).clone();
    assert_eq!(error.msg, r#"failed to create bridge "brv": could not add "brv": operation not supported"#);
}

#[test]
fn settings_of_the_port_are_made_and_only_if_they_are_wanted() {
    let world = World::new();
    world.add(&config(&json!({"hairpinMode": true, "portIsolation": true}))).assert_success();
    let port = world.port().port.unwrap();
    assert!(port.hairpin && port.isolated);
    let world = World::new();
    world.add(&config(&json!({"hairpinMode": true}))).assert_success();
    let port = world.port().port.unwrap();
    assert!(port.hairpin && !port.isolated);
}

#[test]
fn c43_ipam_that_is_empty_or_absent_means_a_link_alone() {
    for keys in [json!({"ipam": {}}), json!({}), json!({"ipam": null}), json!({"ipam": {"type": ""}})] {
        let (world, config) = (World::new(), config(&keys));
        let added = world.add(&config);
        added.assert_success();
        assert_eq!((added.result().interfaces.len(), added.result().ips.len()), (3, 0), "{keys}");
        let checked = world.check(&config, &added);
        checked.assert_success();
        let deleted = world.del(&config);
        deleted.assert_success();
        for outcome in [&added, &checked, &deleted] {
            assert_eq!(commands(outcome), [], "{keys}");
        }
        assert_eq!(world.host_links(), ["lo", "cni0"]);
    }
}

#[test]
fn c66_hairpin_and_promiscuous_mode_are_refused_before_anything_is_made() {
    let world = World::new();
    let outcome = world.add(&l3(&json!({"hairpinMode": true, "promiscMode": true})));
    let error = outcome.assert_error(7);
    assert_eq!(error.msg, "cannot set hairpin mode and promiscuous mode at the same time");
    assert_eq!((world.fake.log().len(), commands(&outcome).len()), (0, 0));
}

#[test]
fn c68_a_container_link_that_is_to_stay_down() {
    let world = World::new();
    let outcome = world.add(&l3(&json!({"disableContainerInterface": true})));
    let error = outcome.assert_error(7);
    assert_eq!(error.msg, "cannot use IPAM when DisableContainerInterface flag is set");
    assert_eq!((world.fake.log().len(), commands(&outcome).len()), (0, 0));

    let mut config = config(&json!({"disableContainerInterface": true}));
    for version in ["0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        config["cniVersion"] = json!(version);
        let added = world.add(&config);
        added.assert_success();
        assert!(!world.inside().link("eth0").unwrap().is_up() && world.port().is_up());
        assert_eq!(added.result().ips, []);
        if version >= "0.4.0" {
            world.check(&config, &added).assert_success();
        }
        world.del(&config).assert_success();
    }
}

#[test]
fn c68_versions_that_know_no_result_without_addresses_are_refused_before_anything_is_made() {
    for version in ["0.1.0", "0.2.0"] {
        let (world, mut config) = (World::new(), config(&json!({"disableContainerInterface": true})));
        config["cniVersion"] = json!(version);
        let outcome = world.add(&config);
        assert!(outcome.error().is_some_and(|error| error.msg.contains("address")), "{:?}", outcome.error());
        assert_eq!(world.fake.log(), [""; 0]);
    }
}

#[test]
fn a_result_that_the_version_cannot_tell_is_not_made() {
    let two = json!({"ips": [{"address": "10.1.0.5/24"}, {"address": "10.1.1.5/24"}]});
    let world = World::new().with_addresses(json!({"ip4": {"ip": "10.1.0.5/24"}}));
    let mut config = l3(&json!({}));
    config["cniVersion"] = json!("0.2.0");
    let outcome = world.add(&config);
    outcome.assert_success();
    assert_eq!(outcome.json()["ip4"]["ip"], "10.1.0.5/24");
    world.del(&config).assert_success();
    // Two addresses of a family, which a newer IPAM plugin may give.
    let call = Invocation::add("c1", NETNS, "eth0").config(&config);
    let outcome = call
        .delegate("host-local", move |call| match call.command() {
            Command::Add => {
                let mut two = two.clone();
                two["cniVersion"] = json!("1.0.0");
                call.reply(two)
            }
            _ => DelegateReply::nothing(),
        })
        .run(&world.plugin());
    if outcome.error().is_some() {
        assert_eq!(commands(&outcome), [Command::Add, Command::Del]);
        assert_eq!(world.host_links(), ["lo", "cni0"]);
    } else {
        assert_eq!(outcome.result().ips.len(), 1);
    }
}

#[test]
fn a_second_add_is_refused_and_the_first_stays() {
    let (world, config) = (World::new(), l3(&json!({"isGateway": true})));
    let added = world.add(&config);
    added.assert_success();
    let outcome = world.add(&config);
    let error = outcome.assert_error(999);
    assert!(error.msg.starts_with(r#"container veth name ("eth0") peer provided ("veth"#), "{error}");
    assert!(error.msg.ends_with(r#"already exists: "eth0" is in netns "/run/netns/c1""#), "{error}");
    assert_eq!(commands(&outcome), [], "no address is asked for, and none given back");
    world.check(&config, &added).assert_success();
}

#[test]
fn c104_the_ipam_plugin_gets_the_request_byte_for_byte() {
    let stdin = br#"{ "cniVersion": "1.1.0", "name": "n1", "type":"bridge", "ipam": {"type": "host-local", "dataDir": "/run/x",  "big": 123456789012345678901234567890 } }"#;
    let world = World::new();
    let outcome = world.run(
        Invocation::add("c1", NETNS, "eth0").stdin(stdin.as_slice()).args("IgnoreUnknown=1;K8S_POD_NAME=web"),
    );
    outcome.assert_success();
    let call = &outcome.delegate_calls()[0];
    assert_eq!(call.stdin(), stdin);
    for (name, value) in [
        ("CNI_CONTAINERID", "c1"),
        ("CNI_NETNS", NETNS),
        ("CNI_IFNAME", "eth0"),
        ("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAME=web"),
    ] {
        assert_eq!(call.var(name).unwrap(), value);
    }
}

#[test]
fn name_resolution_of_the_configuration_goes_before_that_of_ipam() {
    let addresses = json!({"ips": [{"address": "10.1.0.5/24"}], "dns": {"nameservers": ["10.1.0.1"]}});
    let world = World::new().with_addresses(addresses.clone());
    let result = world.add(&l3(&json!({}))).json();
    assert_eq!(result["dns"], json!({"nameservers": ["10.1.0.1"]}));
    let world = World::new().with_addresses(addresses);
    let result = world.add(&l3(&json!({"dns": {"search": ["example.org"]}}))).json();
    assert_eq!(result["dns"], json!({"search": ["example.org"]}));
}

#[test]
fn ipam_without_an_address_is_an_error() {
    let world = World::new().with_addresses(json!({}));
    let outcome = world.add(&l3(&json!({})));
    assert_eq!(outcome.assert_error(999).msg, "IPAM plugin returned missing IP config");
    assert_eq!(commands(&outcome), [Command::Add, Command::Del]);
    assert_eq!(world.host_links(), ["lo", "cni0"]);
}

#[test]
fn an_error_of_the_ipam_plugin_is_passed_on_as_it_is() {
    let world = World::new();
    let call = Invocation::add("c1", NETNS, "eth0").config(l3(&json!({})));
    let outcome = call
        .delegate("host-local", |call| call.fail(cni_skel::ErrorCode::new(142), "the pool is exhausted"))
        .run(&world.plugin());
    assert!(outcome.assert_error(142).msg.ends_with("the pool is exhausted"));
    assert_eq!(world.host_links(), ["lo", "cni0"]);
}

#[test]
fn a_namespace_that_is_not_there_is_told_before_anything_is_made() {
    let world = World::new();
    let outcome = world.run(Invocation::add("c1", "/nope", "eth0").config(l3(&json!({}))));
    assert_eq!(
        outcome.assert_error(999).msg,
        r#"failed to open netns "/nope": failed to Statfs "/nope": no such file or directory"#
    );
    assert_eq!((world.fake.log().len(), commands(&outcome).len()), (0, 0));
}

#[test]
fn a_bridge_with_a_smaller_mtu_is_reported_as_it_is() {
    let world = World::new();
    let host = world.host();
    host.create(&NewLink::new("cni0", LinkKind::Bridge(BridgeOptions::default()))).unwrap();
    host.change(&host.link("cni0").unwrap(), &LinkChange::new().mtu(1280)).unwrap();
    let result = world.add(&config(&json!({"mtu": 1400}))).result();
    let mtus: Vec<_> = result.interfaces.iter().map(|interface| interface.mtu).collect();
    assert_eq!(mtus, [Some(1280), Some(1400), Some(1400)]);
}

#[test]
fn c67_a_bridge_that_another_add_has_made_meanwhile_is_used() {
    // 20 parallel ADDs are a matter for the real kernel; this is the losing side of the race.
    let world = World::new();
    world.fake.refuse("find link \"cni0\"", 19);
    let host = world.host();
    host.create(&NewLink::new("cni0", LinkKind::Bridge(BridgeOptions::default()))).unwrap();
    world.add(&config(&json!({}))).assert_success();
}

#[test]
fn c65_a_kernel_without_ipv6() {
    let world = World::on(FakeKernel::without_ipv6());
    let (config, added) = (l3(&json!({"isGateway": true})), world.add(&l3(&json!({"isGateway": true}))));
    added.assert_success();
    world.check(&config, &added).assert_success();
    world.del(&config).assert_success();
}

#[test]
fn every_version_gets_its_layout() {
    for version in ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        let (world, mut config) = (World::new(), l3(&json!({"isGateway": true})));
        config["cniVersion"] = json!(version);
        let result: Value = world.add(&config).json();
        assert_eq!(result["cniVersion"], version);
        assert_eq!(result["interfaces"].as_array().unwrap().len(), 3);
        assert_eq!(result["ips"][0]["interface"], 2);
        assert_eq!(result["ips"][0].get("version").is_some(), version < "1.0.0");
    }
}

#[test]
fn no_program_is_run_that_is_not_needed() {
    let world = World::new().with_tools(ScriptedTools::new());
    let config = l3(&json!({"isGateway": true}));
    let added = world.add(&config);
    added.assert_success();
    world.check(&config, &added).assert_success();
    world.del(&config).assert_success();
    assert_eq!(world.tools.calls().len(), 0);
}
