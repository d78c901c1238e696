//! Laws of results: decoding undoes encoding, conversion loses what it documents and nothing else, indexes follow.

use std::net::IpAddr;

use cni_types::result::{AddResult, Interface, IpConfig, VersionedResult};
use cni_types::{Cidr, CniArgs, CniVersion, Dns, MacAddr, Route, VersionNumber};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn cidr() -> impl Strategy<Value = Cidr> {
    (address(), any::<u8>()).prop_map(|(address, prefix)| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Cidr::new(address, prefix % (bits + 1)).unwrap()
    })
}

/// A number as peers take it, 0 excluded where 0 reads as absent.
fn number() -> impl Strategy<Value = u64> {
    1..=i64::MAX as u64
}

prop_compose! {
    fn extra_entry()(key in "x-[a-z]{1,6}", digits in "[1-9][0-9]{0,40}") -> (String, String) {
        (key, digits)
    }
}

fn interface() -> impl Strategy<Value = Interface> {
    let text = || option::of("[a-z0-9:/]{1,12}");
    (".{0,12}", text(), option::of(number()), text(), text(), text()).prop_map(
        |(name, mac, mtu, sandbox, socket_path, pci_id)| {
            let mut interface = Interface::new(name);
            interface.mac = mac;
            interface.mtu = mtu;
            interface.sandbox = sandbox;
            interface.socket_path = socket_path;
            interface.pci_id = pci_id;
            interface
        },
    )
}

fn ip(interfaces: usize) -> impl Strategy<Value = IpConfig> {
    (cidr(), option::of(address()), option::of(0..interfaces.max(1))).prop_map(
        move |(cidr, gateway, owner)| {
            let mut ip = IpConfig::new(cidr);
            ip.gateway = gateway;
            ip.interface = owner.filter(|_| interfaces > 0);
            ip
        },
    )
}

fn route() -> impl Strategy<Value = Route> {
    let maybe = || option::of(number());
    (cidr(), option::of(address()), maybe(), maybe(), maybe(), maybe(), maybe()).prop_map(
        |(dst, gw, mtu, advmss, priority, table, scope)| {
            let mut route = Route::new(dst);
            route.gw = gw;
            route.mtu = mtu;
            route.advmss = advmss;
            route.priority = priority;
            route.table = table;
            route.scope = scope;
            route
        },
    )
}

fn dns() -> impl Strategy<Value = Dns> {
    let list = || vec(".{0,8}", 0..3);
    (list(), ".{0,8}", list(), list()).prop_map(|(nameservers, domain, search, options)| {
        let mut dns = Dns::default();
        dns.nameservers = nameservers;
        dns.domain = domain;
        dns.search = search;
        dns.options = options;
        dns
    })
}

fn result() -> impl Strategy<Value = AddResult> {
    vec(interface(), 0..4).prop_flat_map(|interfaces| {
        let ips = vec(ip(interfaces.len()), 0..4);
        (Just(interfaces), ips, vec(route(), 0..4), dns(), vec(extra_entry(), 0..3)).prop_map(
            |(interfaces, ips, routes, dns, extra)| {
                let mut result = AddResult::default();
                result.interfaces = interfaces;
                result.ips = ips;
                result.routes = routes;
                result.dns = dns;
                for (key, digits) in extra {
                    result.extra.insert_raw(key, cni_types::RawJson::parse(digits).unwrap());
                }
                result
            },
        )
    })
}

fn version() -> impl Strategy<Value = CniVersion> {
    prop::sample::select(CniVersion::ALL.as_slice())
}

/// The parts of a version number, as far as deployed readers take them.
fn parts() -> impl Strategy<Value = [u64; 3]> {
    prop::array::uniform3(0..=i64::MAX as u64)
}

/// What a version of the second layout can express of a result.
fn as_of_v040(mut result: AddResult) -> AddResult {
    for interface in &mut result.interfaces {
        (interface.mtu, interface.socket_path, interface.pci_id) = (None, None, None);
    }
    result
}

/// What a version of the first layout can express of a result, besides.
fn as_of_v020(result: AddResult) -> AddResult {
    let mut old = AddResult::default();
    for v4 in [true, false] {
        let mut first = result.ips.iter().filter(|ip| ip.address.is_ipv4() == v4).take(1).cloned();
        if let Some(mut ip) = first.next() {
            ip.interface = None;
            old.ips.push(ip);
            let routes = result.routes.iter().filter(|route| route.dst.is_ipv4() == v4);
            old.routes.extend(routes.map(|route| {
                let mut plain = Route::new(route.dst);
                plain.gw = route.gw;
                plain
            }));
        }
    }
    old.dns = result.dns;
    old.extra = result.extra;
    old
}

proptest! {
    #[test]
    fn decoding_undoes_encoding_in_every_version(result in result(), version in version()) {
        let Ok(printed) = VersionedResult::new(result, version) else { return Ok(()) };
        let read = VersionedResult::decode(printed.to_json().as_bytes()).unwrap();
        prop_assert_eq!(read.version(), version);
        prop_assert_eq!(read.to_json(), printed.to_json());
    }

    #[test]
    fn down_and_up_loses_what_is_documented_and_nothing_else(result in result(), version in version()) {
        let down = VersionedResult::new(result.clone(), version);
        let has_address = !result.ips.is_empty();
        if version < CniVersion::V0_3_0 && !has_address {
            prop_assert!(down.is_err(), "the first layout needs an address");
            return Ok(());
        }
        let back = down.unwrap().convert(CniVersion::NEWEST).unwrap().into_add_result();
        let expected = match version {
            CniVersion::V0_1_0 | CniVersion::V0_2_0 => as_of_v020(as_of_v040(result)),
            CniVersion::V0_3_0 | CniVersion::V0_3_1 | CniVersion::V0_4_0 => as_of_v040(result),
            CniVersion::V1_0_0 | CniVersion::V1_1_0 => result,
        };
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn up_and_down_loses_nothing(result in result(), from in version(), to in version()) {
        prop_assume!(from <= to);
        // What the older version has no room for is not in it.
        let Ok(old) = VersionedResult::new(result, from) else { return Ok(()) };
        let old = VersionedResult::decode(old.to_json().as_bytes()).unwrap();
        let back = old.clone().convert(to).and_then(|up| up.convert(from));
        prop_assert_eq!(back, Ok(old));
    }

    #[test]
    fn converting_twice_is_converting_once(result in result(), via in version(), to in version()) {
        let direct = VersionedResult::new(result, via).and_then(|printed| printed.convert(to));
        let again = direct.clone().and_then(|printed| printed.convert(to));
        prop_assert_eq!(direct, again);
    }

    #[test]
    fn addresses_follow_their_interfaces(mut result in result(), at in 0..6_usize, name in "[a-z]{1,8}") {
        let owners = |result: &AddResult| -> Vec<Option<String>> {
            result.ips.iter().map(|ip| ip.interface.map(|index| result.interfaces[index].name.clone())).collect()
        };
        let before = owners(&result);
        let index = result.insert_interface(at, Interface::new(&name));
        prop_assert_eq!(&result.interfaces[index].name, &name);
        prop_assert_eq!(&owners(&result), &before);
        result.remove_interface(index);
        prop_assert_eq!(owners(&result), before);
        let out_of_range = result.validate().iter().any(|problem| problem.to_string().starts_with("ips"));
        prop_assert!(!out_of_range, "no index points behind the last interface");
    }

    #[test]
    fn any_bytes_are_a_result_or_an_error(bytes in vec(any::<u8>(), 0..200), json in "[\\[\\]{}\":,a-z0-9 ]{0,60}") {
        let _ = VersionedResult::decode(&bytes);
        let _ = VersionedResult::decode(json.as_bytes());
        let _ = cni_types::config::PluginConfig::decode(json.as_bytes());
        let _ = cni_types::config::NetworkList::decode(json.as_bytes());
        let _ = cni_types::ErrorObject::decode(json.as_bytes());
        let _ = cni_types::PluginInfo::decode(json.as_bytes());
    }

    #[test]
    fn an_address_prints_what_it_parses(cidr in cidr(), mac in any::<[u8; 6]>()) {
        prop_assert_eq!(cidr.to_string().parse::<Cidr>(), Ok(cidr));
        prop_assert_eq!(serde_json::to_string(&cidr).unwrap(), format!("\"{cidr}\""));
        prop_assert!(cidr.network().contains(cidr.address()));
        prop_assert!(cidr.contains(cidr.last_address()));
        let mac = MacAddr::new(mac);
        prop_assert_eq!(mac.to_string().parse::<MacAddr>(), Ok(mac));
    }

    #[test]
    fn addresses_are_added_to_an_interface_and_found_there(
        mut result in result(), added in vec(ip(0), 0..4), name in "[a-z]{1,8}",
    ) {
        let of_others = result.ips.clone();
        let index = result.add_interface(Interface::new(name));
        result.add_ips_on(index, added.clone());
        let on = |ip: &IpConfig| ip.clone().on(index);
        prop_assert!(result.ips_of(index).cloned().eq(added.iter().map(on)));
        prop_assert_eq!(&result.ips[..of_others.len()], &of_others);
        result.remove_interface(index);
        let ownerless: Vec<_> = result.ips_without_interface().cloned().collect();
        prop_assert!(added.iter().all(|ip| ownerless.contains(ip)));
    }

    #[test]
    fn released_versions_are_ordered_as_their_numbers(a in version(), b in version()) {
        prop_assert_eq!(a.cmp(&b), VersionNumber::from(a).cmp(&VersionNumber::from(b)));
        prop_assert_eq!(a.and_later().contains(&b), b >= a);
        prop_assert_eq!(a.to_string().parse(), Ok(a));
    }

    #[test]
    fn versions_are_ordered_as_their_numbers(a in parts(), b in parts()) {
        let text = |n: [u64; 3]| format!("{}.{}.{}", n[0], n[1], n[2]);
        let (x, y): (VersionNumber, VersionNumber) = (text(a).parse().unwrap(), text(b).parse().unwrap());
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(x.to_string(), text(a));
    }

    #[test]
    fn pairs_that_are_pushed_are_read_back(pairs in vec(("[^=;\\x00]{1,8}", "[^;\\x00]{0,8}"), 0..6)) {
        let mut args = CniArgs::new();
        for (key, value) in &pairs {
            args.push(key, value).unwrap();
        }
        let read: CniArgs = args.to_string().parse().unwrap();
        let read: Vec<_> = read.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        prop_assert_eq!(read, pairs);
    }
}
