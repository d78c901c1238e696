//! Go's plugin and ours on the same rules: what either makes, the other finds good and takes down, and both make the
//! same. The nftables backend is younger than Debian's release.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::lab::{C1, Lab, feed, go, go_with, result};

/// Configurations, each with a container's ID and mappings. Debian's release does not know `masqAll` yet.
fn cases() -> Vec<(&'static str, String, Value, Value)> {
    let usual = json!([
        {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
        {"hostPort": 8081, "containerPort": 81, "protocol": "udp"},
        {"hostPort": 8082, "containerPort": 82, "protocol": "sctp"},
    ]);
    let many: Vec<_> =
        (1..=40).map(|n| json!({"hostPort": 9000 + n, "containerPort": n, "protocol": "tcp"})).collect();
    let host_ips = json!([
        {"hostPort": 80, "containerPort": 80, "protocol": "tcp", "hostIP": "192.0.2.1"},
        {"hostPort": 80, "containerPort": 81, "protocol": "tcp", "hostIP": "2001:db8::1"},
        {"hostPort": 81, "containerPort": 82, "protocol": "tcp", "hostIP": "0.0.0.0"},
        {"hostPort": 81, "containerPort": 83, "protocol": "tcp", "hostIP": "::"},
    ]);
    let cases = [
        ("the usual", "cid1".to_owned(), json!({}), usual.clone()),
        ("a usual ID", "4f".repeat(32), json!({}), usual.clone()),
        ("an ID longer than a comment", "i".repeat(240), json!({}), usual.clone()),
        ("no snat", "cid1".to_owned(), json!({"snat": false}), usual.clone()),
        ("another bit", "cid1".to_owned(), json!({"markMasqBit": 5}), usual.clone()),
        ("another chain", "cid1".to_owned(), json!({"externalSetMarkChain": "OTHER-MARK"}), usual.clone()),
        (
            "conditions",
            "cid1".to_owned(),
            json!({"conditionsV4": ["!", "-s", "198.51.100.0/24"], "conditionsV6": ["-d", "2001:db8::1"]}),
            usual.clone(),
        ),
        ("many ports", "cid1".to_owned(), json!({}), json!(many)),
        ("addresses of the host", "cid1".to_owned(), json!({}), host_ips),
        ("a long name", "cid1".to_owned(), json!({"name": "n".repeat(100)}), usual),
    ];
    cases.into()
}

/// Go's configuration of a case.
fn config(lab: &Lab, keys: &Value, mappings: &Value) -> Value {
    let mut config = lab.config(keys);
    config["runtimeConfig"] = json!({"portMappings": mappings});
    config["prevResult"] = result(C1);
    config
}

fn with_foreign_chain(lab: &Lab) {
    for program in ["iptables", "ip6tables"] {
        lab.host.command(program, ["-t", "nat", "-N", "OTHER-MARK"]);
    }
}

fn ours(keys: &Value) -> Value {
    let mut keys = keys.clone();
    keys["cniVersion"] = json!("1.0.0");
    keys
}

#[test]
fn both_make_the_same_rules() {
    for (case, id, keys, mappings) in cases() {
        let (Some(gos), Some(our)) = (Lab::new(), Lab::new()) else { return };
        with_foreign_chain(&gos);
        with_foreign_chain(&our);
        let Some(added) = go(&gos, "ADD", &id, &config(&gos, &keys, &mappings)) else { return };
        let outcome = our.run(our.add(&id, &ours(&keys), &mappings));
        outcome.assert_success();
        let added: Value = serde_json::from_str(&added.expect(case)).unwrap();
        assert_eq!(added, with_dns(outcome.json()), "{case}");
        for program in ["iptables-save", "ip6tables-save"] {
            assert_eq!(our.saved(program), gos.saved(program), "{case} {program}");
        }
        let key = "net.ipv4.conf.br0.route_localnet";
        assert_eq!(our.host.sysctl().read(key).unwrap(), gos.host.sysctl().read(key).unwrap(), "{case}");
    }
}

/// Go says so when there is none.
fn with_dns(mut result: Value) -> Value {
    if result["dns"].is_null() {
        result["dns"] = json!({});
    }
    result
}

#[test]
fn ours_takes_down_what_gos_made() {
    for (case, id, keys, mappings) in cases() {
        let Some(lab) = Lab::new() else { return };
        with_foreign_chain(&lab);
        let Some(added) = go(&lab, "ADD", &id, &config(&lab, &keys, &mappings)) else { return };
        added.expect(case);
        let keys = ours(&keys);
        lab.run(lab.check(&id, &keys, &mappings)).assert_success();
        lab.run(lab.del(&id, &keys).capability("portMappings", &mappings)).assert_success();
        assert_eq!(lab.leftovers(), [""; 0], "{case}");
    }
}

/// CHECK of one family. Debian's release looks for the rules of one in the tables of both, if it can.
fn checked_by_go(
    lab: &Lab,
    id: &str,
    config: &Value,
    address: &str,
    program: &str,
) -> Option<Result<String, String>> {
    let dir = tempfile::tempdir().unwrap();
    let found = ["/usr/sbin", "/sbin"]
        .map(|sbin| Path::new(sbin).join(program))
        .into_iter()
        .find(|path| path.exists());
    symlink(fs::canonicalize(found.unwrap()).unwrap(), dir.path().join(program)).unwrap();
    let mut config = config.clone();
    config["prevResult"]["ips"] = json!([{"interface": 1, "address": address}]);
    go_with(lab, "CHECK", id, &config, Some(dir.path()))
}

#[test]
fn gos_takes_down_what_ours_made() {
    for (case, id, keys, mappings) in cases() {
        let Some(lab) = Lab::new() else { return };
        with_foreign_chain(&lab);
        lab.run(lab.add(&id, &ours(&keys), &mappings)).assert_success();
        let config = config(&lab, &keys, &mappings);
        for (address, program) in C1.into_iter().zip(["iptables", "ip6tables"]) {
            let Some(checked) = checked_by_go(&lab, &id, &config, address, program) else { return };
            checked.expect(case);
        }
        go(&lab, "DEL", &id, &config).unwrap().expect(case);
        let left: Vec<_> = lab.leftovers().into_iter().filter(|left| !left.ends_with(".json")).collect();
        assert_eq!(left, [""; 0], "{case}");
        // The record is ours to remove.
        lab.run(lab.del(&id, &ours(&keys))).assert_success();
        assert_eq!(lab.leftovers(), [""; 0], "{case}");
    }
}

#[test]
fn gc_finds_what_gos_made() {
    let Some(lab) = Lab::new() else { return };
    let (_, _, keys, mappings) = cases().remove(0);
    let config = config(&lab, &keys, &mappings);
    let Some(added) = go(&lab, "ADD", "cid1", &config) else { return };
    added.unwrap();
    let gc = |valid: &[(&'static str, &'static str)]| {
        cni_skel::testing::Invocation::gc(valid.iter().copied()).config(lab.config(&json!({})))
    };
    let before = lab.leftovers();
    lab.run(gc(&[("cid1", "eth0")])).assert_success();
    assert_eq!(lab.leftovers(), before);
    lab.run(gc(&[("cid2", "eth0")])).assert_success();
    assert_eq!(lab.leftovers(), [""; 0]);
}

#[test]
fn a_port_that_gos_container_has_is_told() {
    let Some(lab) = Lab::new() else { return };
    let (_, _, keys, mappings) = cases().remove(0);
    let Some(added) = go(&lab, "ADD", "cid1", &config(&lab, &keys, &mappings)) else { return };
    added.unwrap();
    let before = lab.leftovers();
    let outcome = lab.run(lab.add("cid2", &json!({}), &mappings));
    let error = outcome.assert_error(100);
    assert!(error.msg.contains(r#"already forwarded to container "cid1" of network "net1""#), "{error}");
    assert_eq!(lab.leftovers(), before);
}

/// What Go's plugin of 2026 makes by its nftables backend, which Debian's release does not have: script by script.
const BY_GOS_NFTABLES: &str = "
add table ip cni_hostport { comment \"CNI portmap plugin\" ; }
add chain ip cni_hostport hostports
add chain ip cni_hostport hostip_hostports
add chain ip cni_hostport hostports_all
flush chain ip cni_hostport hostports_all
add rule ip cni_hostport hostports_all jump hostip_hostports
add rule ip cni_hostport hostports_all jump hostports
add chain ip cni_hostport prerouting { type nat hook prerouting priority -100 ; }
flush chain ip cni_hostport prerouting
add rule ip cni_hostport prerouting fib daddr type local jump hostports_all
add chain ip cni_hostport output { type nat hook output priority -100 ; }
flush chain ip cni_hostport output
add rule ip cni_hostport output fib daddr type local jump hostports_all
add chain ip cni_hostport masquerading { type nat hook postrouting priority 100 ; }
add rule ip cni_hostport hostports tcp dport 8080 dnat to 10.2.0.2:80 comment \"cid1\"
add rule ip cni_hostport hostports ip daddr 192.0.2.1 udp dport 8081 dnat to 10.2.0.2:81 comment \"cid1\"
add rule ip cni_hostport masquerading ip saddr 10.2.0.2 ip daddr 10.2.0.2 masquerade comment \"cid1\"
add rule ip cni_hostport masquerading ip saddr 127.0.0.1 ip daddr 10.2.0.2 masquerade comment \"cid1\"
";

#[test]
fn what_gos_nftables_backend_makes_is_found_good_and_taken_down() {
    let Some(lab) = Lab::new() else { return };
    let keys = json!({"backend": "nftables"});
    let mappings = json!([
        {"hostPort": 8080, "containerPort": 80},
        {"hostPort": 8081, "containerPort": 81, "protocol": "udp", "hostIP": "192.0.2.1"},
    ]);
    let v4_only = || {
        let mut result = result(C1);
        result["ips"].as_array_mut().unwrap().truncate(1);
        result
    };
    feed(&lab, "nft", &["-f", "-"], BY_GOS_NFTABLES);
    // Which Go's does as well.
    lab.host.command("sysctl", ["-qw", "net.ipv4.conf.br0.route_localnet=1"]);
    let check = || lab.check("cid1", &keys, &mappings).prev_result(v4_only());
    lab.run(check()).assert_success();
    let gos = lab.nft();

    // The result may be gone, or be that of another network of the container.
    lab.run(lab.del("cid1", &json!({})).capability("portMappings", &mappings)).assert_success();
    assert_eq!(lab.leftovers(), [""; 0]);
    feed(&lab, "nft", &["-f", "-"], BY_GOS_NFTABLES);
    let other = json!({"cniVersion": "1.1.0", "ips": [{"address": "10.9.0.2/24"}]});
    let del = || lab.del("cid1", &json!({})).capability("portMappings", &mappings);
    lab.run(del().prev_result(other)).assert_success();
    lab.run(check()).assert_success();
    lab.run(del().prev_result(v4_only())).assert_success();
    assert_eq!(lab.leftovers(), [""; 0]);

    // And what is made anew is the same.
    lab.host.command("nft", ["delete", "table", "ip", "cni_hostport"]);
    lab.run(lab.add("cid1", &keys, &mappings).prev_result(v4_only())).assert_success();
    assert_eq!(sorted(&lab.nft()), sorted(&gos));
}

/// Lines without regard to the order in which chains were made.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}
