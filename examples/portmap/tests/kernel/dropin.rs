//! Go's plugin and ours on the same rules: what either makes, the other finds good and takes down, and both make the
//! same. The nftables backend is younger than Debian's release.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::lab::{C1, Lab, go, go_with, result};

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
