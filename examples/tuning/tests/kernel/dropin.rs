//! Go's plugin and ours on the same container: both change the same, and either restores what the other changed.

use std::fs;

use serde_json::{Value, json};

use super::container::Container;

/// Debian's release does not know `txQLen` yet, and takes the dot in a name that stands for `IFNAME` for a slash.
fn cases() -> Vec<(&'static str, Value)> {
    vec![
        ("nothing", json!({})),
        ("sysctls alone", json!({"sysctl": {"net.core.somaxconn": "500", "net/ipv4/ip_nonlocal_bind": "1"}})),
        ("everything", json!({"mac": "02:00:00:00:00:0a", "promisc": true, "mtu": 1400, "allmulti": true})),
        ("mtu alone", json!({"mtu": 1300})),
        ("off", json!({"promisc": false, "allmulti": false, "mtu": 0, "mac": ""})),
        ("arguments", json!({"mtu": 1300, "args": {"cni": {"mtu": 1200, "promisc": true}}})),
        ("the runtime", json!({"mac": "02:00:00:00:00:0a", "runtimeConfig": {"mac": "02:00:00:00:00:0b"}})),
    ]
}

/// The file without what ours adds.
fn backup(container: &Container) -> Option<Value> {
    let mut backup: Value = serde_json::from_str(&fs::read_to_string(container.backup()).ok()?).unwrap();
    backup.as_object_mut().unwrap().remove("network");
    Some(backup)
}

/// What is changed of the interface, and by which both would differ: every container has another address.
fn state(container: &Container) -> Value {
    let link = container.link();
    json!({"mtu": link.mtu, "flags": link.flags.bits(), "txQLen": link.tx_queue})
}

#[test]
fn both_change_the_same() {
    for (case, keys) in cases() {
        let (Some(gos), Some(ours)) = (Container::new(), Container::new()) else { return };
        for netns in [&gos, &ours] {
            // The same originals.
            netns.netns.ip("link set eth0.100 address 02:00:00:00:00:01");
        }
        let Some(added) = gos.go("ADD", &keys) else { return };
        let outcome = ours.run(ours.add(&keys));
        outcome.assert_success();
        let mut printed = outcome.json();
        if printed["dns"].is_null() {
            // Go says so when there is none.
            printed["dns"] = json!({});
        }
        assert_eq!(printed, serde_json::from_str::<Value>(&added.expect(case)).unwrap(), "{case}");
        assert_eq!(state(&ours), state(&gos), "{case}");
        assert_eq!(ours.link().mac, gos.link().mac, "{case}");
        assert_eq!(backup(&ours), backup(&gos), "{case}");
        assert_eq!(ours.sysctl("net.core.somaxconn"), gos.sysctl("net.core.somaxconn"), "{case}");
    }
}

#[test]
fn ours_restores_what_gos_changed() {
    for (case, keys) in cases() {
        let Some(container) = Container::new() else { return };
        let (before, mac) = (state(&container), container.link().mac);
        let Some(added) = container.go("ADD", &keys) else { return };
        added.expect(case);
        container.run(container.check(&keys)).assert_success();
        container.run(container.del()).assert_success();
        assert_eq!((state(&container), container.link().mac), (before, mac), "{case}");
        assert!(!container.backup().exists(), "{case}");
    }
}

#[test]
fn gos_restores_what_ours_changed() {
    for (case, keys) in cases() {
        let Some(container) = Container::new() else { return };
        let (before, mac) = (state(&container), container.link().mac);
        container.run(container.add(&keys)).assert_success();
        let Some(checked) = container.go("CHECK", &keys) else { return };
        checked.expect(case);
        let Some(deleted) = container.go("DEL", &keys) else { return };
        deleted.expect(case);
        assert_eq!((state(&container), container.link().mac), (before, mac), "{case}");
        assert!(!container.backup().exists(), "{case}");
    }
}
