//! On a made-up kernel, without root.

use bandwidth::Bandwidth;
use cni_skel::testing::Invocation;
use plugin_attach::Owner;
use plugin_attach::testing::{NETNS, World};
use plugin_support::netlink::{LinkChange, LinkKind, NewLink, TokenBucket};
use serde_json::{Value, json};

use crate::{both_ways, chained, config, ifbs, on_end, pair};

fn world() -> World<Bandwidth> {
    let world = World::<Bandwidth>::new(|_, fake| Bandwidth::on(fake.into()));
    pair(&world.fake.host(), &world.container(), "eth0", "veth0");
    world
}

/// A limit that somebody has left.
const BUCKET: TokenBucket = TokenBucket { rate: 5000, limit: 6000, buffer: 7000 };

/// What Go's plugin calls its link; `printf n1c1 | sha512sum | cut -c-12`.
const SHARED: &str = "bwp7be53730afe4";

#[test]
fn both_ways_are_limited() {
    let world = world();
    let config = config("1.1.0", &both_ways());
    let added = world.add(&config);
    added.assert_success();
    let host = world.host();
    assert_eq!(ifbs(&host), [SHARED]);
    assert_eq!(on_end(&host, "veth0"), (1, 1, 1));
    let (end, ifb) = (host.link("veth0").unwrap(), host.link(SHARED).unwrap());
    assert!(ifb.is_up() && ifb.mtu == 1400);
    assert_eq!(host.redirects(&end).unwrap(), [ifb.index]);
    let bucket = host.qdiscs(&ifb).unwrap()[0].bucket.unwrap();
    assert_eq!((bucket.rate, bucket.limit, bucket.buffer), (250_000, 26_250, 1_250_000));
    let result = added.result();
    assert_eq!(result.interfaces.len(), 3);
    let told = &result.interfaces[2];
    assert_eq!((told.name.as_str(), told.sandbox.as_deref()), (SHARED, None));
    assert_eq!(told.mac, ifb.mac.map(|mac| mac.to_string()));
    assert_eq!(result.ips[0].interface, Some(1));
    world.check(&config, &added).assert_success();
    for _ in 0..2 {
        world.del(&config).assert_success();
        assert!(ifbs(&host).is_empty());
        // Go's leaves them, and cannot ADD again.
        assert_eq!(on_end(&host, "veth0"), (0, 0, 0));
    }
    world.add(&config).assert_success();
}

#[test]
fn one_way_alone_is_limited() {
    for (key, on_host) in [("ingress", (1, 0, 0)), ("egress", (0, 1, 1))] {
        let world = world();
        let keys = json!({format!("{key}Rate"): 1_000_000, format!("{key}Burst"): 80_000});
        let config = config("1.0.0", &keys);
        let added = world.add(&config);
        added.assert_success();
        assert_eq!(on_end(&world.host(), "veth0"), on_host);
        assert_eq!(ifbs(&world.host()).len(), on_host.1);
        world.check(&config, &added).assert_success();
    }
}

#[test]
fn the_runtime_may_say_the_limits() {
    let world = world();
    let config = config("1.0.0", &json!({}));
    let call = Invocation::add("c1", NETNS, "eth0").config(&config).capability("bandwidth", both_ways());
    world.run(call).assert_success();
    assert_eq!(on_end(&world.host(), "veth0"), (1, 1, 1));
    // DEL need not know them.
    world.del(&config).assert_success();
    assert_eq!(on_end(&world.host(), "veth0"), (0, 0, 0));
}

#[test]
fn c79_without_limits_the_result_passes_through() {
    let world = world();
    let before = world.fake.log();
    for keys in [json!({}), json!({"ingressRate": 0, "ingressBurst": 0, "egressRate": 0, "egressBurst": 0})] {
        let config = config("1.0.0", &keys);
        let added = world.add(&config);
        assert_eq!(added.json(), config["prevResult"]);
        world.check(&config, &added).assert_success();
    }
    assert_eq!(world.fake.log(), before);
    let call = Invocation::add("c1", NETNS, "eth0")
        .config(json!({"cniVersion": "1.0.0", "name": "n1", "type": "bandwidth"}));
    // With Go's a panic.
    assert!(world.run(call).assert_error(7).msg.starts_with("must be called as chained plugin"));
}

#[test]
fn c79_of_several_links_the_peer_counts() {
    let world = world();
    pair(&world.fake.host(), &world.container(), "net1", "veth1");
    let mut config = config("1.0.0", &both_ways());
    let interfaces = json!([{"name": "veth1"}, {"name": "veth0"}, {"name": "eth0", "sandbox": NETNS}]);
    config["prevResult"]["interfaces"] = interfaces;
    world.add(&config).assert_success();
    assert_eq!((on_end(&world.host(), "veth0"), on_end(&world.host(), "veth1")), ((1, 1, 1), (0, 0, 0)));
}

#[test]
fn c57_what_the_result_lacks_is_said() {
    let refused = |interfaces: Value, told: &str| {
        let world = world();
        let before = world.fake.log();
        let mut config = config("1.0.0", &both_ways());
        config["prevResult"]["interfaces"] = interfaces;
        config["prevResult"]["ips"] = json!([]);
        let outcome = world.add(&config);
        let error = outcome.assert_error(999);
        assert!(error.msg.starts_with(told), "{error}");
        assert_eq!(world.fake.log(), before);
        world.del(&config).assert_success();
    };
    refused(json!([]), "no interfaces provided: prevResult must list the host's end of \"eth0\"");
    let none =
        "no veth peer of container interface found in host ns: that of \"eth0\" is \"veth0\", and prevResult";
    refused(json!([{"name": "eth0", "sandbox": NETNS}]), &format!("{none} does not list it"));
    refused(json!([{"name": "veth0", "sandbox": "eth0"}]), &format!("{none} lists it with sandbox \"eth0\""));
}

#[test]
fn a_link_that_is_no_pair_is_refused() {
    let world = world();
    let inside = world.inside();
    let config = config("1.0.0", &both_ways());
    inside.delete(&inside.link("eth0").unwrap()).unwrap();
    let msg = world.add(&config).assert_error(999).msg.clone();
    assert_eq!(msg, "container interface eth0 has no veth peer: Link not found");
    inside.create(&NewLink::new("eth0", LinkKind::Ifb)).unwrap();
    let msg = world.add(&config).assert_error(999).msg.clone();
    assert_eq!(msg, "container interface eth0 has no veth peer: it is a ifb");
}

#[test]
fn every_interface_of_a_container_can_be_limited() {
    let world = world();
    pair(&world.fake.host(), &world.container(), "net1", "veth1");
    let first = config("1.0.0", &both_ways());
    let second = chained("1.0.0", &both_ways(), "net1", "veth1");
    let call = |call: Invocation, config: &Value| world.run(call.config(config));
    let added = world.add(&first);
    let other = call(Invocation::add("c1", NETNS, "net1"), &second);
    other.assert_success();
    let names = ifbs(&world.host());
    assert!(names.len() == 2 && names[0] == SHARED && names[1] != SHARED, "{names:?}");
    world.check(&first, &added).assert_success();
    let check = Invocation::check("c1", NETNS, "net1").config(&second).prev_result(other.json());
    world.run(check).assert_success();
    // Each goes by itself, and makes room for the name.
    world.del(&first).assert_success();
    assert_eq!((on_end(&world.host(), "veth0"), on_end(&world.host(), "veth1")), ((0, 0, 0), (1, 1, 1)));
    assert_eq!(ifbs(&world.host()), names[1..]);
    world.add(&first).assert_success();
    call(Invocation::del("c1", "net1").netns(NETNS), &second).assert_success();
    assert_eq!(ifbs(&world.host()), [SHARED]);
}

#[test]
fn del_leaves_gos_link_to_the_interface_that_uses_it() {
    let world = world();
    pair(&world.fake.host(), &world.container(), "net1", "veth1");
    // As Go's plugin makes it for eth0.
    let host = world.host();
    host.create(&NewLink::new(SHARED, LinkKind::Ifb)).unwrap();
    let (end, ifb) = (host.link("veth0").unwrap(), host.link(SHARED).unwrap());
    host.take_ingress(&end).unwrap();
    host.redirect_ingress(&end, &ifb).unwrap();
    let second = chained("1.0.0", &both_ways(), "net1", "veth1");
    let del = || Invocation::del("c1", "net1").netns(NETNS).config(&second);
    world.run(del()).assert_success();
    assert_eq!(ifbs(&host), [SHARED]);
    world.run(Invocation::add("c1", NETNS, "net1").config(&second)).assert_success();
    assert_eq!(ifbs(&host).len(), 2);
    world.run(del()).assert_success();
    assert_eq!(ifbs(&host), [SHARED]);
    world.del(&config("1.0.0", &both_ways())).assert_success();
    assert!(ifbs(&host).is_empty());
    assert_eq!(on_end(&host, "veth0"), (0, 0, 0));
}

#[test]
fn what_is_limited_already_is_refused_and_stays() {
    let world = world();
    let config = config("1.0.0", &both_ways());
    let added = world.add(&config);
    let outcome = world.add(&config);
    assert!(outcome.assert_error(999).msg.starts_with("create qdisc: file exists: \"veth0\""));
    let mut egress = config.clone();
    egress["ingressRate"] = json!(0);
    egress["ingressBurst"] = json!(0);
    let outcome = world.add(&egress);
    assert!(outcome.assert_error(999).msg.starts_with("adding link: file exists: "));
    world.check(&config, &added).assert_success();
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    World::assert_all_or_nothing(
        world,
        &config("1.1.0", &both_ways()),
        &["find link \"eth0\"", "find link with index"],
    );
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    World::assert_del_cleans_up_after_a_crash(world, &config("1.1.0", &both_ways()));
}

#[test]
fn c22_del_twice_before_add_and_without_the_netns() {
    for path in [None, Some(""), Some(NETNS), Some("/run/netns/long-gone")] {
        let world = world();
        let mut config = config("1.0.0", &both_ways());
        world.del(&config).assert_success();
        world.add(&config).assert_success();
        world.fake.remove_netns(NETNS);
        config.as_object_mut().unwrap().remove("prevResult");
        // It need not make sense any more.
        config["ingressBurst"] = json!(0);
        for _ in 0..2 {
            let call = Invocation::del("c1", "eth0").config(&config);
            world.run(if let Some(path) = path { call.netns(path) } else { call }).assert_success();
            assert!(ifbs(&world.host()).is_empty());
        }
    }
}

#[test]
fn del_without_netns_or_result_takes_the_limits_off_a_pair_that_lives_on() {
    for keys in [both_ways(), json!({"egressRate": 8_000_000, "egressBurst": 800_000})] {
        let world = world();
        let mut config = crate::config("1.0.0", &keys);
        world.add(&config).assert_success();
        config.as_object_mut().unwrap().remove("prevResult");
        world.run(Invocation::del("c1", "eth0").config(&config)).assert_success();
        assert_eq!(on_end(&world.host(), "veth0"), (0, 0, 0), "{keys}");
        // The same where only the earlier result is missing.
        config["prevResult"] = crate::config("1.0.0", &keys)["prevResult"].clone();
        world.add(&config).assert_success();
        config.as_object_mut().unwrap().remove("prevResult");
        world.del(&config).assert_success();
        assert_eq!(on_end(&world.host(), "veth0"), (0, 0, 0), "{keys}");
    }
}

#[test]
fn del_without_netns_finds_the_pair_by_result_alias_or_redirection() {
    let ingress = json!({"ingressRate": 1_000_000, "ingressBurst": 80_000});
    let del = |world: &World<Bandwidth>, config: &Value| {
        world.run(Invocation::del("c1", "eth0").config(config)).assert_success();
        on_end(&world.host(), "veth0")
    };
    let mac = |world: &World<Bandwidth>| world.host().link("veth0").unwrap().mac.unwrap().to_string();
    let alias = |world: &World<Bandwidth>, network: &str| {
        let label = Owner::new(network, "c1", "eth0").label();
        let host = world.host();
        host.change(&host.link("veth0").unwrap(), &LinkChange::new().alias(&label)).unwrap();
    };
    let added = |keys: &Value| {
        let (world, config) = (world(), config("1.0.0", keys));
        world.add(&config).assert_success();
        (world, config)
    };
    let (world, config) = added(&ingress);
    assert_eq!(del(&world, &config), (0, 0, 0), "by name");
    let (world, mut config) = added(&ingress);
    config["prevResult"]["interfaces"][0]["mac"] = json!(mac(&world).to_uppercase());
    assert_eq!(del(&world, &config), (0, 0, 0), "by name and address");
    let (world, mut config) = added(&ingress);
    config["prevResult"]["interfaces"][0]["mac"] = json!("0a:00:00:00:00:77");
    assert_eq!(del(&world, &config), (1, 0, 0), "another link has the name by now");
    let (world, config) = added(&ingress);
    alias(&world, "n2");
    assert_eq!(del(&world, &config), (1, 0, 0), "another attachment has the name by now");
    let (world, mut config) = added(&ingress);
    alias(&world, "n1");
    config.as_object_mut().unwrap().remove("prevResult");
    assert_eq!(del(&world, &config), (0, 0, 0), "by alias");
    let (world, _) = added(&both_ways());
    let nothing = json!({"cniVersion": "1.0.0", "name": "n1", "type": "bandwidth"});
    assert_eq!(del(&world, &nothing), (0, 0, 0), "by redirection, whatever the runtime does not tell again");
    let (world, mut config) = added(&both_ways());
    config["name"] = json!("n2");
    assert_eq!(del(&world, &config), (1, 1, 1), "another attachment's redirection");
}

#[test]
fn a_limit_that_was_left_makes_room() {
    let ingress = json!({"ingressRate": 1_000_000, "ingressBurst": 80_000});
    let left = || {
        let world = world();
        let host = world.host();
        host.limit_rate(&host.link("veth0").unwrap(), &BUCKET).unwrap();
        world
    };
    let bucket = |world: &World<Bandwidth>| {
        let host = world.host();
        host.qdiscs(&host.link("veth0").unwrap()).unwrap().iter().find_map(|qdisc| qdisc.bucket)
    };
    for keys in [ingress, both_ways()] {
        let (world, config) = (left(), config("1.0.0", &keys));
        let added = world.add(&config);
        added.assert_success();
        world.check(&config, &added).assert_success();
    }
    // An ADD that fails leaves it as it was.
    let config = config("1.0.0", &both_ways());
    for attempt in ["create ifb", "unlimit rate", "redirect"] {
        let world = left();
        world.fake.refuse(attempt, 1);
        world.add(&config).assert_error(999);
        assert_eq!(bucket(&world), Some(BUCKET), "{attempt}");
    }
}

#[test]
fn del_leaves_what_is_anothers() {
    let world = world();
    let host = world.host();
    let end = host.link("veth0").unwrap();
    let other = Owner::new("n2", "c1", "eth0");
    host.change(&end, &LinkChange::new().alias(&other.label())).unwrap();
    let mut config = config("1.0.0", &both_ways());
    config["name"] = json!("n2");
    world.add(&config).assert_success();
    // An ADD in n1 has failed, as there was an eth0 already.
    config["name"] = json!("n1");
    world.del(&config).assert_success();
    assert_eq!((on_end(&host, "veth0"), ifbs(&host).len()), ((1, 1, 1), 1));
    host.change(&end, &LinkChange::new().alias("")).unwrap();
    config.as_object_mut().unwrap().remove("prevResult");
    world.del(&config).assert_success();
    assert_eq!((on_end(&host, "veth0"), ifbs(&host).len()), ((1, 1, 1), 1), "nobody says whose it is");
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let config = config("1.1.0", &both_ways());
    let changed = |change: &dyn Fn(&World<Bandwidth>), told: &str| {
        let world = world();
        let added = world.add(&config);
        change(&world);
        let outcome = world.check(&config, &added);
        let error = outcome.assert_error(999);
        assert!(error.msg.starts_with(told), "{told}: {error}");
    };
    let link = |world: &World<Bandwidth>, name: &str| world.host().link(name).unwrap();
    // With Go's it passes.
    let unlimit = |name: &'static str| {
        move |world: &World<Bandwidth>| world.host().unlimit_rate(&link(world, name)).unwrap()
    };
    changed(&unlimit("veth0"), "Failed to find qdisc: \"veth0\"");
    changed(&unlimit(SHARED), "Failed to find qdisc: \"bwp");
    changed(&|world| world.host().leave_ingress(&link(world, "veth0")).unwrap(), "Failed to find filter");
    changed(&|world| world.host().set_down(&link(world, SHARED)).unwrap(), "ifb device bwp");
    changed(&|world| world.host().delete(&link(world, SHARED)).unwrap(), "get ifb device: Link not found");
    let world = world();
    let added = world.add(&config);
    for (key, value, told) in [
        ("ingressRate", 1_000_008, "Rate doesn't match: 125000 on \"veth0\", expected 125001"),
        ("ingressBurst", 80_008, "Limit doesn't match"),
        ("egressRate", 2_000_008, "Rate doesn't match: 250000 on \"bwp"),
    ] {
        let mut config = config.clone();
        config[key] = json!(value);
        let outcome = world.check(&config, &added);
        assert!(outcome.assert_error(999).msg.starts_with(told), "{told}");
    }
}

#[test]
fn gc_removes_what_belongs_to_no_valid_attachment() {
    let world = world();
    let config = config("1.1.0", &both_ways());
    world.add(&config).assert_success();
    let host = world.host();
    // One of Go's that nobody uses, one of another network, and somebody's own.
    for (name, alias) in [
        ("bwp0123456789ab", String::new()),
        ("bwpba9876543210", Owner::new("n2", "c1", "eth0").label()),
        ("ifb0", String::new()),
    ] {
        host.create(&NewLink::new(name, LinkKind::Ifb)).unwrap();
        host.change(&host.link(name).unwrap(), &LinkChange::new().alias(&alias)).unwrap();
    }
    world.run(Invocation::gc([("c1", "eth0")]).config(&config)).assert_success();
    assert_eq!(ifbs(&host), [SHARED, "bwpba9876543210", "ifb0"]);
    world.run(Invocation::gc([("c2", "eth0")]).config(&config)).assert_success();
    assert_eq!(ifbs(&host), ["bwpba9876543210", "ifb0"]);
    // The pair lives on without limit, and what the container sends is not lost.
    assert_eq!(on_end(&host, "veth0"), (0, 0, 0));
    // A bucket that the configuration rules out is somebody's own.
    let mut egress = config;
    egress["ingressRate"] = json!(0);
    egress["ingressBurst"] = json!(0);
    world.add(&egress).assert_success();
    host.limit_rate(&host.link("veth0").unwrap(), &BUCKET).unwrap();
    world.run(Invocation::gc([]).config(&egress)).assert_success();
    assert_eq!(on_end(&host, "veth0"), (1, 0, 0));
}

#[test]
fn gc_takes_from_each_of_several_pairs_what_is_its_own() {
    let world = world();
    let host = world.host();
    for number in 1..4 {
        pair(&world.fake.host(), &world.container(), &format!("net{number}"), &format!("veth{number}"));
    }
    for number in 0..4 {
        let ifname = if number == 0 { "eth0".to_owned() } else { format!("net{number}") };
        let config = chained("1.1.0", &both_ways(), &ifname, &format!("veth{number}"));
        world.run(Invocation::add("c1", NETNS, &ifname).config(&config)).assert_success();
    }
    // One in use that has no owner, as Go's plugin makes it: not even its own network can tell.
    let of = |number: u8| {
        let redirects = host.redirects(&host.link(&format!("veth{number}")).unwrap()).unwrap();
        host.link_by_index(redirects[0]).unwrap()
    };
    let (used, valid) = (of(1), of(2).name);
    host.change(&used, &LinkChange::new().name("bwp0123456789ab").alias("")).unwrap();
    // The first cannot be cleared, which keeps nobody else from it.
    world.fake.refuse("leave ingress of link \"veth0\"", 16);
    world.fake.refuse("leave ingress of link \"veth0\"", 16);
    let gc = || world.run(Invocation::gc([("c1", "net2")]).config(config("1.1.0", &both_ways())));
    gc().assert_error(999);
    assert_eq!(ifbs(&host), [SHARED, "bwp0123456789ab", &valid]);
    let seen = || [0, 1, 2, 3].map(|number| on_end(&host, &format!("veth{number}")));
    assert_eq!(seen()[1..], [(1, 1, 1), (1, 1, 1), (0, 0, 0)]);
    assert_eq!(seen()[0].2, 1, "what the container sends is not lost");
    gc().assert_success();
    assert_eq!(ifbs(&host), ["bwp0123456789ab", &valid]);
    assert_eq!(seen(), [(0, 0, 0), (1, 1, 1), (1, 1, 1), (0, 0, 0)]);
}

#[test]
fn status_tells_that_the_kernel_has_no_such_link() {
    let world = world();
    let status = |keys: &Value| world.run(Invocation::status().config(config("1.1.0", keys)));
    status(&json!({})).assert_success();
    status(&json!({"egressRate": 5})).assert_error(7);
    world.fake.refuse("create ifb \"cni/probe\"", 95);
    let outcome = status(&json!({}));
    let msg = &outcome.assert_error(50).msg;
    assert!(
        msg.starts_with("no rate can be limited: no ifb link can be made: ") && msg.contains("modprobe ifb"),
        "{msg}"
    );
    assert!(ifbs(&world.host()).is_empty());
}

#[test]
fn older_versions_than_0_3_0_are_refused() {
    world().add(&config("0.2.0", &both_ways())).assert_error(1);
}

#[test]
fn c97_conforms() {
    // Its containers have no pairs, so that nothing is limited.
    world().assert_conforms(&config("1.1.0", &json!({})));
}
