use std::net::IpAddr;

use plugin_support::netlink::{LinkKind, NeighbourState, NewLink, Peer};
use plugin_support::testing::TestNetns;

#[test]
fn neighbours_are_added_replaced_and_forgotten() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).up()).unwrap();
    let a = netlink.link("a").unwrap();
    for address in ["10.1.0.1", "fd00::1"].map(|text| text.parse::<IpAddr>().unwrap()) {
        let known = || {
            let all = netlink.neighbours(&a).unwrap();
            all.into_iter().find(|neighbour| neighbour.address == address)
        };
        netlink.replace_neighbour(&a, address, [2, 0, 0, 0, 0, 1]).unwrap();
        netlink.replace_neighbour(&a, address, [2, 0, 0, 0, 0, 2]).unwrap();
        let neighbour = known().unwrap();
        assert_eq!(neighbour.mac.unwrap().to_string(), "02:00:00:00:00:02");
        assert_eq!((neighbour.state, neighbour.link), (NeighbourState::Permanent, a.index));
        netlink.delete_neighbour(&a, address).unwrap();
        assert!(known().is_none_or(|neighbour| neighbour.state == NeighbourState::Failed));
    }
    let error = netlink.delete_neighbour(&a, "10.1.0.9".parse().unwrap()).unwrap_err();
    assert!(error.is_not_found(), "{error:?}");
}
