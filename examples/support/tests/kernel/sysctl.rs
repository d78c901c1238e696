use std::error::Error as _;

use plugin_support::netlink::{LinkKind, NewLink, Peer};
use plugin_support::netns::NetNs;
use plugin_support::testing::TestNetns;

#[test]
fn settings_belong_to_the_namespace() {
    let (Some(first), Some(second)) = (TestNetns::new(), TestNetns::new()) else { return };
    let key = "net.ipv4.ip_forward";
    first.sysctl().write(key, "1").unwrap();
    second.sysctl().write(key, "0").unwrap();
    assert_eq!(first.sysctl().read(key).unwrap(), "1");
    assert_eq!(second.sysctl().read("net/ipv4/ip_forward").unwrap(), "0");
    assert_eq!(first.run(|| NetNs::current().unwrap().sysctl().read(key).unwrap()).unwrap(), "1");
}

#[test]
fn an_interface_name_may_have_a_dot() {
    let Some(netns) = TestNetns::new() else { return };
    let netlink = netns.netlink().unwrap();
    netlink.create(&NewLink::new("eth0.100", LinkKind::Veth(Peer::new("b")))).unwrap();
    netns.sysctl().write("net.ipv4.conf.eth0/100.arp_notify", "1").unwrap();
    assert_eq!(netns.sysctl().read("net/ipv4/conf/eth0.100/arp_notify").unwrap(), "1");
}

#[test]
fn a_setting_that_is_missing_or_not_taken() {
    let Some(netns) = TestNetns::new() else { return };
    let sysctl = netns.sysctl();
    let missing = "net.ipv4.conf.eth9.arp_notify";
    let error = sysctl.write(missing, "1").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"failed to write "1" to sysctl "/proc/sys/net/ipv4/conf/eth9/arp_notify""#
    );
    assert_eq!(error.source().unwrap().to_string(), "no such file or directory");
    assert!(!sysctl.write_if_present(missing, "1").unwrap());
    assert_eq!(sysctl.read_if_present(missing).unwrap(), None);
    assert_eq!(sysctl.read_if_present("net.ipv4.ip_forward").unwrap().as_deref(), Some("0"));
    let error = sysctl.write_if_present("net.ipv4.ip_forward", "perhaps").unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "invalid argument");
}

#[test]
fn a_value_of_several_fields() {
    let Some(netns) = TestNetns::new() else { return };
    netns.sysctl().write("net.ipv4.ip_local_port_range", "20000 30000").unwrap();
    assert_eq!(netns.sysctl().read("net.ipv4.ip_local_port_range").unwrap(), "20000\t30000");
}
