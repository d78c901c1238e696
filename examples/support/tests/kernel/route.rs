use std::net::IpAddr;

use ipnetwork::IpNetwork;
use plugin_support::netlink::{
    Handle, Link, LinkKind, NewAddress, NewLink, NextHop, Peer, Route, RouteFilter, RouteScope,
};
use plugin_support::testing::TestNetns;

fn network(text: &str) -> IpNetwork {
    text.parse().unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A namespace whose link `a` is up and in 10.1.0.0/16 and fd00::/64.
fn with_link() -> Option<(TestNetns, Handle, Link)> {
    let netns = TestNetns::new()?;
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).up()).unwrap();
    netlink.set_up(&netlink.link("b").unwrap()).unwrap();
    let a = netlink.link("a").unwrap();
    netlink.add_address(&a, &NewAddress::new(network("10.1.0.5/16"))).unwrap();
    netlink.add_address(&a, &NewAddress::new(network("fd00::5/64")).no_dad()).unwrap();
    Some((netns, netlink, a))
}

fn to(routes: &[Route], destination: &str) -> Vec<Route> {
    routes.iter().filter(|route| route.destination == network(destination)).cloned().collect()
}

#[test]
fn a_route_comes_back_as_it_was_added() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    let wanted = Route::to(network("10.2.0.0/16"))
        .via(ip("10.1.0.1"))
        .dev(&a)
        .source(ip("10.1.0.5"))
        .priority(7)
        .mtu(1400)
        .advmss(1360);
    netlink.add_route(&wanted).unwrap();
    let routes = netlink.routes(&RouteFilter::v4()).unwrap();
    let wanted = wanted.scope(RouteScope::Universe);
    assert_eq!(to(&routes, "10.2.0.0/16"), std::slice::from_ref(&wanted));
    assert_eq!(to(&routes, "10.1.0.0/16")[0].scope, Some(RouteScope::Link), "made by the kernel");

    let error = netlink.add_route(&wanted).unwrap_err();
    assert!(error.is_exists());
    assert_eq!(
        error.to_string(),
        format!(
            "failed to add route 10.2.0.0/16 via 10.1.0.1 dev index {} src 10.1.0.5 metric 7 mtu 1400 advmss 1360 scope 0",
            a.index
        )
    );
    netlink.delete_route(&wanted).unwrap();
    assert!(netlink.delete_route(&wanted).unwrap_err().is_not_found());
}

#[test]
fn default_routes_of_both_families() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    netlink.add_route(&Route::to(network("0.0.0.0/0")).via(ip("10.1.0.1")).dev(&a)).unwrap();
    netlink.add_route(&Route::to(network("::/0")).via(ip("fd00::1")).dev(&a)).unwrap();
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        let routes = netlink.routes(&filter.dev(&a)).unwrap();
        let default: Vec<_> = routes.iter().filter(|route| route.is_default()).collect();
        assert_eq!(default.len(), 1);
        assert_eq!(default[0].link, Some(a.index));
    }
    let v6 = netlink.routes(&RouteFilter::v6()).unwrap();
    assert_eq!(to(&v6, "::/0")[0].priority, Some(1024));
}

#[test]
fn tables_are_kept_apart() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    for table in [100, 100_000] {
        let filter = RouteFilter::v4().table(table);
        assert_eq!(netlink.routes(&filter).unwrap(), [], "no such table");
        netlink.add_route(&Route::to(network("10.9.0.0/16")).dev(&a).table(table)).unwrap();
        let routes = netlink.routes(&filter).unwrap();
        assert_eq!(routes.len(), 1);
        assert_eq!((routes[0].table, routes[0].scope), (table, Some(RouteScope::Link)));
    }
    assert_eq!(to(&netlink.routes(&RouteFilter::v4()).unwrap(), "10.9.0.0/16"), []);
    assert_eq!(to(&netlink.routes(&RouteFilter::v4().every_table()).unwrap(), "10.9.0.0/16").len(), 2);
}

#[test]
fn ecmp_routes_share_a_destination() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    let v6 = |gateway| Route::to(network("fd01::/64")).via(ip(gateway)).dev(&a);
    netlink.add_route_ecmp(&v6("fd00::1")).unwrap();
    netlink.add_route_ecmp(&v6("fd00::2")).unwrap();
    assert!(netlink.add_route_ecmp(&v6("fd00::2")).unwrap_err().is_exists());
    let routes = to(&netlink.routes(&RouteFilter::v6().dev(&a)).unwrap(), "fd01::/64");
    assert_eq!(routes.len(), 1);
    assert_eq!(routes[0].next_hops.len(), 2);

    let v4 = |gateway| Route::to(network("10.2.0.0/16")).via(ip(gateway)).dev(&a);
    netlink.add_route_ecmp(&v4("10.1.0.1")).unwrap();
    netlink.add_route_ecmp(&v4("10.1.0.2")).unwrap();
    netlink.append_route(&v4("10.1.0.3")).unwrap();
    let gateways: Vec<_> = to(&netlink.routes(&RouteFilter::v4()).unwrap(), "10.2.0.0/16")
        .iter()
        .map(|route| route.gateway.unwrap().to_string())
        .collect();
    assert_eq!(gateways, ["10.1.0.2", "10.1.0.1", "10.1.0.3"], "each but the last goes first");
}

#[test]
fn a_multipath_route_has_weights() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    let hop = |gateway, weight| NextHop { gateway: Some(ip(gateway)), link: a.index, weight, onlink: false };
    let mut route = Route::to(network("10.2.0.0/16"));
    route.next_hops = vec![hop("10.1.0.1", 1), hop("10.1.0.2", 3)];
    netlink.add_route(&route).unwrap();
    assert_eq!(
        to(&netlink.routes(&RouteFilter::v4().dev(&a)).unwrap(), "10.2.0.0/16")[0].next_hops,
        route.next_hops
    );
}

#[test]
fn a_route_is_replaced_by_destination() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    let via = |gateway| Route::to(network("10.2.0.0/16")).via(ip(gateway)).dev(&a);
    netlink.replace_route(&via("10.1.0.1")).unwrap();
    netlink.replace_route(&via("10.1.0.2")).unwrap();
    let routes = to(&netlink.routes(&RouteFilter::v4()).unwrap(), "10.2.0.0/16");
    assert_eq!(routes.len(), 1);
    assert_eq!(routes[0].gateway, Some(ip("10.1.0.2")));
}

#[test]
fn an_unreachable_gateway_needs_onlink() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    let route = Route::to(network("10.2.0.0/16")).via(ip("192.0.2.1")).dev(&a);
    let error = netlink.add_route(&route).unwrap_err();
    assert!(error.to_string().ends_with(": Nexthop has invalid gateway"), "{error}");
    netlink.add_route(&route.onlink()).unwrap();
    assert!(to(&netlink.routes(&RouteFilter::v4()).unwrap(), "10.2.0.0/16")[0].onlink);
}

#[test]
fn a_route_of_a_point_to_point_container() {
    // What ptp makes: the gateway by a link route, the network through it.
    let Some((_netns, netlink, a)) = with_link() else { return };
    let connected = to(&netlink.routes(&RouteFilter::v4().dev(&a)).unwrap(), "10.1.0.0/16");
    netlink.delete_route(&connected[0]).unwrap();
    let gateway = Route::to(network("10.1.0.1/32")).dev(&a).source(ip("10.1.0.5")).scope(RouteScope::Link);
    netlink.add_route(&gateway).unwrap();
    netlink
        .add_route(&Route::to(network("10.1.0.0/16")).via(ip("10.1.0.1")).dev(&a).source(ip("10.1.0.5")))
        .unwrap();
    assert_eq!(netlink.routes(&RouteFilter::v4().dev(&a)).unwrap().len(), 2);
}

#[test]
fn thousands_of_routes_are_listed_whole() {
    let Some((_netns, netlink, a)) = with_link() else { return };
    for n in 0..3000_u32 {
        let destination = IpNetwork::new(IpAddr::from((0x0a02_0000 + (n << 8)).to_be_bytes()), 24).unwrap();
        netlink.add_route(&Route::to(destination).dev(&a)).unwrap();
    }
    assert_eq!(netlink.routes(&RouteFilter::v4()).unwrap().len(), 3001);
}

#[test]
fn the_route_to_an_address_is_the_one_the_kernel_takes() {
    let Some((netns, netlink, a)) = with_link() else { return };
    assert!(netlink.route_get(ip("192.0.2.1")).unwrap_err().is_unreachable());
    assert!(netlink.route_get(ip("2001:db8::1")).unwrap_err().is_unreachable());
    let found = netlink.route_get(ip("10.1.0.77")).unwrap();
    assert_eq!(
        (found.destination, found.gateway, found.link),
        (network("10.1.0.77/32"), None, Some(a.index))
    );
    assert_eq!(found.source, Some(ip("10.1.0.5")));
    netlink.add_route(&Route::to(network("192.0.2.0/24")).via(ip("10.1.0.1")).dev(&a).table(77)).unwrap();
    netns.ip("rule add to 192.0.2.0/24 lookup 77");
    assert_eq!(netlink.route_get(ip("192.0.2.1")).unwrap().gateway, Some(ip("10.1.0.1")));
    assert_eq!(netlink.route_get(ip("fd00::77")).unwrap().link, Some(a.index));
}
