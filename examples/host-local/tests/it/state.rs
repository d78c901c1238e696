//! What calls leave behind: DEL, CHECK, GC and STATUS after whatever came before.

use std::fs;

use cni_skel::testing::Invocation;
use host_local::HostLocal;
use serde_json::json;

use crate::network::Network;

#[test]
fn c104_a_reservation_is_container_id_and_ifname_in_the_data_dir() {
    let net = Network::of(&["10.2.0.0/24", "fd00:1::/64"]);
    net.add("c1").assert_success();
    let files = [
        ("10.2.0.2", "c1\r\neth0"),
        ("fd00:1::2", "c1\r\neth0"),
        ("last_reserved_ip.0", "10.2.0.2"),
        ("last_reserved_ip.1", "fd00:1::2"),
    ];
    assert_eq!(net.files(), files.map(|(name, content)| (name.to_owned(), content.to_owned())));
    assert!(net.path("lock").exists());
}

#[test]
fn c58_addresses_of_dead_containers_are_freed_by_del_and_gc_alone() {
    let net = Network::of(&["10.2.0.0/29"]);
    for n in 1..=5 {
        net.add(&format!("c{n}")).assert_success();
    }
    assert_eq!(
        net.add("c6").assert_error(999).msg,
        "failed to allocate for range 0: no IP addresses available in range set: 10.2.0.1-10.2.0.6"
    );
    // The namespace is gone, the DEL comes late, and twice.
    net.del("c1").assert_success();
    net.del("c1").assert_success();
    assert_eq!(net.addresses("c6"), ["10.2.0.2/29"]);
    net.gc(&[("c6", "eth0"), ("c5", "eth0")]).assert_success();
    assert_eq!(net.reserved(), ["10.2.0.2", "10.2.0.6"]);
}

#[test]
fn c59_a_second_add_is_refused_and_told_what_is_held() {
    let net = Network::of(&["10.2.0.0/24"]);
    net.add("c1").assert_success();
    let held = "failed to allocate for range 0: 10.2.0.2 has been allocated to c1, duplicate allocation is not allowed";
    assert_eq!(net.add("c1").assert_error(999).msg, held);
    // Not even by asking for an address: Go's plugin gives a second one then.
    let outcome = net.adding("c1", "eth0").args("IP=10.2.0.9").run(&HostLocal);
    assert_eq!(outcome.assert_error(999).msg, held);
    net.adding("c1", "eth1").run(&HostLocal).assert_success();
    assert_eq!(net.reserved(), ["10.2.0.2", "10.2.0.3"]);
    net.del("c1").assert_success();
    assert_eq!(net.reserved(), ["10.2.0.3"]);
    assert_eq!(net.addresses("c1"), ["10.2.0.4/24"]);
}

#[test]
fn c60_an_add_that_cannot_have_all_has_nothing() {
    let net = Network::of(&["10.2.0.0/24", "fd00::/126"]);
    net.add("c1").assert_success();
    net.add("c2").assert_success();
    let before = net.files();
    assert!(
        net.add("c9")
            .assert_error(999)
            .msg
            .contains("no IP addresses available in range set: fd00::1-fd00::3")
    );
    assert_eq!(net.files(), before, "and the turn has not moved on");
}

#[test]
fn a_failing_add_frees_no_older_address() {
    // Go's plugin gives back everything of the attachment, the older address too.
    let mut net = Network::of(&["10.2.0.0/24"]);
    net.add("c1").assert_success();
    net.change(json!({"ranges": [[{"subnet": "10.3.0.0/24"}], [{"subnet": "10.2.0.0/24"}]]}));
    assert!(net.add("c1").assert_error(999).msg.contains("10.2.0.2 has been allocated to c1"));
    assert_eq!(net.reserved(), ["10.2.0.2"]);
    // Or a requested address that no set has.
    net.change(json!({"ranges": [[{"subnet": "10.3.0.0/24"}]]}));
    net.adding("c1", "eth0").args("IP=192.0.2.1").run(&HostLocal).assert_error(999);
    assert_eq!(net.reserved(), ["10.2.0.2"]);
}

#[test]
fn an_add_that_cannot_write_leaves_what_was() {
    let net = Network::of(&["10.2.0.0/24", "10.3.0.0/24"]);
    net.add("c1").assert_success();
    // The round of the second set cannot be written down.
    fs::remove_file(net.path("last_reserved_ip.1")).unwrap();
    fs::create_dir(net.path("last_reserved_ip.1")).unwrap();
    let outcome = net.add("c2");
    assert!(outcome.assert_error(999).msg.starts_with("failed to write"), "{:?}", outcome.error());
    assert_eq!(net.reserved(), ["10.2.0.2", "10.3.0.2"]);
    assert_eq!(net.read("last_reserved_ip.0"), "10.2.0.2", "the turn of the first set is its own again");
    fs::remove_dir(net.path("last_reserved_ip.1")).unwrap();
    assert_eq!(net.addresses("c2").len(), 2);
}

#[test]
fn an_empty_file_loses_no_address() {
    let net = Network::of(&["10.2.0.0/29"]);
    net.write("10.2.0.2", "");
    net.write("10.2.0.3", "\r\n");
    assert_eq!(net.addresses("c1"), ["10.2.0.2/29"]);
    let outcome = net.adding("c2", "eth0").args("IP=10.2.0.3").run(&HostLocal);
    outcome.assert_success();
    assert_eq!(net.read("10.2.0.3"), "c2\r\neth0");
}

#[test]
fn exhaustion_is_told_as_such_whatever_else_is_in_the_directory() {
    let net = Network::of(&["10.2.0.0/30"]);
    // Counted among the names, and no reservations.
    net.write("192.0.2.1", "");
    net.write("192.0.2.2", "");
    net.add("c1").assert_success();
    for id in ["c2", "c3"] {
        let error = net.add(id).assert_error(999).msg.clone();
        assert_eq!(
            error,
            "failed to allocate for range 0: no IP addresses available in range set: 10.2.0.1-10.2.0.2"
        );
    }
    net.status().assert_error(50);
    // And is not told when a person has made room.
    fs::remove_file(net.path("10.2.0.2")).unwrap();
    net.add("c2").assert_success();
}

#[test]
fn a_file_without_a_reservation_keeps_its_address() {
    let net = Network::of(&["10.2.0.0/29"]);
    net.write("10.2.0.2", "for the router");
    assert_eq!(net.addresses("c1"), ["10.2.0.3/29"]);
    net.gc(&[]).assert_success();
    assert_eq!(net.reserved(), ["10.2.0.2"]);
    let outcome = net.adding("c2", "eth0").args("IP=10.2.0.2").run(&HostLocal);
    assert!(outcome.assert_error(999).msg.ends_with("held by a file that is no reservation"));
}

#[test]
fn rubbish_about_the_last_address_costs_the_turn_alone() {
    let net = Network::of(&["10.2.0.0/29"]);
    net.add("c1").assert_success();
    for rubbish in ["", "rubbish", "10.2.0.700", "192.0.2.1", "fd00::1"] {
        net.write("last_reserved_ip.0", rubbish);
        net.del("c2").assert_success();
        assert_eq!(net.addresses("c2"), ["10.2.0.3/29"]);
    }
}

#[test]
fn del_needs_neither_good_ranges_nor_a_directory() {
    let mut net = Network::of(&["10.2.0.0/24"]);
    net.del("c1").assert_success();
    assert!(!net.data_dir().exists());
    net.add("c1").assert_success();
    net.change(json!({"subnet": "10.2.0.0/31"}));
    net.del("c1").assert_success();
    assert_eq!(net.reserved(), [""; 0]);
    net.change(json!({}));
    net.del("c1").assert_success();
    net.gc(&[]).assert_success();
}

#[test]
fn del_frees_what_is_its_own_and_nothing_that_looks_like_it() {
    let net = Network::of(&["10.2.0.0/24"]);
    for (file, content) in [
        ("10.2.0.2", "c1\r\neth0"),
        ("10.2.0.3", "c1\r\neth0"),
        ("10.2.0.4", "c1\r\neth1"),
        ("10.2.0.5", "c1"),
        ("10.2.0.6", "c11\r\neth0"),
        ("notes.txt", "c1\r\neth0"),
    ] {
        net.write(file, content);
    }
    net.del("c1").assert_success();
    assert_eq!(net.reserved(), ["10.2.0.4", "10.2.0.5", "10.2.0.6"]);
    assert!(net.path("notes.txt").exists());
    net.del("c1").assert_success();
    assert_eq!(net.reserved(), ["10.2.0.4", "10.2.0.6"], "then what an old plugin wrote");
}

#[test]
fn check_verifies_the_address_itself() {
    let net = Network::of(&["10.2.0.0/24", "fd00::/64"]);
    let not_found = "host-local: Failed to find address added by container c1: ";
    let result =
        |v4: &str, v6: &str| json!({"ips": [{"address": v4}, {"address": v6}, {"address": "192.0.2.1/32"}]});
    let good = result("10.2.0.2/24", "fd00::2/64");
    let refused = |prev_result| net.check("c1", prev_result).assert_error(999).msg.clone();
    assert_eq!(
        refused(good.clone()),
        format!("{not_found}nothing of range set 0 (10.2.0.1-10.2.0.254) is reserved")
    );
    assert!(!net.data_dir().exists());
    net.add("c1").assert_success();
    net.check("c1", good.clone()).assert_success();
    // The gateway, which a main plugin may have put on its bridge.
    net.check(
        "c1",
        json!({"ips": [{"address": "10.2.0.2/24"}, {"address": "fd00::2/64"}, {"address": "10.2.0.1/24"}]}),
    )
    .assert_success();
    assert_eq!(
        refused(result("10.2.0.3/24", "fd00::2/64")),
        format!("{not_found}10.2.0.2 is reserved but prevResult does not have it")
    );
    assert_eq!(
        refused(
            json!({"ips": [{"address": "10.2.0.2/24"}, {"address": "10.2.0.3/24"}, {"address": "fd00::2/64"}]})
        ),
        format!("{not_found}prevResult has 10.2.0.3, which is not reserved")
    );
    // Gone, or another's. The first of two, so that Go's plugin would be content.
    fs::remove_file(net.path("fd00::2")).unwrap();
    assert!(refused(good.clone()).starts_with(&format!("{not_found}nothing of range set 1")));
    net.write("fd00::2", "c2\r\neth0");
    assert!(refused(good.clone()).starts_with(&format!("{not_found}nothing of range set 1")));
    // What an old plugin wrote is as good.
    net.write("fd00::2", "c1");
    net.check("c1", good).assert_success();
}

#[test]
fn c54_gc_frees_what_no_valid_attachment_holds() {
    let net = Network::of(&["10.1.0.0/24"]);
    net.add("c1").assert_success();
    net.add("c2").assert_success();
    net.write("notes.txt", "");
    net.gc(&[("c1", "eth0")]).assert_success();
    let names: Vec<_> = net.files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["10.1.0.2", "last_reserved_ip.0", "notes.txt"]);
    // Without the list nothing is known to be stale.
    let call = Invocation::of("GC").config(net.config());
    assert!(call.run(&HostLocal).assert_error(7).msg.contains("cni.dev/valid-attachments"));
    assert_eq!(net.reserved(), ["10.1.0.2"]);
    // A runtime of the older key.
    let mut config = net.config();
    config["cni.dev/attachments"] = json!([{"containerID": "c1", "ifname": "eth1"}]);
    Invocation::of("GC").config(config).run(&HostLocal).assert_success();
    assert_eq!(net.reserved(), [""; 0]);
}

#[test]
fn gc_goes_on_past_what_it_cannot_remove() {
    let net = Network::of(&["10.1.0.0/24"]);
    net.write("10.1.0.2", "c1\r\neth0");
    fs::create_dir_all(net.path(".tmp-abcdef/y")).unwrap();
    let outcome = net.gc(&[]);
    assert!(outcome.assert_error(999).msg.starts_with("failed to remove"), "{:?}", outcome.error());
    assert_eq!(net.reserved(), [""; 0]);
}

#[test]
fn status_says_50_when_a_pool_is_exhausted() {
    let net = Network::of(&["10.1.0.0/24", "fd00::/126"]);
    net.status().assert_success();
    assert!(!net.data_dir().exists(), "looking makes nothing");
    net.add("c1").assert_success();
    net.status().assert_success();
    net.add("c2").assert_success();
    let before = net.files();
    let outcome = net.status();
    assert!(outcome.assert_error(50).msg.contains("no IP addresses available in range set: fd00::1-fd00::3"));
    assert_eq!(net.files(), before);
    net.del("c1").assert_success();
    net.status().assert_success();
    // A person frees one.
    net.add("c3").assert_success();
    net.status().assert_error(50);
    fs::remove_file(net.path("fd00::2")).unwrap();
    net.status().assert_success();
}

#[test]
fn status_says_50_when_the_data_directory_cannot_be_written() {
    let net = Network::of(&["10.1.0.0/24"]);
    fs::write(net.data_dir(), "").unwrap();
    let outcome = net.status();
    assert_eq!(
        outcome.assert_error(50).msg,
        format!("data directory {:?} is not writable: not a directory", net.data_dir())
    );
    // Nobody makes files in /proc, root included.
    let mut config = net.config();
    config["ipam"]["dataDir"] = json!("/proc/sys/none");
    let outcome = Invocation::status().config(config).run(&HostLocal);
    assert!(
        outcome.assert_error(50).msg.starts_with("data directory \"/proc/sys\" is not writable"),
        "{:?}",
        outcome.error()
    );
    let net = Network::new(json!({"subnet": "10.1.0.0/24", "resolvConf": "/no/such/file"}));
    assert_eq!(net.status().assert_error(50).msg, "open /no/such/file: no such file or directory");
    assert!(
        Network::new(json!({"subnet": "10.1.0.0/31"})).status().assert_error(7).msg.contains("too small")
    );
}
