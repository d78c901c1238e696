//! The made-up kernel against the real one: the same steps, the same outcome and the same tables after each.

use std::fmt::Debug;

use ipnetwork::IpNetwork;
use plugin_support::Error;
use plugin_support::netlink::{
    AddressFlags, AddressScope, BridgeOptions, Handle, Link, LinkChange, LinkKind, MacvlanMode, NewAddress,
    NewLink, Peer, PortOptions, Route, RouteFilter,
};
use plugin_support::netns::NetNs;
use plugin_support::testing::{FakeKernel, TestNetns};

fn network(text: &str) -> IpNetwork {
    text.parse().unwrap()
}

fn ip(text: &str) -> std::net::IpAddr {
    text.parse().unwrap()
}

/// Two namespaces of one kernel, and what has happened there so far.
struct Stage<'a> {
    host: &'a NetNs,
    container: &'a NetNs,
    outside: Handle,
    inside: Handle,
    seen: Vec<String>,
}

impl<'a> Stage<'a> {
    fn new(host: &'a NetNs, container: &'a NetNs) -> Self {
        let (outside, inside) = (host.netlink().unwrap(), container.netlink().unwrap());
        Self { host, container, outside, inside, seen: Vec::new() }
    }

    /// Notes how a step ended, and what both namespaces look like after it.
    fn step<T: Debug>(&mut self, what: &str, outcome: Result<T, Error>) {
        let outcome = match outcome {
            Ok(_) => "ok".to_owned(),
            Err(error) => format!("errno {:?}", error.errno().map(|errno| errno.raw())),
        };
        self.seen.push(format!("{what}: {outcome}"));
        for (name, netlink) in [("host", &self.outside), ("container", &self.inside)] {
            for line in tables(netlink) {
                self.seen.push(format!("  {name}: {line}"));
            }
        }
    }
}

/// Links, addresses and routes, told without what depends on the machine: indices and made-up hardware addresses.
fn tables(netlink: &Handle) -> Vec<String> {
    let links = netlink.links().unwrap();
    let name = |index: Option<u32>| {
        links.iter().find(|link| Some(link.index) == index).map_or("-".to_owned(), |link| link.name.clone())
    };
    let mut lines = Vec::new();
    for link in &links {
        let mac = link.mac.filter(|mac| mac.octets()[0] == 0x0a);
        let peer = if link.peer_netns.is_some() { "elsewhere".into() } else { name(link.peer) };
        lines.push(format!(
            "{} {:?} up {} mtu {} queue {} mac {mac:?} master {} peer {peer} promisc {} alias {:?} port {:?} {:?}",
            link.name,
            link.kind,
            link.is_up(),
            link.mtu,
            link.tx_queue,
            name(link.master),
            link.promiscuity,
            link.alias,
            link.port,
            match &link.details {
                // A kernel without the facility does not tell.
                plugin_support::netlink::LinkDetails::Bridge { .. } => &plugin_support::netlink::LinkDetails::None,
                details => details,
            },
        ));
        for address in netlink.addresses(link).unwrap() {
            // The real kernel makes link-local IPv6 addresses of its own.
            if address.scope != AddressScope::Link {
                let kept = AddressFlags::Permanent | AddressFlags::Nodad | AddressFlags::Noprefixroute;
                let flags = address.flags & kept;
                lines.push(format!(
                    "  {} {:?} {flags:?} {:?}",
                    address.network, address.scope, address.broadcast
                ));
            }
        }
    }
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        let mut routes: Vec<_> = netlink
            .routes(&filter)
            .unwrap()
            .iter()
            .filter(|route| !route.destination.to_string().starts_with("fe80"))
            .map(|route| {
                let link = name(route.link);
                let route = Route { link: None, ..route.clone() };
                format!("  {route} dev {link} protocol {}", route.protocol)
            })
            .collect();
        routes.sort();
        lines.extend(routes);
    }
    lines
}

/// What plugins do, and what goes wrong when they do.
fn play(stage: &mut Stage<'_>) {
    links(stage);
    ports(stage);
    addresses_and_routes(stage);
    ends(stage);
}

fn links(stage: &mut Stage<'_>) {
    let (host, container) = (stage.host, stage.container);
    let lo = stage.inside.link("lo").unwrap();
    stage.step("lo up", stage.inside.set_up(&lo));
    let bridge = NewLink::new("cni0", LinkKind::Bridge(BridgeOptions::default()))
        .mac([0x0a, 0, 0, 0, 0, 9])
        .mtu(1400)
        .up();
    stage.step("bridge", stage.outside.create(&bridge));
    stage.step("bridge again", stage.outside.create(&bridge));
    let veth = |first: &str, second: &str| {
        let peer = Peer::new(second).netns(host).mac([0x0a, 0, 0, 0, 0, 2]).tx_queue(7);
        NewLink::new(first, LinkKind::Veth(peer)).mac([0x0a, 0, 0, 0, 0, 1]).mtu(1400).up()
    };
    stage.step("veth", stage.inside.create(&veth("eth0", "veth0")));
    stage.step("same name", stage.inside.create(&veth("eth0", "veth1")));
    stage.step("same peer", stage.inside.create(&veth("eth1", "veth0")));
    let (eth0, veth0) = (stage.inside.link("eth0").unwrap(), stage.outside.link("veth0").unwrap());
    stage.step("peer up", stage.outside.set_up(&veth0));
    stage.step("tiny mtu", stage.outside.change(&veth0, &LinkChange::new().mtu(17)));
    stage.step(
        "settings",
        stage.inside.change(&eth0, &LinkChange::new().alias("a").tx_queue(9).promisc(true)),
    );
    stage.step("no settings", stage.inside.change(&eth0, &LinkChange::new().alias("").promisc(false)));
    stage.step("name in use", stage.inside.change(&eth0, &LinkChange::new().name("lo")));
    stage.step("rename", stage.inside.change(&eth0, &LinkChange::new().down().name("eth5").up()));
    for name in ["a/b", "a:b", "a b", ".", ".."] {
        stage.step("impossible name", stage.inside.change(&eth0, &LinkChange::new().name(name)));
        stage.step("impossible name", stage.inside.create(&NewLink::new(name, LinkKind::Ifb)));
    }
    for kind in ["ifb", "veth", "bridge", "macvlan", "nothing"] {
        stage.step(kind, stage.inside.try_kind(kind));
    }
    stage.step("missing", stage.inside.link("eth0"));
    stage.step("missing index", stage.inside.link_by_index(999));
    let kind = LinkKind::Macvlan { parent: &veth0, mode: MacvlanMode::Private, broadcast_queue: None };
    stage.step(
        "macvlan",
        stage.outside.create(&NewLink::new("mac0", kind).netns(container).mac([0x0a, 0, 0, 0, 0, 5])),
    );
    let gone = Link { index: 999, ..veth0.clone() };
    let kind = LinkKind::Macvlan { parent: &gone, mode: MacvlanMode::Private, broadcast_queue: None };
    stage.step("macvlan on nothing", stage.outside.create(&NewLink::new("mac1", kind)));
    stage.step("ifb", stage.outside.create(&NewLink::new("ifb5", LinkKind::Ifb)));
    let ifb = stage.outside.link("ifb5").unwrap();
    stage.step("move", stage.outside.change(&ifb, &LinkChange::new().netns(container).name("ifb6")));
    stage.step("gone", stage.outside.set_up(&ifb));
}

fn ports(stage: &mut Stage<'_>) {
    let (bridge, veth0) = (stage.outside.link("cni0").unwrap(), stage.outside.link("veth0").unwrap());
    let hairpin = PortOptions { hairpin: Some(true), ..PortOptions::default() };
    stage.step("no port", stage.outside.change_port(&veth0, &hairpin));
    stage.step("busy", stage.outside.change(&veth0, &LinkChange::new().master(&bridge)));
    let mac0 = stage.inside.link("mac0").unwrap();
    stage.step("delete macvlan", stage.inside.delete(&mac0));
    stage.step("master", stage.outside.change(&veth0, &LinkChange::new().master(&bridge)));
    stage.step("hairpin", stage.outside.change_port(&veth0, &hairpin));
    let isolated = PortOptions { isolated: Some(true), ..PortOptions::default() };
    stage.step("isolated", stage.outside.change_port(&veth0, &isolated));
    let lo = stage.outside.link("lo").unwrap();
    stage.step("lo as port", stage.outside.change(&lo, &LinkChange::new().master(&bridge)));
    stage.step("port of a port", stage.outside.change(&bridge, &LinkChange::new().master(&veth0)));
    stage.step("no master", stage.outside.change(&veth0, &LinkChange::new().no_master()));
    stage.step("master again", stage.outside.change(&veth0, &LinkChange::new().master(&bridge)));
}

fn addresses_and_routes(stage: &mut Stage<'_>) {
    let eth5 = stage.inside.link("eth5").unwrap();
    let v4 = NewAddress::new(network("10.1.0.5/16"));
    stage.step("v4", stage.inside.add_address(&eth5, &v4));
    stage.step("v4 again", stage.inside.add_address(&eth5, &v4));
    stage.step("v4 replaced", stage.inside.replace_address(&eth5, &v4));
    stage.step("v6", stage.inside.add_address(&eth5, &NewAddress::new(network("fd00::5/64")).no_dad()));
    let silent = NewAddress::new(network("10.3.0.5/24")).no_prefix_route().no_broadcast();
    stage.step("silent", stage.inside.add_address(&eth5, &silent));
    stage.step("host", stage.inside.add_address(&eth5, &NewAddress::new(network("10.4.0.5/32"))));

    let default = Route::to(network("0.0.0.0/0")).via(ip("10.1.0.1")).dev(&eth5);
    stage.step("default", stage.inside.add_route(&default));
    stage.step("default again", stage.inside.add_route(&default));
    stage.step("default ecmp again", stage.inside.add_route_ecmp(&default));
    let other = Route::to(network("0.0.0.0/0")).via(ip("10.1.0.2")).dev(&eth5).mtu(1300).advmss(1200);
    stage.step("other default", stage.inside.add_route_ecmp(&other));
    stage.step("cheap default", stage.inside.add_route(&other.clone().priority(50)));
    stage.step("replaced", stage.inside.replace_route(&other.priority(50).source(ip("10.1.0.5"))));
    stage.step(
        "v6 default",
        stage.inside.add_route(&Route::to(network("::/0")).via(ip("fd00::1")).dev(&eth5)),
    );
    stage.step("found link", stage.inside.add_route(&Route::to(network("10.7.0.0/16")).via(ip("10.1.0.9"))));
    stage.step(
        "nowhere",
        stage.inside.add_route(&Route::to(network("10.8.0.0/16")).via(ip("192.0.2.1")).dev(&eth5)),
    );
    stage.step(
        "onlink",
        stage.inside.add_route(&Route::to(network("10.8.0.0/16")).via(ip("192.0.2.1")).dev(&eth5).onlink()),
    );
    let ifb6 = stage.inside.link("ifb6").unwrap();
    stage.step("down", stage.inside.add_route(&Route::to(network("10.9.0.0/16")).dev(&ifb6)));
    let gone = Link { index: 999, ..ifb6 };
    stage.step("no link", stage.inside.add_route(&Route::to(network("10.9.0.0/16")).dev(&gone)));
    stage.step("table", stage.inside.add_route(&Route::to(network("10.9.0.0/16")).dev(&eth5).table(1000)));
    stage.step("other table", stage.inside.routes(&RouteFilter::v4().table(1001)));
    for address in ["10.1.0.77", "10.7.0.1", "8.8.8.8", "fd00::77", "2001:db8::1"] {
        let found =
            stage.inside.route_get(ip(address)).map(|route| (route.destination, route.gateway, route.link));
        let told = format!(
            "{:?}",
            found
                .as_ref()
                .map(|(destination, gateway, link)| { (*destination, *gateway, *link == Some(eth5.index)) })
                .ok()
        );
        stage.step(&format!("way to {address}: {told}"), found);
    }
    stage.step("no way", stage.outside.route_get(ip("8.8.8.8")));
    stage.step("no way by IPv6", stage.outside.route_get(ip("2001:db8::1")));
    stage.step("delete", stage.inside.delete_route(&default));
    stage.step("delete again", stage.inside.delete_route(&default));
    stage.step("delete by destination", stage.inside.delete_route(&Route::to(network("10.8.0.0/16"))));

    stage.step("address gone", stage.inside.delete_address(&eth5, network("10.3.0.5/24")));
    stage.step("address gone again", stage.inside.delete_address(&eth5, network("10.3.0.5/24")));
    stage.step("other prefix", stage.inside.delete_address(&eth5, network("10.1.0.5/24")));
    stage.step("address of no link", stage.inside.add_address(&gone, &v4));
    stage.step("addresses of no link", stage.inside.addresses(&gone));
}

fn ends(stage: &mut Stage<'_>) {
    let eth5 = stage.inside.link("eth5").unwrap();
    stage.step("link down", stage.inside.set_down(&eth5));
    stage.step("link up", stage.inside.set_up(&eth5));
    let lo = stage.inside.link("lo").unwrap();
    stage.step("lo down", stage.inside.set_down(&lo));
    stage.step("lo up again", stage.inside.set_up(&lo));
    stage.step("delete lo", stage.inside.delete(&lo));
    let address = NewAddress::new(network("10.1.0.1/16"));
    let bridge = stage.outside.link("cni0").unwrap();
    stage.step("bridge address", stage.outside.add_address(&bridge, &address));
    stage.step("delete bridge", stage.outside.delete(&bridge));
    stage.step("delete veth", stage.inside.delete(&eth5));
    stage.step("delete veth again", stage.inside.delete(&eth5));
}

#[test]
fn the_made_up_kernel_answers_as_linux_does() {
    let (Some(host), Some(container)) = (TestNetns::new(), TestNetns::new()) else { return };
    let mut real = Stage::new(&host, &container);
    play(&mut real);

    let fake = FakeKernel::new();
    let container = fake.add_netns("/run/netns/blue");
    let host = fake.host();
    let mut made_up = Stage::new(&host, &container);
    play(&mut made_up);

    // From the first difference on, every line would differ.
    let same = real.seen.iter().zip(&made_up.seen).take_while(|(real, made_up)| real == made_up).count();
    let next = |seen: &[String]| seen.get(same).cloned().unwrap_or_else(|| "nothing more".into());
    assert!(
        real.seen == made_up.seen,
        "after\n{}\nreal:    {}\nmade up: {}",
        real.seen[same.saturating_sub(15)..same].join("\n"),
        next(&real.seen),
        next(&made_up.seen)
    );
}
