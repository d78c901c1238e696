use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

use plugin_support::Mac;
use plugin_support::netlink::{Handle, LinkChange, LinkFlags, LinkKind, NewLink, OperState, Peer};
use plugin_support::testing::TestNetns;

#[test]
fn loopback_goes_up_and_down() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    let lo = netlink.link("lo").unwrap();
    assert!(!lo.is_up() && lo.is_loopback());
    assert_eq!((lo.index, lo.mac, lo.kind.as_deref()), (1, Some(Mac::default()), None));
    netlink.set_up(&lo).unwrap();
    assert!(netlink.link_by_index(1).unwrap().is_up());
    netlink.set_down(&lo).unwrap();
    assert!(!netlink.link("lo").unwrap().is_up());
}

#[test]
fn a_missing_link_is_not_found() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    let error = netlink.link("eth0").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), r#"failed to find link "eth0""#);
    assert_eq!(error.source().unwrap().to_string(), "no such device");
    assert!(netlink.link_by_index(4711).unwrap_err().is_not_found());
}

#[test]
fn many_changes_go_in_one_request() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("link add name a type veth peer name b");
    let netlink = netns.netlink().unwrap();
    let a = netlink.link("a").unwrap();
    let change = LinkChange::new()
        .name("eth0")
        .mac([0x0a, 0x58, 0, 0, 0, 1])
        .mtu(1400)
        .tx_queue(50)
        .alias("for a test")
        .promisc(true)
        .allmulti(true)
        .up();
    netlink.change(&a, &change).unwrap();
    let eth0 = netlink.link("eth0").unwrap();
    assert_eq!(eth0.index, a.index);
    assert_eq!(eth0.mac.unwrap().to_string(), "0a:58:00:00:00:01");
    assert_eq!((eth0.mtu, eth0.tx_queue, eth0.alias.as_deref()), (1400, 50, Some("for a test")));
    assert!(eth0.is_up() && eth0.is_allmulti() && eth0.flags.contains(LinkFlags::Promisc));
    assert_eq!(eth0.promiscuity, 1);

    netlink.change(&eth0, &LinkChange::new().promisc(false).allmulti(false).alias("").down()).unwrap();
    let eth0 = netlink.link("eth0").unwrap();
    assert!(!eth0.is_up() && !eth0.is_allmulti() && eth0.promiscuity == 0 && eth0.alias.is_none());
}

#[test]
fn a_refused_change_names_the_link_and_the_change() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("link add name a type veth peer name b");
    let netlink = netns.netlink().unwrap();
    let a = netlink.link("a").unwrap();
    let error = netlink.change(&a, &LinkChange::new().mtu(17).up()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(r#"failed to set link "a" (index {}): mtu 17, up: mtu less than device minimum"#, a.index)
    );
    assert_eq!(error.source().unwrap().to_string(), "invalid argument");
}

#[test]
fn a_change_moves_a_link_between_namespaces() {
    let (Some(host), Some(container)) = (TestNetns::new(), TestNetns::new()) else { return };
    host.ip("link add name a type veth peer name b");
    let netlink = host.netlink().unwrap();
    let (a, b) = (netlink.link("a").unwrap(), netlink.link("b").unwrap());
    netlink.change(&b, &LinkChange::new().netns(&container).name("eth0")).unwrap();
    assert!(netlink.link("b").unwrap_err().is_not_found());
    let inside = container.netlink().unwrap();
    let eth0 = inside.link("eth0").unwrap();
    assert_eq!((eth0.peer, eth0.kind.as_deref()), (Some(a.index), Some("veth")));
    assert!(eth0.peer_netns.is_some(), "the peer is elsewhere");
    inside.set_up(&eth0).unwrap();
    netlink.set_up(&a).unwrap();
    // The kernel notices the carrier on its own time, without being asked.
    let mut states = std::iter::repeat_with(|| inside.link("eth0").unwrap().oper_state).take(100_000);
    assert!(states.any(|state| state == OperState::Up));
}

#[test]
fn ports_know_their_bridge() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("link add br0 type bridge");
    netns.ip("link add name a type veth peer name b");
    let netlink = netns.netlink().unwrap();
    let (bridge, a) = (netlink.link("br0").unwrap(), netlink.link("a").unwrap());
    assert!(bridge.is_kind("bridge") && a.master.is_none() && a.port.is_none());
    netlink.change(&a, &LinkChange::new().master(&bridge)).unwrap();
    let a = netlink.link("a").unwrap();
    assert_eq!(a.master, Some(bridge.index));
    assert!(!a.port.unwrap().hairpin);
    netlink.change(&a, &LinkChange::new().no_master()).unwrap();
    assert_eq!(netlink.link("a").unwrap().master, None);
}

#[test]
fn deleting_one_end_takes_the_other_along() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("link add name a type veth peer name b");
    let netlink = netns.netlink().unwrap();
    let a = netlink.link("a").unwrap();
    netlink.delete(&a).unwrap();
    assert!(netlink.link("b").unwrap_err().is_not_found());
    let error = netlink.delete(&a).unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), format!(r#"failed to delete link "a" (index {})"#, a.index));
}

/// A namespace with `count` veth pairs.
fn with_pairs(count: usize) -> Option<(TestNetns, Handle)> {
    let netns = TestNetns::new()?;
    let netlink = netns.netlink().unwrap();
    for n in 0..count {
        netlink.create(&NewLink::new(format!("a{n}"), LinkKind::Veth(Peer::new(format!("b{n}"))))).unwrap();
    }
    Some((netns, netlink))
}

#[test]
fn a_dump_of_hundreds_of_links_is_whole() {
    let Some((_netns, netlink)) = with_pairs(150) else { return };
    let links = netlink.links().unwrap();
    assert_eq!(links.len(), 301);
    let indices: BTreeSet<_> = links.iter().map(|link| link.index).collect();
    assert_eq!(indices.len(), 301);
    assert!(links.iter().skip(1).all(|link| link.is_kind("veth")));
}

#[test]
fn a_dump_is_whole_though_links_come_and_go() {
    let Some((netns, netlink)) = with_pairs(50) else { return };
    let (stop, stopped) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let netlink_of_another = netns.netlink().unwrap();
        scope.spawn(move || {
            let netlink = netlink_of_another;
            while stopped.try_recv() == Err(TryRecvError::Empty) {
                netlink.create(&NewLink::new("x", LinkKind::Veth(Peer::new("y")))).unwrap();
                netlink.delete(&netlink.link("x").unwrap()).unwrap();
            }
        });
        // Goes at the end of the scope, also if an assertion fails before.
        let _stop = stop;
        for _ in 0..100 {
            let names: Vec<_> = netlink.links().unwrap().into_iter().map(|link| link.name).collect();
            let stayed = names.iter().filter(|name| name.starts_with(['a', 'b']));
            assert_eq!(stayed.count(), 100, "{names:?}");
            let unique: BTreeSet<_> = names.iter().collect();
            assert_eq!(unique.len(), names.len(), "{names:?}");
        }
    });
}

#[test]
fn a_name_that_would_be_cut_off_is_refused() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    for name in ["", "sixteen-bytes-xx", "lo\0x"] {
        let error = netlink.link(name).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("invalid interface name {name:?}: expected 1 to 15 bytes without a zero")
        );
    }
}
