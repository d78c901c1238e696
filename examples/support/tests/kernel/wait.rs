use std::thread;
use std::time::Duration;

use plugin_support::netlink::{LinkKind, NewAddress, NewLink, OperState, Peer};
use plugin_support::testing::TestNetns;

/// Much longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_link_that_comes_up_meanwhile_ends_the_wait() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).up()).unwrap();
    let (a, b) = (netlink.link("a").unwrap(), netlink.link("b").unwrap());
    let is_up = |link: &plugin_support::netlink::Link| link.oper_state == OperState::Up;
    let down = netns.wait_for_link(a.index, Duration::ZERO, is_up).unwrap();
    assert_eq!(down.oper_state, OperState::LowerLayerDown);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| netns.wait_for_link(a.index, LONG, is_up).unwrap());
        netlink.set_up(&b).unwrap();
        assert_eq!(waiting.join().unwrap().oper_state, OperState::Up);
    });
    netlink.delete(&a).unwrap();
    assert!(netns.wait_for_link(a.index, LONG, is_up).unwrap_err().is_not_found());
}

#[test]
fn the_end_of_duplicate_address_detection_ends_the_wait() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).up()).unwrap();
    let (a, b) = (netlink.link("a").unwrap(), netlink.link("b").unwrap());
    netlink.set_up(&b).unwrap();
    let network: ipnetwork::IpNetwork = "fd00::5/64".parse().unwrap();
    netlink.add_address(&a, &NewAddress::new(network)).unwrap();
    let settled = netns
        .wait_for_addresses(&a, LONG, |addresses| {
            addresses.iter().any(|address| address.network == network)
                && addresses.iter().all(|address| !address.is_tentative())
        })
        .unwrap();
    assert!(settled.iter().all(|address| !address.is_tentative() && !address.is_duplicate()), "{settled:?}");
}
