//! What every plugin must do, many calls at once, and what nobody needs any more.

use std::thread;

use cni_skel::Dispatcher;
use cni_skel::testing::{Invocation, conformance_of};
use firewall::Firewall;
use serde_json::json;

use super::lab::{C1, C2, C3, Lab, result};

#[test]
fn it_does_what_the_spec_demands() {
    let Some(lab) = Lab::new("DROP") else { return };
    // All kinds of rules are in it.
    let config = lab.chained(&json!({"ingressPolicy": "isolated"}), C1);
    let respond = |call| Dispatcher::new(&Firewall::default()).respond(call);
    let kit = conformance_of("firewall", respond, config);
    lab.node.assert_conforms(kit, &lab.c1, &lab.c2);
    assert_eq!(lab.rules_of(C1.v4), 0);
}

#[test]
fn check_changes_nothing() {
    let Some(lab) = Lab::new("DROP") else { return };
    let before = lab.saved();
    assert!(lab.check("c1", C1, &json!({})).assert_error(999).msg.starts_with("expected chain CNI-FORWARD"));
    assert_eq!(lab.saved(), before);
    lab.add("c1", C1, &json!({}));
    lab.node.netns.command("ip6tables", ["-D", "CNI-FORWARD", "-s", C1.v6, "-j", "ACCEPT"]);
    let before = lab.saved();
    let missing = format!("expected rule [-s {}/128 -j ACCEPT] not found", C1.v6);
    assert_eq!(lab.check("c1", C1, &json!({})).assert_error(999).msg, missing);
    assert_eq!(lab.saved(), before);
}

#[test]
fn many_at_once_all_get_their_rules() {
    let Some(lab) = Lab::new("DROP") else { return };
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
        assert_eq!(lab.rules_of(&format!("10.2.1.{number}")), 2, "{saved}");
    }
    assert_eq!(saved.matches("-j CNI-FORWARD").count(), 1, "{saved}");
    all("DEL");
    assert!(!lab.saved().contains("10.2.1."));
}

#[test]
fn gc_removes_what_belongs_to_no_valid_attachment() {
    let Some(lab) = Lab::new("DROP") else { return };
    for (id, place) in [("c1", C1), ("c2", C2), ("c3", C3)] {
        lab.add(id, place, &json!({}));
    }
    let gc = Invocation::gc([("c2", "eth0")]).config(lab.config(&json!({"cniVersion": "1.1.0"})));
    lab.run(gc).assert_success();
    let left = [C1, C2, C3].map(|place| lab.rules_of(place.v4) + lab.rules_of(place.v6));
    assert_eq!(left, [0, 4, 0]);
    lab.check("c2", C2, &json!({})).assert_success();
}
