//! Policy rules, on the made-up kernel as on the real one.

use std::net::IpAddr;

use plugin_support::netlink::Rule;
use plugin_support::netns::NetNs;
use plugin_support::testing::{FakeKernel, TestNetns};

fn on_both(steps: impl Fn(&NetNs)) {
    steps(&FakeKernel::new().host());
    if let Some(netns) = TestNetns::new() {
        steps(&netns);
    }
}

#[test]
fn rules_are_added_found_and_deleted() {
    on_both(|netns| {
        let netlink = netns.netlink().unwrap();
        let own = || {
            let rules = netlink.rules().unwrap().into_iter();
            rules.filter(|rule| rule.source.is_some()).map(|rule| rule.to_string()).collect::<Vec<_>>()
        };
        assert!(own().is_empty());
        let addresses = ["10.1.0.5", "10.1.0.6", "fd00::5"].map(|text| text.parse::<IpAddr>().unwrap());
        for (address, table) in addresses.into_iter().zip([100, 1000, 100]) {
            netlink.add_rule(&Rule::from_source(address, table)).unwrap();
        }
        let expected =
            ["from 10.1.0.6/32 lookup 1000", "from 10.1.0.5/32 lookup 100", "from fd00::5/128 lookup 100"];
        assert_eq!(own(), expected);
        assert!(
            netlink.rules().unwrap().iter().filter(|rule| rule.source.is_some()).all(|rule| rule.is_plain)
        );
        let other = Rule::from_source(addresses[0], 101);
        assert!(netlink.delete_rule(&other).unwrap_err().is_not_found());
        for rule in netlink.rules().unwrap().iter().filter(|rule| rule.source.is_some()) {
            netlink.delete_rule(rule).unwrap();
            assert!(netlink.delete_rule(rule).unwrap_err().is_not_found());
        }
        assert!(own().is_empty());
    });
}

#[test]
fn rules_of_others_look_at_more() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("rule add from 10.1.0.5 fwmark 7 lookup 100");
    netns.ip("rule add from 10.1.0.5 to 10.2.0.0/16 lookup 100");
    netns.ip("rule add from 10.1.0.5 iif lo prohibit");
    let rules = netns.netlink().unwrap().rules().unwrap();
    let own: Vec<_> = rules.iter().filter(|rule| rule.source.is_some()).collect();
    assert!(own.len() == 3 && own.iter().all(|rule| !rule.is_plain), "{own:?}");
}
