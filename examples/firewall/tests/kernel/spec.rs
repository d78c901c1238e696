//! What every plugin must do, many calls at once, and what nobody needs any more.

use std::thread;

use cni_skel::Dispatcher;
use cni_skel::testing::{Invocation, conformance_of};
use firewall::Firewall;
use serde_json::json;

use super::lab::{C1, C2, C3, Lab, TABLE, result};

#[test]
fn it_does_what_the_spec_demands() {
    for lab in Lab::each("DROP") {
        // All kinds of rules are in it.
        let config = lab.chained(&json!({"ingressPolicy": "isolated"}), C1);
        let respond = |call| Dispatcher::new(&Firewall::default()).respond(call);
        let kit = conformance_of("firewall", respond, config);
        lab.node.assert_conforms(kit, &lab.c1, &lab.c2);
        assert_eq!(lab.rules_of(C1.v4), 0, "{}", lab.backend);
    }
}

#[test]
fn check_changes_nothing() {
    for lab in Lab::each("DROP") {
        let is_nft = lab.backend == "nftables";
        let before = lab.saved();
        let missing = if is_nft { "expected set containers_v4" } else { "expected chain CNI-FORWARD" };
        let told = || lab.check("c1", C1, &json!({})).assert_error(999).msg.clone();
        assert!(told().starts_with(missing), "{}", told());
        assert_eq!(lab.saved(), before);
        lab.add("c1", C1, &json!({}));
        let missing = if is_nft {
            let element = format!("{{ {} }}", C1.v6);
            lab.node.netns.command("nft", ["delete", "element", "inet", TABLE, "containers_v6", &element]);
            format!(
                "expected address {} of set containers_v6 not found in nftables table inet {TABLE}",
                C1.v6
            )
        } else {
            lab.node.netns.command("ip6tables", ["-D", "CNI-FORWARD", "-s", C1.v6, "-j", "ACCEPT"]);
            format!("expected rule [-s {}/128 -j ACCEPT] not found", C1.v6)
        };
        let before = lab.saved();
        assert_eq!(told(), missing);
        assert_eq!(lab.saved(), before);
        // An ADD brings it back, and is no matter when nothing is missing.
        for _ in 0..2 {
            lab.add("c1", C1, &json!({}));
            lab.check("c1", C1, &json!({})).assert_success();
            assert_eq!([lab.rules_of(C1.v4), lab.rules_of(C1.v6)], [lab.rules_of_one(); 2]);
        }
    }
}

#[test]
fn many_at_once_all_get_their_rules() {
    for lab in Lab::each("DROP") {
        let config = |number: usize| {
            let mut config = lab.config(&json!({"ingressPolicy": "same-bridge"}));
            config["prevResult"] = result(C1);
            config["prevResult"]["ips"] = json!([{"address": format!("10.2.1.{number}/16")}]);
            config
        };
        let all = |verb: &'static str| {
            let configs: Vec<_> = (1..=8).map(|number| (number, config(number))).collect();
            thread::scope(|scope| {
                for (number, config) in configs {
                    let (netns, container) = (&lab.node.netns, lab.c1.path());
                    scope.spawn(move || {
                        let call = match verb {
                            "ADD" => Invocation::add(&format!("c{number}"), container, "eth0"),
                            _ => Invocation::del(&format!("c{number}"), "eth0"),
                        };
                        netns.run(|| call.config(config).run(&Firewall::default())).unwrap().assert_success();
                    });
                }
            });
        };
        all("ADD");
        let saved = lab.saved();
        for number in 1..=8 {
            assert_eq!(lab.rules_of(&format!("10.2.1.{number}")), lab.rules_of_one(), "{saved}");
        }
        let jump = if lab.backend == "nftables" { "jump containers" } else { "-j CNI-FORWARD" };
        assert_eq!(saved.matches(jump).count(), 1, "{saved}");
        all("DEL");
        assert!(!lab.saved().contains("10.2.1."));
    }
}

#[test]
fn gc_removes_what_belongs_to_no_valid_attachment() {
    for lab in Lab::each("DROP") {
        for (id, place) in [("c1", C1), ("c2", C2), ("c3", C3)] {
            lab.add(id, place, &json!({}));
        }
        let gc = Invocation::gc([("c2", "eth0")]).config(lab.config(&json!({"cniVersion": "1.1.0"})));
        lab.run(gc).assert_success();
        let left = [C1, C2, C3].map(|place| lab.rules_of(place.v4) + lab.rules_of(place.v6));
        assert_eq!(left, [0, 2 * lab.rules_of_one(), 0], "{}", lab.backend);
        lab.check("c2", C2, &json!({})).assert_success();
    }
}

#[test]
fn a_changed_backend_leaves_nothing_of_the_old_one() {
    let Some(lab) = Lab::new("iptables", "ACCEPT") else { return };
    let nft = json!({"backend": "nftables"});
    let of_nft = || {
        lab.node.netns.command("nft", ["list", "tables"]).contains(TABLE)
            && lab.node.netns.command("nft", ["list", "table", "inet", TABLE]).contains(C1.v4)
    };
    lab.add("c1", C1, &json!({}));
    lab.add("c1", C1, &nft);
    assert_eq!((lab.rules_of(C1.v4), of_nft()), (0, true));
    // The record says who has made them.
    lab.del("c1", &json!({}));
    assert!(!of_nft());
}

#[test]
fn hostile_names_are_comments_and_nothing_else() {
    let Some(lab) = Lab::new("nftables", "ACCEPT") else { return };
    let id = format!("c1.{}", "x".repeat(400));
    let keys = json!({"name": "n1..x-_", "iptablesAdminChainName": "MY-ADMIN.1/x"});
    lab.add(&id, C1, &keys);
    lab.check(&id, C1, &keys).assert_success();
    assert_eq!(lab.rules_of(C1.v4), 1);
    assert!(lab.saved().contains("jump MY-ADMIN.1/x"), "{}", lab.saved());
    lab.del(&id, &keys);
    assert_eq!(lab.rules_of(C1.v4), 0);
    let before = lab.saved();
    let call = |keys: &serde_json::Value, bridge: &str| {
        let mut config = lab.chained(keys, C1);
        config["prevResult"]["interfaces"][0]["name"] = json!(bridge);
        lab.run(Invocation::add("c1", lab.c1.path(), "eth0").config(config))
    };
    let admin = json!({"iptablesAdminChainName": "x; flush ruleset"});
    call(&admin, "br0").assert_error(7);
    for bridge in ["br*", "@bridges", "b\"; drop"] {
        call(&json!({"ingressPolicy": "isolated"}), bridge).assert_error(999);
    }
    assert_eq!(lab.saved(), before);
    // Odd ones are names like all others.
    for bridge in ["b;drop", "accept", "12", "$x#{}"] {
        let isolated = json!({"ingressPolicy": "isolated"});
        call(&isolated, bridge).assert_success();
        assert_eq!(lab.isolating(bridge), 3, "{}", lab.saved());
        lab.del("c1", &isolated);
        assert_eq!(lab.isolating(bridge), 0, "there is no such bridge");
    }
}
