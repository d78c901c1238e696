//! On a made-up kernel, without root.

use std::net::IpAddr;
use std::ops::Deref;

use cni_skel::testing::{Invocation, Outcome};
use ipnetwork::IpNetwork;
use plugin_attach::testing::NETNS;
use plugin_support::netlink::{LinkKind, NewAddress, NewLink, Peer, Route, Rule};
use plugin_support::testing::FakeKernel;
use sbr::Sbr;
use serde_json::{Value, json};

use crate::{config, state};

fn network(text: &str) -> IpNetwork {
    text.parse().unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// The helpers of `plugin_attach::testing::World`, for an interface `net1`.
struct World(plugin_attach::testing::World<Sbr>);

impl Deref for World {
    type Target = plugin_attach::testing::World<Sbr>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    fn new() -> Self {
        Self::on(FakeKernel::new())
    }

    fn on(fake: FakeKernel) -> Self {
        Self(plugin_attach::testing::World::on(fake, |_, fake| Sbr::on(fake.into())))
    }

    fn add(&self, config: &Value) -> Outcome {
        self.run(Invocation::add("c1", NETNS, "net1").config(config))
    }

    fn check(&self, config: &Value, added: &Outcome) -> Outcome {
        self.run(Invocation::check("c1", NETNS, "net1").config(config).prev_result(added.json()))
    }

    fn del(&self, config: &Value) -> Outcome {
        self.run(Invocation::del("c1", "net1").netns(NETNS).config(config))
    }
}

/// A container with the addresses of the configuration, and a route by a router.
fn world() -> World {
    let world = World::new();
    let inside = world.inside();
    inside.create(&NewLink::new("net1", LinkKind::Veth(Peer::new("cable")))).unwrap();
    let net1 = inside.link("net1").unwrap();
    for address in ["10.2.0.5/24", "10.2.0.6/24", "fd02::5/64"] {
        inside.add_address(&net1, &NewAddress::new(network(address))).unwrap();
    }
    inside.set_up(&inside.link("cable").unwrap()).unwrap();
    inside.set_up(&net1).unwrap();
    inside.add_route(&Route::to(network("10.9.0.0/16")).via(ip("10.2.0.1")).dev(&net1)).unwrap();
    world
}

/// What ADD makes.
const ALL: [&str; 11] = [
    "from 10.2.0.5/32 lookup 100",
    "from 10.2.0.6/32 lookup 101",
    "from fd02::5/128 lookup 102",
    "table 100: 0.0.0.0/0 via 10.2.0.1",
    "table 100: 10.2.0.0/24",
    "table 100: 10.9.0.0/16 via 10.2.0.1",
    "table 101: 0.0.0.0/0 via 10.2.0.1",
    "table 101: 10.2.0.0/24",
    "table 101: 10.9.0.0/16 via 10.2.0.1",
    "table 102: ::/0 via fd02::1",
    "table 102: fd02::/64",
];

#[track_caller]
fn assert_state(world: &World, expected: &[&str]) {
    let found = state(&world.inside());
    assert!(
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, wanted)| found.starts_with(wanted)),
        "{found:#?} is not {expected:#?}"
    );
}

#[test]
fn each_address_gets_a_table_and_a_rule() {
    let world = world();
    let config = config("1.1.0", &json!({}));
    let added = world.add(&config);
    assert_eq!(added.json(), config["prevResult"]);
    assert_state(&world, &ALL);
    world.check(&config, &added).assert_success();
    for _ in 0..2 {
        world.del(&config).assert_success();
        assert_state(&world, &[]);
    }
}

#[test]
fn tables_in_use_are_passed_over() {
    let world = world();
    let inside = world.inside();
    let cable = inside.link("cable").unwrap();
    inside.add_rule(&Rule::from_source(ip("10.7.0.1"), 101)).unwrap();
    // With Go's, a table without a rule is free.
    inside.add_route(&Route::to(network("10.7.0.0/24")).dev(&cable).table(100)).unwrap();
    world.add(&config("1.0.0", &json!({}))).assert_success();
    let found = state(&inside);
    for rule in ["from 10.2.0.5/32 lookup 102", "from 10.2.0.6/32 lookup 103", "from fd02::5/128 lookup 104"]
    {
        assert!(found.iter().any(|line| line == rule), "{found:#?}");
    }
    world.del(&config("1.0.0", &json!({}))).assert_success();
    assert_state(&world, &["from 10.7.0.1/32 lookup 101"]);
}

#[test]
fn a_table_of_somebody_else_gets_rules_alone() {
    let world = world();
    let before = state(&world.inside());
    let config = config("1.0.0", &json!({"table": 1000}));
    let added = world.add(&config);
    let rules =
        ["from 10.2.0.5/32 lookup 1000", "from 10.2.0.6/32 lookup 1000", "from fd02::5/128 lookup 1000"];
    let mut expected: Vec<&str> = rules.to_vec();
    expected.extend(before.iter().map(String::as_str));
    assert_state(&world, &expected);
    world.check(&config, &added).assert_success();
    world.del(&config).assert_success();
    assert_eq!(state(&world.inside()), before);
}

#[test]
fn gateways_go_before_those_of_the_result() {
    let world = world();
    let config = config("1.0.0", &json!({"gateways": ["10.2.0.9"]}));
    let added = world.add(&config);
    let found = state(&world.inside());
    for route in ["table 101: 0.0.0.0/0 via 10.2.0.9", "table 102: ::/0 via fd02::1"] {
        assert!(found.iter().any(|line| line.starts_with(route)), "{found:#?}");
    }
    world.check(&config, &added).assert_success();
    let other = crate::config("1.0.0", &json!({"gateways": ["10.2.0.8"]}));
    let outcome = world.check(&other, &added);
    assert!(outcome.assert_error(999).msg.starts_with("expected route to the default by 10.2.0.8"));
}

#[test]
fn networks_may_stay_in_the_main_table() {
    let world = world();
    let config = config("1.0.0", &json!({"addSourceHints": true}));
    let added = world.add(&config);
    let found = state(&world.inside());
    let in_main: Vec<_> = found.iter().filter(|line| line.starts_with("table 254")).collect();
    assert!(
        in_main.len() == 2 && in_main[0].contains("10.2.0.0/24") && in_main[1].contains("fd02::/64"),
        "{found:#?}"
    );
    world.check(&config, &added).assert_success();
}

#[test]
fn a_route_that_fits_no_address_stays() {
    let world = world();
    let inside = world.inside();
    let net1 = inside.link("net1").unwrap();
    let other = Route::to(network("10.8.0.0/16")).via(ip("192.0.2.1")).dev(&net1).onlink();
    inside.add_route(&other).unwrap();
    world.add(&config("1.0.0", &json!({}))).assert_success();
    // With Go's it is lost.
    assert!(state(&inside).iter().any(|line| line.starts_with("table 254: 10.8.0.0/16")));
}

#[test]
fn an_interface_without_addresses_keeps_its_routes() {
    for ips in [json!([]), json!([{"address": "10.2.0.5/24", "interface": 0}])] {
        let world = world();
        let before = state(&world.inside());
        let mut config = config("1.0.0", &json!({}));
        config["prevResult"]["ips"] = ips;
        let outcome = world.add(&config);
        assert_eq!(outcome.assert_error(999).msg, "No IP addresses supplied on interface: net1");
        assert_eq!(state(&world.inside()), before);
        world.del(&config).assert_success();
    }
    let call = Invocation::add("c1", NETNS, "net1")
        .config(json!({"cniVersion": "1.0.0", "name": "n1", "type": "sbr"}));
    let outcome = world().run(call);
    assert!(outcome.assert_error(7).msg.starts_with("This plugin must be called as chained plugin"));
}

#[test]
fn c09_addresses_of_nobody_are_the_interfaces() {
    let world = world();
    let mut config = config("1.0.0", &json!({}));
    for ip in config["prevResult"]["ips"].as_array_mut().unwrap() {
        ip.as_object_mut().unwrap().remove("interface");
    }
    world.add(&config).assert_success();
    assert_state(&world, &ALL);
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    for keys in [json!({}), json!({"table": 1000}), json!({"addSourceHints": true})] {
        let config = config("1.0.0", &keys);
        let good = world();
        let (before, first) = (state(&good.inside()), good.fake.log().len());
        good.add(&config).assert_success();
        let mut steps = good.fake.log().split_off(first);
        steps.extend(["find link \"net1\"", "list rules", "list routes"].map(str::to_owned));
        steps.dedup();
        for step in steps {
            let world = world();
            world.fake.refuse(&step, 12);
            let outcome = world.add(&config);
            let Some(error) = outcome.error() else {
                assert!(step.starts_with("find") || step.starts_with("list"), "{step} was not needed");
                continue;
            };
            assert!(error.msg.contains("cannot allocate memory"), "{step}: {error}");
            assert_eq!(state(&world.inside()), before, "{keys}: {step}");
            let again = world.add(&config);
            again.assert_success();
            world.check(&config, &again).assert_success();
        }
    }
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    let config = config("1.0.0", &json!({}));
    let good = world();
    let first = good.fake.log().len();
    good.add(&config).assert_success();
    for change in 0..good.fake.log().len() - first {
        let world = world();
        world.fake.die_after(change);
        world.add(&config).assert_error(999);
        world.fake.revive();
        for _ in 0..2 {
            world.del(&config).assert_success();
            let found = state(&world.inside());
            assert!(found.iter().all(|line| line.starts_with("table 254")), "{change}: {found:#?}");
        }
    }
}

#[test]
fn c22_del_twice_before_add_and_without_the_netns() {
    let world = world();
    let mut config = config("1.0.0", &json!({}));
    world.del(&config).assert_success();
    world.add(&config).assert_success();
    // The interface has gone already: the result says which addresses it had.
    let inside = world.inside();
    inside.delete(&inside.link("net1").unwrap()).unwrap();
    world.del(&config).assert_success();
    assert!(inside.rules().unwrap().iter().all(|rule| rule.source.is_none()));
    config.as_object_mut().unwrap().remove("prevResult");
    config["table"] = json!(-1);
    for path in [None, Some(""), Some(NETNS), Some("/run/netns/long-gone")] {
        let call = Invocation::del("c1", "net1").config(&config);
        world.run(if let Some(path) = path { call.netns(path) } else { call }).assert_success();
    }
}

#[test]
fn del_leaves_the_rules_of_others() {
    let world = world();
    let inside = world.inside();
    // With Go's they go, as they are from the address.
    let low = Rule::from_source(ip("10.2.0.5"), 50);
    let mut wide = Rule::from_source(ip("10.2.0.0"), 100);
    wide.source = Some(network("10.2.0.0/24"));
    for rule in [&low, &wide] {
        inside.add_rule(rule).unwrap();
    }
    world.add(&config("1.0.0", &json!({}))).assert_success();
    world.del(&config("1.0.0", &json!({}))).assert_success();
    assert_state(&world, &["from 10.2.0.0/24 lookup 100", "from 10.2.0.5/32 lookup 50"]);
}

#[test]
fn check_sees_what_is_gone() {
    let config = config("1.0.0", &json!({}));
    let changed = |change: &dyn Fn(&World), told: &str| {
        let world = world();
        let added = world.add(&config);
        change(&world);
        let outcome = world.check(&config, &added);
        let error = outcome.assert_error(999);
        assert!(error.msg.starts_with(told), "{told}: {error}");
    };
    let route = |world: &World, route: Route| world.inside().delete_route(&route).unwrap();
    changed(
        &|world| world.inside().delete_rule(&Rule::from_source(ip("10.2.0.6"), 101)).unwrap(),
        "expected rule for packets from 10.2.0.6 not found",
    );
    changed(
        &|world| route(world, Route::to(network("0.0.0.0/0")).table(101)),
        "expected route to the default by 10.2.0.1 of \"net1\" not found in table 101",
    );
    changed(
        &|world| route(world, Route::to(network("fd02::/64")).table(102)),
        "expected route to fd02::/64 of \"net1\" not found in table 102",
    );
    changed(
        &|world| world.inside().delete(&world.inside().link("net1").unwrap()).unwrap(),
        "Cannot find network interface net1",
    );
}

#[test]
fn c65_ipv4_alone_needs_no_ipv6() {
    let world = World::on(FakeKernel::without_ipv6());
    let inside = world.inside();
    inside.create(&NewLink::new("net1", LinkKind::Veth(Peer::new("cable")))).unwrap();
    let net1 = inside.link("net1").unwrap();
    inside.add_address(&net1, &NewAddress::new(network("10.2.0.5/24"))).unwrap();
    inside.set_up(&net1).unwrap();
    let mut config = config("1.0.0", &json!({}));
    config["prevResult"]["ips"].as_array_mut().unwrap().truncate(1);
    let added = world.add(&config);
    added.assert_success();
    world.check(&config, &added).assert_success();
    world.del(&config).assert_success();
}

#[test]
fn status_tells_that_the_kernel_has_no_rules() {
    let world = world();
    let status = |keys: &Value| world.run(Invocation::status().config(config("1.1.0", keys)));
    status(&json!({})).assert_success();
    status(&json!({"table": 0})).assert_error(7);
    world.fake.refuse("list rules", 95);
    assert!(status(&json!({})).assert_error(50).msg.starts_with("nothing can be routed by its source"));
    world.run(Invocation::gc([]).config(config("1.1.0", &json!({})))).assert_success();
}
