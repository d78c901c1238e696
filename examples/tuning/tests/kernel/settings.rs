//! What ADD changes, CHECK compares and DEL restores.

use cni_skel::testing::Invocation;
use plugin_support::netlink::LinkFlags;
use serde_json::{Value, json};

use super::container::{Container, IFNAME};

fn everything() -> Value {
    json!({
        "sysctl": {
            "net.core.somaxconn": "500",
            "net.ipv4.conf.IFNAME.arp_notify": "1",
            "net/ipv4/conf/eth0.100/arp_ignore": "2",
            "net.ipv4.ip_local_port_range": "20000 30000",
        },
        "mac": "02:00:00:00:00:AB", "promisc": true, "mtu": 1400, "allmulti": true, "txQLen": 50,
    })
}

/// Settings that an ADD may change, without what comes and goes by itself.
fn settings(container: &Container) -> Value {
    let link = container.link();
    let flags = link.flags & (LinkFlags::Promisc | LinkFlags::Allmulti | LinkFlags::Up);
    json!({
        "mac": link.mac.unwrap().to_string(),
        "mtu": link.mtu,
        "txQLen": link.tx_queue,
        "flags": flags.bits(),
        "somaxconn": container.sysctl("net.core.somaxconn"),
        "range": container.sysctl("net.ipv4.ip_local_port_range"),
        "arp_notify": container.sysctl(&format!("net/ipv4/conf/{IFNAME}/arp_notify")),
        "arp_ignore": container.sysctl(&format!("net/ipv4/conf/{IFNAME}/arp_ignore")),
        "backup": container.backup().exists(),
    })
}

#[test]
fn c78_what_add_changes_is_restored() {
    let Some(container) = Container::new() else { return };
    let before = settings(&container);
    let outcome = container.run(container.add(&everything()));
    outcome.assert_success();
    let mut expected = json!({
        "mac": "02:00:00:00:00:ab", "mtu": 1400, "txQLen": 50, "somaxconn": "500", "range": "20000\t30000",
        "arp_notify": "1", "arp_ignore": "2", "backup": true,
    });
    expected["flags"] = json!((LinkFlags::Promisc | LinkFlags::Allmulti | LinkFlags::Up).bits());
    assert_eq!(settings(&container), expected);
    assert_eq!(outcome.json()["interfaces"][1]["mac"], "02:00:00:00:00:ab");
    container.run(container.check(&everything()).prev_result(outcome.json())).assert_success();

    container.run(container.del()).assert_success();
    let mut restored = before;
    for sysctl in ["somaxconn", "range", "arp_notify", "arp_ignore"] {
        restored[sysctl] = expected[sysctl].clone();
    }
    assert_eq!(settings(&container), restored, "sysctls are the namespace's");
    container.run(container.del()).assert_success();
    container.run(container.check(&everything())).assert_error(999);
}

#[test]
fn what_the_kernel_refuses_undoes_the_rest() {
    let Some(container) = Container::new() else { return };
    let before = settings(&container);
    for wrong in [
        json!({"mtu": 10}),
        json!({"mac": "01:00:00:00:00:01"}),
        json!({"sysctl": {"net.core.somaxconn": "500", "net.core.nope": "1"}}),
        json!({"sysctl": {"net.core.somaxconn": "500", "net.ipv4.conf.IFNAME.arp_notify": "nonsense"}}),
    ] {
        let mut keys = everything();
        keys.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        container.run(container.add(&keys)).assert_error(999);
        assert_eq!(settings(&container), before, "{wrong}");
    }
}

#[test]
fn a_sysctl_that_can_only_be_written_is_written() {
    let Some(container) = Container::new() else { return };
    let keys = json!({"sysctl": {"net.ipv4.route.flush": "1"}});
    container.run(container.add(&keys)).assert_success();
    container.run(container.check(&keys)).assert_success();
}

#[test]
fn a_port_of_a_bridge_is_promiscuous_without_anyone_having_said_so() {
    let Some(container) = Container::new() else { return };
    container.netns.ip("link add br0 type bridge");
    container.netns.ip(&format!("link set {IFNAME} master br0"));
    assert!(container.link().promiscuity > 0);
    container.run(container.add(&json!({"mtu": 1400}))).assert_success();
    container.run(container.check(&json!({"mtu": 1400}))).assert_success();
    // And what the bridge wants is not restored as an administrator's wish.
    container.run(container.add(&json!({"promisc": true}))).assert_success();
    container.run(container.del()).assert_success();
    assert!(!container.link().flags.contains(LinkFlags::Promisc));
}

#[test]
fn c69_router_advertisements_are_refused_for_the_interface() {
    let Some(container) = Container::new() else { return };
    let keys =
        json!({"sysctl": {"net.ipv6.conf.IFNAME.accept_ra": "0", "net.ipv6.conf.IFNAME.autoconf": "0"}});
    container.run(container.add(&keys)).assert_success();
    for key in ["accept_ra", "autoconf"] {
        assert_eq!(container.sysctl(&format!("net/ipv6/conf/{IFNAME}/{key}")), "0");
    }
    assert_eq!(
        container.host.sysctl().read("net/ipv6/conf/peer0/autoconf").unwrap(),
        "1",
        "the host's end is not meant"
    );
    container.run(container.check(&keys)).assert_success();
}

#[test]
fn c78_hardware_goes_back_to_the_host_as_it_came() {
    let Some(container) = Container::new() else { return };
    let before = container.link();
    container.run(container.add(&json!({"mac": "02:00:00:00:00:ab", "mtu": 1400}))).assert_success();
    container.run(container.del()).assert_success();
    let netlink = container.netns.netlink().unwrap();
    let change = plugin_support::netlink::LinkChange::new().netns(&container.host);
    netlink.change(&container.link(), &change).unwrap();
    let after = container.host.netlink().unwrap().link(IFNAME).unwrap();
    assert_eq!((after.mac, after.mtu), (before.mac, before.mtu));
    // The container has gone, with all that was in it.
    container.run(container.del()).assert_success();
}

#[test]
fn c22_del_does_not_need_the_namespace() {
    let Some(container) = Container::new() else { return };
    let file = container.dir.path().join("was-a-namespace");
    std::fs::write(&file, "").unwrap();
    for gone in [None, Some("/run/netns/there/is/none"), Some(file.to_str().unwrap())] {
        container.run(container.add(&json!({"mtu": 1400}))).assert_success();
        assert!(container.backup().exists());
        let del = Invocation::del("c1", IFNAME).config(container.config(&json!({})));
        container
            .run(gone.map_or(del, |path| {
                Invocation::del("c1", IFNAME).netns(path).config(container.config(&json!({})))
            }))
            .assert_success();
        assert!(!container.backup().exists(), "{gone:?}");
    }
}

#[test]
fn the_binary_says_what_it_supports() {
    let mut plugin = std::process::Command::new(env!("CARGO_BIN_EXE_tuning"));
    let output = plugin.env("CNI_COMMAND", "VERSION").stdin(std::process::Stdio::null()).output().unwrap();
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        info["supportedVersions"],
        json!(["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])
    );
}
