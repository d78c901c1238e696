use super::*;
use crate::kernel::Kernel;
use crate::netlink::{
    BridgeOptions, BridgeVlan, Handle, LinkChange, LinkDetails, LinkKind, NewAddress, NewLink, OperState,
    Peer, Route,
};

const BLUE: &str = "/run/netns/blue";

fn veth(netlink: &Handle, first: &str, second: &str) {
    netlink.create(&NewLink::new(first, LinkKind::Veth(Peer::new(second)))).unwrap();
}

#[test]
fn namespaces_are_found_by_path_until_they_go() {
    let fake = FakeKernel::new();
    let kernel = Kernel::from(&fake);
    let error = kernel.netns(BLUE).unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), r#"failed to Statfs "/run/netns/blue""#);

    fake.add_netns(BLUE);
    let (host, blue) = (kernel.current().unwrap(), kernel.netns(BLUE).unwrap());
    assert!(host.is_current().unwrap() && !blue.is_current().unwrap());
    assert!(host != blue && kernel.netns(BLUE).unwrap() == blue);

    let peer = Peer::new("veth0").netns(&host);
    blue.netlink().unwrap().create(&NewLink::new("eth0", LinkKind::Veth(peer))).unwrap();
    fake.remove_netns(BLUE);
    assert!(kernel.netns(BLUE).unwrap_err().is_not_found());
    assert!(host.netlink().unwrap().link("veth0").unwrap_err().is_not_found(), "gone with the other end");
}

#[test]
fn a_refusal_meets_the_request_it_is_for_once() {
    let fake = FakeKernel::new();
    let netlink = fake.host().netlink().unwrap();
    fake.refuse("create bridge \"cni0\"", 28);
    let bridge = |name: &str| netlink.create(&NewLink::new(name, LinkKind::Bridge(BridgeOptions::default())));
    bridge("other").unwrap();
    let error = bridge("cni0").unwrap_err();
    assert_eq!(error.to_string(), "failed to create bridge \"cni0\"");
    assert_eq!(error.errno().map(crate::Errno::raw), Some(28));
    bridge("cni0").unwrap();
    assert_eq!(
        fake.log(),
        [r#"create bridge "other""#, r#"create bridge "cni0""#],
        "reading leaves no trace"
    );
}

#[test]
fn oper_states_follow_the_links() {
    let netlink = FakeKernel::new().host().netlink().unwrap();
    netlink.create(&NewLink::new("cni0", LinkKind::Bridge(BridgeOptions::default())).up()).unwrap();
    veth(&netlink, "a", "b");
    let state = |name| netlink.link(name).unwrap().oper_state;
    assert_eq!(
        (state("lo"), state("cni0"), state("a")),
        (OperState::Unknown, OperState::Down, OperState::Down)
    );
    let (a, b) = (netlink.link("a").unwrap(), netlink.link("b").unwrap());
    netlink.change(&a, &LinkChange::new().master(&netlink.link("cni0").unwrap()).up()).unwrap();
    assert_eq!((state("cni0"), state("a")), (OperState::Down, OperState::LowerLayerDown));
    netlink.set_up(&b).unwrap();
    assert_eq!((state("cni0"), state("a"), state("b")), (OperState::Up, OperState::Up, OperState::Up));
}

#[test]
fn vlans_pass_as_they_would_with_a_kernel_that_filters() {
    let netlink = FakeKernel::new().host().netlink().unwrap();
    let filtering = BridgeOptions { vlan_filtering: Some(true), ..BridgeOptions::default() };
    netlink.create(&NewLink::new("br0", LinkKind::Bridge(filtering))).unwrap();
    let bridge = netlink.link("br0").unwrap();
    assert_eq!(bridge.details, LinkDetails::Bridge { vlan_filtering: true });
    veth(&netlink, "a", "b");
    let a = netlink.link("a").unwrap();
    assert!(netlink.add_vlan(&a, BridgeVlan::tagged(5)).unwrap_err().is_unsupported(), "no port yet");
    netlink.change(&a, &LinkChange::new().master(&bridge)).unwrap();
    assert_eq!(netlink.vlans(&a).unwrap(), [BridgeVlan::native(1)]);

    netlink.add_vlan(&a, BridgeVlan::native(100)).unwrap();
    let former = BridgeVlan { id: 1, pvid: false, untagged: true };
    assert_eq!(netlink.vlans(&a).unwrap(), [former, BridgeVlan::native(100)], "one is the port's");
    netlink.delete_vlan(&a, 1).unwrap();
    assert!(netlink.delete_vlan(&a, 1).unwrap_err().is_not_found());
    netlink.add_tagged_vlans(&a, 200..=202).unwrap();
    netlink.add_tagged_vlans(&a, 4094..=4094).unwrap();
    let tagged = [200, 201, 202, 4094].map(BridgeVlan::tagged);
    assert_eq!(netlink.vlans(&a).unwrap(), [&[BridgeVlan::native(100)][..], &tagged].concat());
    for id in [0, 4095] {
        assert!(netlink.add_vlan(&a, BridgeVlan::tagged(id)).is_err());
    }
    netlink.add_vlan(&bridge, BridgeVlan::tagged(100)).unwrap();
    assert_eq!(netlink.vlans(&bridge).unwrap(), [BridgeVlan::native(1), BridgeVlan::tagged(100)]);
    netlink
        .change_bridge(&bridge, &BridgeOptions { default_pvid: Some(0), ..BridgeOptions::default() })
        .unwrap();
    netlink.change(&netlink.link("b").unwrap(), &LinkChange::new().master(&bridge)).unwrap();
    assert_eq!(netlink.vlans(&netlink.link("b").unwrap()).unwrap(), []);
}

#[test]
fn sysctls_are_each_namespaces_own_and_follow_the_links() {
    let fake = FakeKernel::new();
    let (host, blue) = (fake.host(), fake.add_netns(BLUE));
    blue.sysctl().write("net.ipv4.ip_forward", "1").unwrap();
    assert_eq!(host.sysctl().read("net.ipv4.ip_forward").unwrap(), "0");
    assert_eq!(fake.host().sysctl().read("net/ipv6/conf/all/accept_ra").unwrap(), "1");

    let netlink = host.netlink().unwrap();
    let notify = |netns: &NetNs, name: &str| {
        netns.sysctl().read_if_present(&format!("net/ipv4/conf/{name}/arp_notify")).unwrap()
    };
    veth(&netlink, "a.1", "b");
    host.sysctl().write("net/ipv4/conf/a.1/arp_notify", "1").unwrap();
    let a = netlink.link("a.1").unwrap();
    netlink.change(&a, &LinkChange::new().name("c")).unwrap();
    assert_eq!((notify(&host, "a.1"), notify(&host, "c")), (None, Some("1".into())));
    netlink.change(&a, &LinkChange::new().netns(&blue)).unwrap();
    assert_eq!(
        (notify(&host, "c"), notify(&blue, "c")),
        (None, Some("0".into())),
        "a new namespace, new settings"
    );
    netlink.delete(&netlink.link("b").unwrap()).unwrap();
    assert_eq!((notify(&host, "b"), notify(&blue, "c")), (None, None));
    assert!(host.sysctl().write("net.ipv4.nothing", "1").unwrap_err().is_not_found());
}

#[test]
fn c65_a_kernel_without_ipv6() {
    let host = FakeKernel::without_ipv6().host();
    assert!(!host.sysctl().write_if_present("net.ipv6.conf.all.forwarding", "1").unwrap());
    let netlink = host.netlink().unwrap();
    let lo = netlink.link("lo").unwrap();
    netlink.set_up(&lo).unwrap();
    let addresses: Vec<_> =
        netlink.addresses(&lo).unwrap().iter().map(|found| found.network.to_string()).collect();
    assert_eq!(addresses, ["127.0.0.1/8"]);
    let v6: ipnetwork::IpNetwork = "fd00::5/64".parse().unwrap();
    assert!(netlink.add_address(&lo, &NewAddress::new(v6)).unwrap_err().is_unsupported());
    assert!(netlink.add_route(&Route::to(v6).dev(&lo)).unwrap_err().is_unsupported());
}

#[test]
fn forgotten_connections_are_noted() {
    let fake = FakeKernel::new();
    let conntrack = fake.host().conntrack().unwrap();
    assert_eq!(conntrack.forget_udp(Family::V4, &[]).unwrap(), 0);
    conntrack.forget_udp(Family::V4, &[8125]).unwrap();
    assert_eq!(fake.log(), ["forget tracked connections of V4 to udp ports [8125]"]);
    fake.refuse("forget", 1);
    assert!(conntrack.forget_udp(Family::V6, &[8125]).unwrap_err().is_not_permitted());
}

#[test]
fn links_that_programs_make_can_be_added() {
    let fake = FakeKernel::new();
    let blue = fake.add_netns(BLUE);
    fake.add_link(BLUE, "tap0", "tun").unwrap();
    assert!(fake.add_link(BLUE, "tap0", "tun").unwrap_err().is_exists());
    let netlink = blue.netlink().unwrap();
    assert!(netlink.link("tap0").unwrap().is_kind("tun"));
    fake.refuse("create tun \"tap1\"", 1);
    assert!(fake.add_link(BLUE, "tap1", "tun").unwrap_err().is_not_permitted());
    assert_eq!(fake.log(), [r#"create tun "tap0""#]);
}

#[test]
fn what_it_does_not_know_is_unsupported() {
    let netlink = FakeKernel::new().host().netlink().unwrap();
    let lo = netlink.link("lo").unwrap();
    assert!(netlink.neighbours(&lo).unwrap_err().is_unsupported());
}

#[test]
fn a_dead_kernel_answers_nothing_until_it_is_revived() {
    let fake = FakeKernel::new();
    let netlink = fake.host().netlink().unwrap();
    veth(&netlink, "a", "b");
    fake.die_after(1);
    netlink.set_up(&netlink.link("a").unwrap()).unwrap();
    let refused = [netlink.link("a").map(drop), netlink.links().map(drop)];
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    fake.revive();
    assert!(netlink.link("a").unwrap().is_up());
    assert_eq!(fake.log().len(), 2);
}
