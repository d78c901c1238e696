use ipnetwork::IpNetwork;
use plugin_support::netlink::{AddressFlags, AddressScope, LinkKind, NewAddress, NewLink, Peer};
use plugin_support::testing::TestNetns;

fn network(text: &str) -> IpNetwork {
    text.parse().unwrap()
}

#[test]
fn loopback_gets_its_addresses_with_the_link() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    let lo = netlink.link("lo").unwrap();
    assert_eq!(netlink.addresses(&lo).unwrap(), []);
    netlink.set_up(&lo).unwrap();
    let addresses = netlink.addresses(&lo).unwrap();
    let texts: Vec<_> = addresses.iter().map(|address| address.network.to_string()).collect();
    assert_eq!(texts, ["127.0.0.1/8", "::1/128"]);
    assert!(addresses.iter().all(|address| address.link == lo.index && address.scope == AddressScope::Host));
    assert!(addresses.iter().all(|address| address.peer.is_none() && !address.is_tentative()));
}

#[test]
fn only_the_links_own_addresses_are_listed() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("link add name a type veth peer name b");
    netns.ip("address add 10.1.0.5/16 brd + dev a");
    netns.ip("address add 10.2.0.5 peer 10.2.0.6/32 dev a");
    netns.ip("address add 10.3.0.5/16 dev b");
    let netlink = netns.netlink().unwrap();
    let a = netlink.link("a").unwrap();
    let addresses = netlink.addresses(&a).unwrap();
    assert_eq!(addresses.len(), 2);
    assert_eq!(addresses[0].network.to_string(), "10.1.0.5/16");
    assert_eq!(addresses[0].broadcast, Some("10.1.255.255".parse().unwrap()));
    assert_eq!(addresses[0].label.as_deref(), Some("a"));
    assert_eq!(addresses[1].network.to_string(), "10.2.0.5/32");
    assert_eq!(addresses[1].peer, Some("10.2.0.6".parse().unwrap()));
}

#[test]
fn addresses_of_a_link_that_is_gone() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("link add name a type veth peer name b");
    let netlink = netns.netlink().unwrap();
    let a = netlink.link("a").unwrap();
    netlink.delete(&a).unwrap();
    let error = netlink.addresses(&a).unwrap_err();
    assert!(error.is_not_found(), "{error:?}");
}

#[test]
fn addresses_are_added_replaced_and_deleted() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b")))).unwrap();
    let a = netlink.link("a").unwrap();
    let address = NewAddress::new(network("10.1.0.5/16"));
    netlink.add_address(&a, &address).unwrap();
    let error = netlink.add_address(&a, &address).unwrap_err();
    assert!(error.is_exists());
    assert_eq!(
        error.to_string(),
        format!("failed to add address 10.1.0.5/16 to {a}: ipv4: Address already assigned")
    );
    netlink.replace_address(&a, &address).unwrap();
    let listed = netlink.addresses(&a).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].broadcast, Some("10.1.255.255".parse().unwrap()));
    assert_eq!(listed[0].scope, AddressScope::Universe);
    assert!(listed[0].flags.contains(AddressFlags::Permanent));

    let error = netlink.delete_address(&a, network("10.1.0.5/24")).unwrap_err();
    assert!(error.is_not_found(), "the prefix length counts: {error:?}");
    netlink.delete_address(&a, network("10.1.0.5/16")).unwrap();
    assert!(netlink.delete_address(&a, network("10.1.0.5/16")).unwrap_err().is_not_found());
    assert_eq!(netlink.addresses(&a).unwrap(), []);
}

#[test]
fn options_of_addresses_reach_the_kernel() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).up()).unwrap();
    netlink.set_up(&netlink.link("b").unwrap()).unwrap();
    let a = netlink.link("a").unwrap();
    netlink.add_address(&a, &NewAddress::new(network("10.1.0.5/31"))).unwrap();
    netlink
        .add_address(&a, &NewAddress::new(network("10.2.0.5/24")).no_broadcast().no_prefix_route())
        .unwrap();
    netlink.add_address(&a, &NewAddress::new(network("10.3.0.5/24")).scope(AddressScope::Link)).unwrap();
    netlink.add_address(&a, &NewAddress::new(network("fd00::5/64")).no_dad()).unwrap();
    netlink.add_address(&a, &NewAddress::new(network("fd00::6/64"))).unwrap();
    let listed = netlink.addresses(&a).unwrap();
    let of = |text| listed.iter().find(|address| address.network == network(text)).unwrap();
    assert_eq!(of("10.1.0.5/31").broadcast, None, "a network of two has none");
    assert_eq!(of("10.2.0.5/24").broadcast, None);
    assert!(of("10.2.0.5/24").flags.contains(AddressFlags::Noprefixroute));
    assert_eq!(of("10.3.0.5/24").scope, AddressScope::Link);
    assert!(of("fd00::5/64").flags.contains(AddressFlags::Nodad) && !of("fd00::5/64").is_tentative());
    assert!(of("fd00::6/64").is_tentative() && !of("fd00::6/64").is_duplicate());
    assert!(!netns.ip("-4 route show").contains("10.2.0.0/24"));
}
