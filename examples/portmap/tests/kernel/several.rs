//! Containers with several networks or interfaces, changed configurations, and what GC leaves.

use cni_skel::testing::Invocation;
use serde_json::{Value, json};

use super::lab::{BACKENDS, Lab, ask, result, serve};

const OTHER: [&str; 2] = ["10.2.0.22/24", "fd00:2::22/64"];

/// ADD of the first container by another interface, whose addresses are on the same link here.
fn add_other(lab: &Lab, ifname: &str, keys: &Value, mappings: &Value) -> Invocation {
    for address in OTHER {
        lab.c1.command("ip", ["addr", "replace", address, "dev", "eth0", "nodad"]);
    }
    let mut result = result(OTHER);
    result["interfaces"][1]["name"] = json!(ifname);
    Invocation::add("cid1", lab.c1.path(), ifname)
        .config(lab.config(keys))
        .prev_result(result)
        .capability("portMappings", mappings)
}

fn check_other(lab: &Lab, ifname: &str, keys: &Value, mappings: &Value) -> Invocation {
    let mut result = result(OTHER);
    result["interfaces"][1]["name"] = json!(ifname);
    Invocation::check("cid1", lab.c1.path(), ifname)
        .config(lab.config(keys))
        .prev_result(result)
        .capability("portMappings", mappings)
}

#[test]
fn interfaces_of_a_container_do_not_disturb_each_other() {
    // Both networks, or both interfaces of one, in either order; Go's plugin takes down both.
    for backend in BACKENDS {
        for network in ["net1", "net2"] {
            for first_goes in [true, false] {
                let Some(lab) = Lab::new() else { return };
                serve(&lab.c1, 80, "c1");
                let (keys, other_keys) =
                    (json!({"backend": backend}), json!({"backend": backend, "name": network}));
                let (mappings, other_mappings) = (
                    json!([{"hostPort": 8080, "containerPort": 80}]),
                    json!([{"hostPort": 9090, "containerPort": 80}]),
                );
                lab.run(lab.add("cid1", &keys, &mappings)).assert_success();
                lab.run(add_other(&lab, "eth1", &other_keys, &other_mappings)).assert_success();
                lab.run(lab.check("cid1", &keys, &mappings)).assert_success();
                lab.run(check_other(&lab, "eth1", &other_keys, &other_mappings)).assert_success();
                ask(&lab.outside, "192.0.2.1:8080").unwrap();
                ask(&lab.outside, "192.0.2.1:9090").unwrap();

                let del_other = || Invocation::del("cid1", "eth1").config(lab.config(&other_keys));
                let case = format!("{backend} {network} {first_goes}");
                if first_goes {
                    lab.run(lab.del("cid1", &keys)).assert_success();
                    assert!(ask(&lab.outside, "192.0.2.1:8080").is_err(), "{case}");
                    ask(&lab.outside, "192.0.2.1:9090").expect(&case);
                    lab.run(check_other(&lab, "eth1", &other_keys, &other_mappings)).assert_success();
                    lab.run(del_other()).assert_success();
                } else {
                    lab.run(del_other()).assert_success();
                    assert!(ask(&lab.outside, "192.0.2.1:9090").is_err(), "{case}");
                    ask(&lab.outside, "192.0.2.1:8080").expect(&case);
                    lab.run(lab.check("cid1", &keys, &mappings)).assert_success();
                    lab.run(lab.del("cid1", &keys)).assert_success();
                }
                assert_eq!(lab.leftovers(), [""; 0], "{case}");
            }
        }
    }
}

#[test]
fn a_port_may_be_published_by_both_interfaces() {
    // A runtime gives the same mappings to all networks of a container.
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        serve(&lab.c1, 80, "c1");
        let (keys, other_keys) = (json!({"backend": backend}), json!({"backend": backend, "name": "net2"}));
        let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
        lab.run(lab.add("cid1", &keys, &mappings)).assert_success();
        lab.run(add_other(&lab, "eth1", &other_keys, &mappings)).assert_success();
        lab.run(lab.del("cid1", &keys)).assert_success();
        ask(&lab.outside, "192.0.2.1:8080").unwrap();
        lab.run(Invocation::del("cid1", "eth1").config(lab.config(&other_keys))).assert_success();
        assert_eq!(lab.leftovers(), [""; 0]);
    }
}

#[test]
fn a_repeated_add_leaves_one_set_of_rules() {
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        serve(&lab.c1, 80, "c1");
        let keys = json!({"backend": backend});
        let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
        lab.run(lab.add("cid1", &keys, &mappings)).assert_success();
        let once = lab.leftovers();
        lab.run(lab.add("cid1", &keys, &mappings)).assert_success();
        assert_eq!(lab.leftovers().len(), once.len(), "{backend}");

        // The container comes back with another address.
        lab.run(lab.add_to(&lab.c2, "cid1", super::lab::C2, &keys, &mappings)).assert_success();
        serve(&lab.c2, 80, "c2");
        assert_eq!(lab.leftovers().len(), once.len(), "{backend}");
        assert!(ask(&lab.outside, "192.0.2.1:8080").unwrap().starts_with("c2"), "{backend}");
        lab.run(lab.del("cid1", &keys)).assert_success();
        assert_eq!(lab.leftovers(), [""; 0]);
    }
}

#[test]
fn del_after_a_change_of_backend_or_name_leaves_nothing() {
    let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
    for [backend, other] in [BACKENDS, [BACKENDS[1], BACKENDS[0]]] {
        for changed in
            [json!({"backend": other}), json!({"name": "renamed"}), json!({"backend": "pf"}), json!({})]
        {
            let Some(lab) = Lab::new() else { return };
            lab.run(lab.add("cid1", &json!({"backend": backend}), &mappings)).assert_success();
            assert_ne!(lab.leftovers(), [""; 0]);
            lab.run(lab.del("cid1", &changed)).assert_success();
            assert_eq!(lab.leftovers(), [""; 0], "{backend} {changed}");
        }
    }
}

#[test]
fn del_without_a_record_finds_the_rules_by_the_mappings() {
    let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        lab.run(lab.add("cid1", &json!({"backend": backend}), &mappings)).assert_success();
        std::fs::remove_file(lab.dir.path().join("cid1:eth0.json")).unwrap();
        lab.run(lab.del("cid1", &json!({})).capability("portMappings", &mappings)).assert_success();
        assert_eq!(lab.leftovers(), [""; 0], "{backend}");
    }
}

#[test]
fn gc_keeps_the_living() {
    let mappings = |port: u16| json!([{"hostPort": port, "containerPort": 80}]);
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        serve(&lab.c1, 80, "c1");
        let (keys, other_keys) = (json!({"backend": backend}), json!({"backend": backend, "name": "net2"}));
        lab.run(lab.add("cid1", &keys, &mappings(8080))).assert_success();
        lab.run(add_other(&lab, "eth1", &keys, &mappings(9090))).assert_success();
        lab.run(lab.add("cid2", &keys, &mappings(7070))).assert_success();
        lab.run(lab.add("cid3", &other_keys, &mappings(6060))).assert_success();

        lab.run(Invocation::gc([("cid1", "eth1")]).config(lab.config(&keys))).assert_success();
        for (port, alive) in [(8080, false), (9090, true), (7070, false), (6060, true)] {
            let answer = ask(&lab.outside, &format!("192.0.2.1:{port}"));
            assert_eq!(answer.is_ok(), alive, "{backend} {port}: {answer:?}");
        }
        lab.run(check_other(&lab, "eth1", &keys, &mappings(9090))).assert_success();
        lab.run(Invocation::gc([]).config(lab.config(&keys))).assert_success();
        lab.run(Invocation::gc([]).config(lab.config(&other_keys))).assert_success();
        assert_eq!(lab.leftovers(), [""; 0], "{backend}");
    }
}

#[test]
fn c74_without_mappings_there_are_no_tables() {
    let Some(lab) = Lab::new() else { return };
    lab.run(lab.add("cid1", &json!({}), &json!([]))).assert_success();
    lab.run(lab.check("cid1", &json!({}), &json!([]))).assert_success();
    lab.run(lab.del("cid1", &json!({}))).assert_success();
    // Some of the programs make a table when they look at it.
    assert_eq!(lab.host.command("nft", ["list", "tables"]), "");
}

#[test]
fn status_works_where_add_does() {
    let Some(lab) = Lab::new() else { return };
    for keys in [json!({}), json!({"backend": "iptables"}), json!({"backend": "nftables"})] {
        lab.run(Invocation::status().config(lab.config(&keys))).assert_success();
    }
}

#[test]
fn a_failed_add_leaves_nothing() {
    // What is wrong is in the second family, so that the first one is set up by then.
    let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
    for (backend, wrong, told) in [
        ("iptables", json!(["-d", "192.0.2.1"]), "unable to setup DNAT: "),
        (
            "nftables",
            json!(["ip6", "saddr", "192.0.2.1"]),
            "unable to set up nftables rules for port mappings: ",
        ),
    ] {
        let Some(lab) = Lab::new() else { return };
        let keys = json!({"backend": backend, "conditionsV6": wrong});
        let outcome = lab.run(lab.add("cid1", &keys, &mappings));
        let error = outcome.assert_error(999);
        assert!(error.msg.starts_with(told), "{error}");
        assert_eq!(lab.leftovers(), [""; 0], "{backend}");
        assert_eq!(lab.host.sysctl().read("net.ipv4.conf.br0.route_localnet").unwrap(), "0", "{backend}");
    }
}

#[test]
fn the_binary_says_what_it_supports() {
    let mut plugin = std::process::Command::new(env!("CARGO_BIN_EXE_portmap"));
    let output = plugin.env("CNI_COMMAND", "VERSION").stdin(std::process::Stdio::null()).output().unwrap();
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        info["supportedVersions"],
        json!(["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])
    );
}
