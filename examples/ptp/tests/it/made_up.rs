//! On a made-up kernel.

use std::rc::Rc;

use cni_skel::ErrorCode;
use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use plugin_attach::testing::{NETNS, World, addresses, commands};
use plugin_support::netlink::{Link, LinkChange, RouteFilter};
use plugin_support::testing::{FakeKernel, ScriptedTools};
use ptp::Ptp;
use serde_json::{Value, json};

use crate::{config, dual};

fn world() -> World<Ptp> {
    World::new(|tools, fake| Ptp::on(tools, fake.into())).with_addresses(dual(5))
}

/// The host's end.
fn port(world: &World<Ptp>) -> Link {
    let eth0 = world.inside().link("eth0").unwrap();
    world.host().link_by_index(eth0.peer.unwrap()).unwrap()
}

/// The routes of a family, in the words of `ip route`, without the index of the link.
fn routes(world: &World<Ptp>, filter: RouteFilter) -> Vec<String> {
    let routes = world.inside().routes(&filter).unwrap();
    let mut lines: Vec<_> = routes
        .into_iter()
        .map(|route| plugin_support::netlink::Route { link: None, ..route }.to_string())
        .collect();
    lines.sort();
    lines
}

#[test]
fn everything_goes_to_the_gateway() {
    let world = world();
    let added = world.add(&config(&json!({"mtu": 1400})));
    added.assert_success();
    let result = added.result();
    let port = port(&world);
    assert_eq!(
        (result.interfaces[0].name.as_str(), &result.interfaces[0].sandbox),
        (port.name.as_str(), &None)
    );
    assert_eq!(result.interfaces[1].name, "eth0");
    assert_eq!(result.interfaces[1].sandbox.as_deref(), Some(NETNS));
    assert!(result.ips.iter().all(|ip| ip.interface == Some(1)));
    assert_eq!(result.routes.len(), 2);
    assert_eq!((port.mtu, world.inside().link("eth0").unwrap().mtu), (1400, 1400));

    assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24", "fd00:1::5/64"]);
    assert_eq!(addresses(&world.host(), &port.name), ["10.1.0.1/32", "fd00:1::1/128"]);
    assert_eq!(
        routes(&world, RouteFilter::v4()),
        [
            "0.0.0.0/0 via 10.1.0.1 scope 0",
            "10.1.0.0/24 via 10.1.0.1 src 10.1.0.5 scope 0",
            "10.1.0.1/32 src 10.1.0.5 scope 253"
        ]
    );
    assert!(
        routes(&world, RouteFilter::v6())
            .contains(&"fd00:1::/64 via fd00:1::1 src fd00:1::5 metric 1024 scope 0".to_owned())
    );
    let to_container = world.host().routes(&RouteFilter::v4().dev(&port)).unwrap();
    assert_eq!(to_container[0].destination.to_string(), "10.1.0.5/32");
    for key in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
        assert_eq!(world.fake.host().sysctl().read(key).unwrap(), "1", "{key}");
    }
}

#[test]
fn addresses_of_one_network_share_its_gateway() {
    let ips = ["10.1.0.5/24", "10.1.0.6/24", "10.2.0.5/32"];
    let ips: Vec<_> = ips.iter().map(|address| json!({"address": address, "gateway": "10.1.0.1"})).collect();
    let world = world().with_addresses(json!({"ips": ips}));
    let added = world.add(&config(&json!({})));
    added.assert_success();
    assert_eq!(routes(&world, RouteFilter::v4()).len(), 2);
    assert_eq!(addresses(&world.host(), &port(&world).name), ["10.1.0.1/32"]);
    assert_eq!(world.host().routes(&RouteFilter::v4()).unwrap().len(), 3);
    world.check(&config(&json!({})), &added).assert_success();
}

#[test]
fn an_address_alone_reaches_a_gateway_of_another_network() {
    let addresses = json!({"ips": [{"address": "10.1.0.5/32", "gateway": "169.254.1.1"}], "routes": [{"dst": "0.0.0.0/0"}]});
    let world = world().with_addresses(addresses);
    let added = world.add(&config(&json!({})));
    added.assert_success();
    let expected = ["0.0.0.0/0 via 169.254.1.1 scope 0", "169.254.1.1/32 src 10.1.0.5 scope 253"];
    assert_eq!(routes(&world, RouteFilter::v4()), expected);
    world.check(&config(&json!({})), &added).assert_success();
}

#[test]
fn without_a_gateway_nothing_is_made_and_the_addresses_go_back() {
    for ips in [json!([{"address": "10.1.0.5/24"}]), json!([])] {
        let world = world().with_addresses(json!({"ips": ips}));
        let outcome = world.add(&config(&json!({})));
        assert!(outcome.assert_error(999).msg.starts_with("IPAM plugin returned "));
        assert_eq!(commands(&outcome), [Command::Add, Command::Del]);
        assert_eq!(world.fake.log(), [""; 0]);
    }
}

#[test]
fn a_container_with_the_same_address_is_refused() {
    let world = world();
    let added = world.add(&config(&json!({})));
    added.assert_success();
    world.fake.add_netns("/run/netns/c2");
    let outcome = world.run(Invocation::add("c2", "/run/netns/c2", "eth0").config(config(&json!({}))));
    assert!(outcome.assert_error(999).msg.starts_with("failed to add route on host: "));
    world.check(&config(&json!({})), &added).assert_success();
    assert_eq!(world.host().links().unwrap().len(), 2);
}

/// A runtime must not do that; a container that runs keeps its addresses all the same.
#[test]
fn a_second_add_is_refused_before_the_ipam_plugin_is_asked() {
    let world = world();
    let config = config(&json!({}));
    let added = world.add(&config);
    let outcome = world.add(&config);
    assert!(outcome.assert_error(999).msg.starts_with("container veth name (\"eth0\") already exists"));
    assert_eq!(commands(&outcome), []);
    world.check(&config, &added).assert_success();
}

#[test]
fn without_addresses_there_is_no_ptp() {
    for ipam in [json!(null), json!({}), json!({"type": ""})] {
        let world = world();
        let outcome = world.add(&config(&json!({"ipam": ipam})));
        let error = outcome.assert_error(7);
        assert!(error.msg.starts_with("no plugin name provided: ipam.type"), "{error}");
        assert_eq!(world.fake.log(), [""; 0]);
        world.del(&config(&json!({"ipam": ipam}))).assert_success();
    }
}

#[test]
fn a_prev_result_is_kept_and_the_configurations_dns_goes_first() {
    let earlier = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "dummy0"}], "ips": [{"address": "192.0.2.9/32", "interface": 0}]});
    let world = world().with_addresses(json!({
        "ips": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}], "dns": {"nameservers": ["10.1.0.1"]},
    }));
    let call = Invocation::add("c1", NETNS, "eth0").config(config(&json!({}))).prev_result(&earlier);
    let result = world.run(call).result();
    assert_eq!((result.interfaces.len(), result.ips[1].interface), (3, Some(2)));
    assert_eq!(result.dns.nameservers, ["10.1.0.1"]);
    world.del(&config(&json!({}))).assert_success();
    let result = world.add(&config(&json!({"dns": {"nameservers": ["192.0.2.53"]}}))).result();
    assert_eq!(result.dns.nameservers, ["192.0.2.53"]);
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    let reads = ["find link \"eth0\"", "find link \"veth"];
    World::assert_all_or_nothing(world, &config(&json!({"mtu": 1400})), &reads);
}

#[test]
fn c65_ipv4_alone_needs_no_ipv6() {
    let world = World::on(FakeKernel::without_ipv6(), |tools, fake| Ptp::on(tools, fake.into()));
    let added = world.add(&config(&json!({})));
    added.assert_success();
    world.check(&config(&json!({})), &added).assert_success();
    // What cannot be had is refused, and nothing is left.
    let other = World::on(FakeKernel::without_ipv6(), |tools, fake| Ptp::on(tools, fake.into()));
    let outcome = other.with_addresses(dual(5)).add(&config(&json!({})));
    assert!(outcome.assert_error(999).msg.contains("fd00:1::1"));
    assert_eq!(commands(&outcome), [Command::Add, Command::Del]);
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
fn c14_without_a_netns_the_hosts_links_are_left_alone() {
    let world = world();
    let kind = plugin_support::netlink::LinkKind::Veth(plugin_support::netlink::Peer::new("eth1"));
    world.host().create(&plugin_support::netlink::NewLink::new("eth0", kind)).unwrap();
    for path in [None, Some("")] {
        let call = Invocation::del("c1", "eth0").config(config(&json!({})));
        world.run(if let Some(path) = path { call.netns(path) } else { call }).assert_success();
    }
    assert!(world.host().link("eth0").is_ok());
}

#[test]
fn del_goes_on_when_the_ipam_plugin_fails() {
    let world = world();
    world.add(&config(&json!({}))).assert_success();
    let call = Invocation::del("c1", "eth0").netns(NETNS).config(config(&json!({})));
    let outcome = call
        .delegate("host-local", |call| call.fail(ErrorCode::TRY_AGAIN, "the store is locked"))
        .run(&world.plugin());
    assert!(outcome.assert_error(11).msg.ends_with("the store is locked"));
    assert!(world.inside().link("eth0").is_err());
}

#[test]
fn the_link_of_another_attachment_is_left_alone() {
    let world = world();
    let added = world.add(&config(&json!({})));
    let second = config(&json!({"name": "n2"}));
    let outcome = world.add(&second);
    assert!(outcome.assert_error(999).msg.contains("already exists"));
    // A runtime undoes what failed.
    world.del(&second).assert_success();
    world.check(&config(&json!({})), &added).assert_success();
}

#[test]
fn rules_go_though_nothing_is_known() {
    let masquerade = config(&json!({"ipMasq": true}));
    let no_table = "Error: No such file or directory\n";
    let added = ScriptedTools::new()
        .success("iptables-restore --noflush --wait=60", "")
        .success("ip6tables-restore --noflush --wait=60", "");
    let mut world = world().with_tools(Rc::new(added));
    world.add(&masquerade).assert_success();
    world.fake.remove_netns(NETNS);
    let removed = ScriptedTools::new()
        .success(
            "iptables-save --table nat",
            "*nat\n:POSTROUTING ACCEPT [0:0]\n:CNI-7be53730afe4dc6eb2178d03 - [0:0]\nCOMMIT\n",
        )
        .success("iptables-restore --noflush --wait=60", "")
        .success("ip6tables-save --table nat", "*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n")
        .failure("nft -j -t list table inet cni_plugins_masquerade", no_table);
    let removed = Rc::new(removed);
    world = world.with_tools(Rc::clone(&removed) as _);
    world.run(Invocation::del("c1", "eth0").config(&masquerade)).assert_success();
    removed.assert_done();
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let keys = config(&json!({}));
    let changed = |change: &dyn Fn(&World<Ptp>), told: &str| {
        let world = world();
        let added = world.add(&keys);
        world.check(&keys, &added).assert_success();
        change(&world);
        let outcome = world.check(&keys, &added);
        let error = outcome.assert_error(999);
        assert!(error.msg.contains(told), "{told}: {error}");
        assert_eq!(commands(&outcome), [Command::Check]);
    };
    let of_container = |world: &World<Ptp>, change: LinkChange<'_>| {
        world.inside().change(&world.inside().link("eth0").unwrap(), &change).unwrap();
    };
    let delete_route = |netlink: &plugin_support::netlink::Handle, destination: &str| {
        let destination: ipnetwork::IpNetwork = destination.parse().unwrap();
        netlink.delete_route(&plugin_support::netlink::Route::to(destination)).unwrap();
    };
    let delete_address = |netlink: &plugin_support::netlink::Handle, link: &Link, address: &str| {
        netlink.delete_address(link, address.parse::<ipnetwork::IpNetwork>().unwrap()).unwrap();
    };
    changed(&|world| world.inside().delete(&world.inside().link("eth0").unwrap()).unwrap(), "eth0 not found");
    changed(&|world| of_container(world, LinkChange::new().down()), "is down");
    changed(
        &|world| of_container(world, LinkChange::new().mac([2, 0, 0, 0, 0, 9])),
        "doesn't match container Mac",
    );
    changed(&|world| world.host().set_down(&port(world)).unwrap(), "is down");
    changed(
        &|world| world.host().change(&port(world), &LinkChange::new().mac([2, 0, 0, 0, 0, 9])).unwrap(),
        "Mac doesn't match",
    );
    changed(
        &|world| delete_address(&world.inside(), &world.inside().link("eth0").unwrap(), "10.1.0.5/24"),
        "Failed to match addr 10.1.0.5/24 on interface eth0",
    );
    changed(
        &|world| delete_address(&world.host(), &port(world), "fd00:1::1/128"),
        "Failed to match addr fd00:1::1/128",
    );
    changed(
        &|world| delete_route(&world.inside(), "0.0.0.0/0"),
        "Expected Route {Dst:0.0.0.0/0 GW:<nil>} not found",
    );
    changed(&|world| delete_route(&world.inside(), "10.1.0.1/32"), "Expected Route 10.1.0.1/32");
    changed(&|world| delete_route(&world.host(), "fd00:1::5/128"), "Expected Route fd00:1::5/128");
    changed(
        &|world| world.fake.host().sysctl().write("net/ipv4/ip_forward", "0").unwrap(),
        "does not forward",
    );
}

#[test]
fn gc_removes_the_pairs_of_the_networks_stale_attachments() {
    let world = world().with_tools(Rc::new(ScriptedTools::bare()));
    let keys = config(&json!({}));
    let added = world.add(&keys);
    world.run(Invocation::gc([]).config(config(&json!({"name": "n2"})))).assert_success();
    let outcome = world.run(Invocation::gc([("c1", "eth0")]).config(&keys));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Gc]);
    world.check(&keys, &added).assert_success();
    world.run(Invocation::gc([("c1", "eth1")]).config(&keys)).assert_success();
    assert!(world.inside().link("eth0").is_err());
}

#[test]
fn status_tells_what_add_could_not_do() {
    let status = |keys: Value, tools: ScriptedTools| {
        world().with_tools(Rc::new(tools)).run(Invocation::status().config(config(&keys)))
    };
    let outcome = status(json!({}), ScriptedTools::new());
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Status]);
    let outcome =
        status(json!({"ipMasq": true, "ipMasqBackend": "nftables"}), ScriptedTools::new().missing("nft"));
    assert!(outcome.assert_error(50).msg.starts_with("ipMasq is not possible: "));
    status(json!({"mtu": -5}), ScriptedTools::new()).assert_error(7);
    status(json!({"ipam": {}}), ScriptedTools::new()).assert_error(7);
}

#[test]
fn c97_conforms() {
    world().assert_conforms(&config(&json!({})));
}
