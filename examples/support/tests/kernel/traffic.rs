//! Traffic control, on the made-up kernel as on the real one.

use plugin_support::netlink::{Handle, LinkKind, NewLink, Peer, TokenBucket};
use plugin_support::netns::NetNs;
use plugin_support::testing::{FakeKernel, TestNetns};

/// Asserts the same of either kernel.
fn on_both(steps: impl Fn(&Handle)) {
    let run = |netns: &NetNs| {
        let netlink = netns.netlink().unwrap();
        netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).up()).unwrap();
        netlink.create(&NewLink::new("ifb7", LinkKind::Ifb).up()).unwrap();
        steps(&netlink);
    };
    run(&FakeKernel::new().host());
    if let Some(netns) = TestNetns::new() {
        run(&netns);
    }
}

#[test]
fn a_rate_is_limited_once() {
    on_both(|netlink| {
        let a = netlink.link("a").unwrap();
        let limits = || netlink.qdiscs(&a).unwrap().into_iter().filter(|qdisc| qdisc.is_rate_limit());
        assert_eq!(limits().count(), 0);
        assert!(netlink.unlimit_rate(&a).is_err());
        for rate in [125_000, 12_500_000_000] {
            let bucket = TokenBucket { rate, limit: 8125, buffer: 625_000 };
            netlink.limit_rate(&a, &bucket).unwrap();
            assert!(netlink.limit_rate(&a, &bucket).unwrap_err().is_exists());
            assert_eq!(limits().map(|qdisc| qdisc.bucket).collect::<Vec<_>>(), [Some(bucket)]);
            netlink.unlimit_rate(&a).unwrap();
        }
        assert_eq!(limits().count(), 0);
        let gone = netlink.link("b").unwrap();
        netlink.delete(&a).unwrap();
        let bucket = TokenBucket { rate: 1, limit: 1, buffer: 1 };
        assert!(netlink.limit_rate(&gone, &bucket).unwrap_err().is_not_found());
    });
}

#[test]
fn ingress_is_redirected_until_it_is_left() {
    on_both(|netlink| {
        let (a, ifb) = (netlink.link("a").unwrap(), netlink.link("ifb7").unwrap());
        assert_eq!(netlink.redirects(&a).unwrap(), [0; 0]);
        assert!(netlink.redirect_ingress(&a, &ifb).is_err(), "nothing sees what comes in");
        assert!(netlink.leave_ingress(&a).unwrap_err().is_not_found());
        netlink.take_ingress(&a).unwrap();
        assert!(netlink.take_ingress(&a).unwrap_err().is_exists());
        netlink.redirect_ingress(&a, &ifb).unwrap();
        assert_eq!(netlink.redirects(&a).unwrap(), [ifb.index]);
        assert_eq!(netlink.redirects(&ifb).unwrap(), [0; 0]);
        assert!(netlink.qdiscs(&a).unwrap().iter().any(|qdisc| qdisc.is_ingress()));
        netlink.leave_ingress(&a).unwrap();
        assert_eq!(netlink.redirects(&a).unwrap(), [0; 0]);
        assert!(!netlink.qdiscs(&a).unwrap().iter().any(|qdisc| qdisc.is_ingress()));
    });
}

#[test]
fn what_other_programs_make_is_no_obstacle() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("a", LinkKind::Veth(Peer::new("b"))).up()).unwrap();
    let a = netlink.link("a").unwrap();
    for line in [
        "qdisc add dev a handle 2: root htb default 30",
        "qdisc add dev a clsact",
        "filter add dev a ingress protocol ip prio 7 u32 match ip dst 192.0.2.0/24 action mirred egress mirror dev b",
    ] {
        netns.command("tc", line.split(' '));
    }
    assert_eq!(netlink.redirects(&a).unwrap(), [0; 0], "a mirror is no redirection");
    let qdiscs = netlink.qdiscs(&a).unwrap();
    assert!(
        qdiscs.iter().all(|qdisc| qdisc.bucket.is_none() && !qdisc.is_rate_limit() && !qdisc.is_ingress())
    );
    assert!(qdiscs.iter().any(|qdisc| qdisc.kind == "htb" && qdisc.is_root()));
}
