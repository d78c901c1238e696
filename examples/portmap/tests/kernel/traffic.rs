//! Who reaches a published port, and who nothing when it is gone.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use plugin_support::firewall::SystemTools;
use serde_json::json;

use super::lab::{BACKENDS, HOST, Lab, ask, feed, serve};

/// Where a connection comes from, and to which of the host's addresses.
fn ways(lab: &Lab) -> Vec<(&'static str, &plugin_support::testing::TestNetns, String)> {
    let [v4, v6] = HOST;
    let mut ways = Vec::new();
    for address in [v4.to_owned(), format!("[{v6}]")] {
        ways.push(("outside", &lab.outside, address.clone()));
        ways.push(("host", &lab.host, address.clone()));
        ways.push(("another container", &lab.c2, address.clone()));
        ways.push(("itself", &lab.c1, address));
    }
    // The kernel routes nothing from `::1`.
    ways.push(("localhost", &lab.host, "127.0.0.1".to_owned()));
    ways
}

fn reaches_everyone(lab: &Lab, keys: &serde_json::Value) {
    serve(&lab.c1, 80, "c1");
    serve(&lab.c2, 80, "c2");
    let mappings = json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]);
    lab.run(lab.add("cid1", keys, &mappings)).assert_success();
    for (from, netns, address) in ways(lab) {
        let answer = ask(netns, &format!("{address}:8080"));
        assert!(
            answer.as_ref().is_ok_and(|answer| answer.starts_with("c1 sees ")),
            "{from} {address}: {answer:?}"
        );
    }
    // Who is outside is seen as who it is.
    assert_eq!(ask(&lab.outside, "192.0.2.1:8080").unwrap(), "c1 sees 192.0.2.2");
    assert_eq!(ask(&lab.outside, "[2001:db8::1]:8080").unwrap(), "c1 sees 2001:db8::2");
    // What is not the host's is left alone.
    assert!(ask(&lab.c2, "10.2.0.2:8080").is_err());
    assert!(ask(&lab.c2, "10.2.0.2:80").unwrap().starts_with("c1 sees 10.2.0.3"));
    lab.run(lab.check("cid1", keys, &mappings)).assert_success();

    lab.run(lab.del("cid1", keys)).assert_success();
    for (from, netns, address) in ways(lab) {
        let answer = ask(netns, &format!("{address}:8080"));
        assert!(answer.is_err(), "{from} {address}: {answer:?}");
    }
    assert_eq!(lab.leftovers(), [""; 0]);
    lab.run(lab.check("cid1", keys, &mappings)).assert_error(999);
    lab.run(lab.del("cid1", keys)).assert_success();
}

#[test]
fn iptables_reaches_everyone() {
    let Some(lab) = Lab::new() else { return };
    reaches_everyone(&lab, &json!({"backend": "iptables"}));
}

#[test]
fn nftables_reaches_everyone() {
    let Some(lab) = Lab::new() else { return };
    reaches_everyone(&lab, &json!({"backend": "nftables"}));
}

/// A directory with some programs of this machine, under other names maybe.
fn programs(dir: &Path, names: &[(&str, &str)]) -> SystemTools {
    for (name, target) in names {
        let found = ["/usr/sbin", "/sbin"]
            .map(|sbin| Path::new(sbin).join(target))
            .into_iter()
            .find(|path| path.exists());
        if let Some(found) = found {
            symlink(fs::canonicalize(found).unwrap(), dir.join(name)).unwrap();
        }
    }
    SystemTools::in_directories([dir.to_owned()])
}

#[test]
fn the_legacy_programs_reach_everyone() {
    let dir = tempfile::tempdir().unwrap();
    let names =
        ["iptables", "ip6tables", "iptables-save", "ip6tables-save", "iptables-restore", "ip6tables-restore"];
    // One binary that looks at the name it is called by.
    let links: Vec<_> = names.iter().map(|name| (*name, name.replace("tables", "tables-legacy"))).collect();
    let links: Vec<_> = links.iter().map(|(name, target)| (*name, target.as_str())).collect();
    let tools = programs(dir.path(), &links);
    let Some(lab) = Lab::with(tools, &["iptables-restore", "ip6tables-restore"]) else { return };
    reaches_everyone(&lab, &json!({}));
}

#[test]
fn c76_with_nft_alone_everyone_is_reached() {
    let dir = tempfile::tempdir().unwrap();
    let tools = programs(dir.path(), &[("nft", "nft")]);
    let Some(lab) = Lab::with(tools, &["nft"]) else { return };
    reaches_everyone(&lab, &json!({}));
    assert!(lab.nft().contains("table ip cni_hostport"));
}

#[test]
fn c76_where_the_table_is_not_for_iptables_everyone_is_reached() {
    let Some(lab) = Lab::new() else { return };
    feed(&lab, "nft", &["-f", "-"], NOT_FOR_IPTABLES);
    reaches_everyone(&lab, &json!({}));
}

/// A table that iptables takes for its own and cannot read.
const NOT_FOR_IPTABLES: &str = "
add table ip nat
add chain ip nat PREROUTING { type nat hook prerouting priority -100; }
add set ip nat ports { type inet_service; flags interval; auto-merge; }
add rule ip nat PREROUTING tcp dport @ports dnat to 10.0.0.1
";

#[test]
fn c22_del_succeeds_in_a_table_that_is_no_longer_for_iptables() {
    let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
    for flush in ["flush ruleset", ""] {
        let Some(lab) = Lab::new() else { return };
        lab.run(lab.add("cid1", &json!({"backend": "iptables"}), &mappings)).assert_success();
        feed(&lab, "nft", &["-f", "-"], &format!("{flush}{NOT_FOR_IPTABLES}"));
        lab.run(lab.del("cid1", &json!({}))).assert_success();
        assert!(!lab.host.command("nft", ["list", "ruleset"]).contains("CNI-DN-"), "{flush:?}");
        assert_eq!(lab.leftovers(), [""; 0], "{flush:?}");
    }
}

#[test]
fn c72_masq_all_hides_everyone() {
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        serve(&lab.c1, 80, "c1");
        let keys = json!({"backend": backend, "masqAll": true});
        let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
        lab.run(lab.add("cid1", &keys, &mappings)).assert_success();
        assert_eq!(ask(&lab.outside, "192.0.2.1:8080").unwrap(), "c1 sees 10.2.0.1", "{backend}");
        assert_eq!(ask(&lab.outside, "[2001:db8::1]:8080").unwrap(), "c1 sees fd00:2::1", "{backend}");
        lab.run(lab.check("cid1", &keys, &mappings)).assert_success();
    }
}

#[test]
fn a_host_ip_is_the_only_one() {
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        serve(&lab.c1, 80, "c1");
        let keys = json!({"backend": backend});
        let mappings = json!([
            {"hostPort": 8080, "containerPort": 80, "hostIP": "192.0.2.1"},
            {"hostPort": 8081, "containerPort": 80, "hostIP": "::"},
        ]);
        lab.run(lab.add("cid1", &keys, &mappings)).assert_success();
        lab.run(lab.check("cid1", &keys, &mappings)).assert_success();
        ask(&lab.outside, "192.0.2.1:8080").unwrap();
        ask(&lab.outside, "[2001:db8::1]:8081").unwrap();
        for other in ["[2001:db8::1]:8080", "192.0.2.1:8081"] {
            assert!(ask(&lab.outside, other).is_err(), "{backend} {other}");
        }
        assert!(ask(&lab.host, "10.2.0.1:8080").is_err(), "{backend}");
        lab.run(lab.del("cid1", &keys)).assert_success();
        assert_eq!(lab.leftovers(), [""; 0], "{backend}");
    }
}

#[test]
fn c71_conditions_decide_who_gets_in() {
    for (backend, conditions) in [
        ("iptables", json!(["!", "-s", "192.0.2.2"])),
        ("nftables", json!(["ip", "saddr", "!=", "192.0.2.2"])),
    ] {
        let Some(lab) = Lab::new() else { return };
        serve(&lab.c1, 80, "c1");
        serve(&lab.c2, 80, "c2");
        let with = json!({"backend": backend, "conditionsV4": conditions});
        let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
        lab.run(lab.add("cid1", &with, &mappings)).assert_success();
        assert!(ask(&lab.outside, "192.0.2.1:8080").is_err(), "{backend}");
        assert!(ask(&lab.host, "192.0.2.1:8080").is_ok(), "{backend}");
        assert!(
            ask(&lab.outside, "[2001:db8::1]:8080").is_ok(),
            "{backend}: the other family has no conditions"
        );
        lab.run(lab.check("cid1", &with, &mappings)).assert_success();

        // Another container without conditions does not take these away. (Go's nftables backend does.)
        let without = json!({"backend": backend, "name": "net2"});
        let other = json!([{"hostPort": 9090, "containerPort": 80}]);
        lab.run(lab.add_to(&lab.c2, "cid2", super::lab::C2, &without, &other)).assert_success();
        assert!(ask(&lab.outside, "192.0.2.1:9090").unwrap().starts_with("c2"), "{backend}");
        assert!(ask(&lab.outside, "192.0.2.1:8080").is_err(), "{backend}");
        lab.run(lab.check("cid1", &with, &mappings)).assert_success();
    }
}

#[test]
fn c74_check_notices_each_missing_rule() {
    let Some(lab) = Lab::new() else { return };
    let mappings = json!([{"hostPort": 8080, "containerPort": 80}, {"hostPort": 8081, "containerPort": 81, "protocol": "udp"}]);
    for backend in BACKENDS {
        let keys = json!({"backend": backend});
        lab.run(lab.add("cid1", &keys, &mappings)).assert_success();
        lab.run(lab.check("cid1", &keys, &mappings)).assert_success();
        let all = rules(&lab, backend);
        let is_rule = |line: &&str| {
            line.starts_with("-A") || line.contains("jump") || line.contains("comment \"cid1\"")
        };
        let rules: Vec<_> = all.lines().filter(is_rule).collect();
        assert!(rules.len() >= 8, "{backend}: {all}");
        for rule in rules {
            // The empty chain of an old release is nobody's loss.
            if rule.contains("jump hostip_hostports") {
                continue;
            }
            set_rules(&lab, backend, &all.replacen(&format!("{rule}\n"), "", 1));
            let outcome = lab.run(lab.check("cid1", &keys, &mappings));
            assert!(outcome.error().is_some(), "{backend}: CHECK misses {rule:?}");
        }
        set_rules(&lab, backend, &all);
        lab.run(lab.check("cid1", &keys, &mappings)).assert_success();
        lab.host.command("sysctl", ["-qw", "net.ipv4.conf.br0.route_localnet=0"]);
        let outcome = lab.run(lab.check("cid1", &keys, &mappings));
        assert!(
            outcome.assert_error(999).msg.contains("10.2.0.2 is not reached from 127.0.0.1"),
            "{backend}"
        );
        // For all links is as good.
        lab.host.command("sysctl", ["-qw", "net.ipv4.conf.all.route_localnet=1"]);
        lab.run(lab.check("cid1", &keys, &mappings)).assert_success();
        lab.host.command("sysctl", ["-qw", "net.ipv4.conf.all.route_localnet=0"]);
        lab.run(lab.del("cid1", &keys)).assert_success();
    }
}

/// The IPv4 rules of a backend, as its program wants them back.
fn rules(lab: &Lab, backend: &str) -> String {
    match backend {
        "iptables" => lab.saved("iptables-save"),
        _ => lab.host.command("nft", ["list", "table", "ip", "cni_hostport"]),
    }
}

/// Sets the IPv4 rules of a backend, in place of those that there are.
fn set_rules(lab: &Lab, backend: &str, rules: &str) {
    match backend {
        "iptables" => feed(lab, "iptables-restore", &[], rules),
        _ => feed(lab, "nft", &["-f", "-"], &format!("delete table ip cni_hostport\n{rules}")),
    }
}
