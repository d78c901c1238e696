use plugin_support::netlink::AddressScope;
use plugin_support::testing::TestNetns;

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
