use netlink_packet_core::ParseableParametrized;
use netlink_packet_route::RouteNetlinkMessage;

use super::*;
use crate::netlink::body;

fn network(text: &str) -> IpNetwork {
    text.parse().unwrap()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Through bytes and back, as if the kernel had kept it.
fn kept(route: &Route) -> Route {
    let mut message = route.message();
    message.header.scope = route.scope.unwrap_or_else(|| route.scope_to_add());
    let bytes = body(&RouteNetlinkMessage::NewRoute(message));
    match RouteNetlinkMessage::parse_with_param(&bytes, 24).unwrap() {
        RouteNetlinkMessage::NewRoute(message) => Route::from_message(message).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_a_route_has_comes_back() {
    let route = Route {
        link: Some(3),
        scope: Some(RouteScope::Site),
        ..Route::to(network("10.2.0.0/16"))
            .via(address("10.1.0.1"))
            .source(address("10.1.0.5"))
            .table(1000)
            .priority(7)
            .mtu(1400)
            .advmss(1360)
            .onlink()
    };
    assert_eq!(kept(&route), route);
}

#[test]
fn routes_of_both_families_and_next_hops_come_back() {
    let hop =
        |gateway, weight| NextHop { gateway: Some(address(gateway)), link: 3, weight, onlink: weight == 256 };
    let route = Route {
        next_hops: vec![hop("fd00::1", 1), hop("fd00::2", 256)],
        scope: Some(RouteScope::Universe),
        ..Route::to(network("::/0"))
    };
    assert_eq!(kept(&route), route);
}

#[test]
fn an_ipv4_route_may_have_an_ipv6_router() {
    let route = Route {
        link: Some(3),
        scope: Some(RouteScope::Universe),
        ..Route::to(network("10.2.0.0/16")).via(address("fe80::1"))
    };
    assert!(matches!(route.message().attributes[1], RouteAttribute::Via(RouteVia::Inet6(_))));
    assert_eq!(kept(&route), route);
}

#[test]
fn host_bits_are_cleared_and_the_default_route_has_no_destination() {
    assert_eq!(kept(&Route::to(network("10.2.3.4/16"))).destination, network("10.2.0.0/16"));
    let default = Route::to(network("0.0.0.0/0"));
    assert_eq!(default.message().attributes, []);
    assert!(kept(&default).is_default());
}

#[test]
fn a_route_without_scope_gets_that_of_ip() {
    let scope = |route: Route| route.scope_to_add();
    assert_eq!(scope(Route::to(network("10.0.0.0/8"))), RouteScope::Link);
    assert_eq!(scope(Route::to(network("10.0.0.0/8")).via(address("10.1.0.1"))), RouteScope::Universe);
    assert_eq!(scope(Route::to(network("fd00::/8"))), RouteScope::Universe);
    assert_eq!(
        scope(Route { kind: RouteType::Local, ..Route::to(network("10.0.0.1/32")) }),
        RouteScope::Host
    );
}
