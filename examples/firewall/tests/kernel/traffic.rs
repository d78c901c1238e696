//! Packets: who gets through, and who does not.

use cni_skel::testing::Invocation;
use plugin_attach::testing::{is_cut_off, pings};
use serde_json::json;

use super::lab::{C1, C2, C3, Lab, OUTSIDE};

#[test]
fn a_policy_of_drop_lets_an_allowed_container_through() {
    for lab in Lab::each("DROP") {
        let keys = json!({});
        // What is shared is there: Go's plugin leaves it, too.
        lab.add("c0", C3, &keys);
        lab.del("c0", &keys);
        let before = lab.saved();
        lab.add("c1", C1, &keys);
        lab.check("c1", C1, &keys).assert_success();
        for outside in OUTSIDE {
            assert!(pings(&lab.c1, outside), "{} {outside}", lab.backend);
            assert!(is_cut_off(&lab.c3, outside), "{} {outside}: nobody has let it through", lab.backend);
        }
        // Answers alone: who begins outside is not let in.
        assert!(is_cut_off(&lab.outside, C1.v4));
        assert!(is_cut_off(&lab.outside, C1.v6));

        // An administrator has the first word.
        lab.administer(Some(OUTSIDE[0]));
        assert!(is_cut_off(&lab.c1, OUTSIDE[0]), "{}", lab.backend);
        // And keeps it, whoever comes.
        lab.add("c1", C1, &keys);
        lab.add("c2", C2, &keys);
        lab.del("c2", &keys);
        assert!(is_cut_off(&lab.c1, OUTSIDE[0]), "{}", lab.backend);
        lab.administer(None);
        assert!(pings(&lab.c1, OUTSIDE[0]), "{}", lab.backend);

        for _ in 0..2 {
            lab.del("c1", &keys);
            assert!(is_cut_off(&lab.c1, OUTSIDE[0]));
            assert!(is_cut_off(&lab.c1, OUTSIDE[1]));
        }
        assert_eq!(lab.saved(), before);
    }
}

#[test]
fn open_containers_can_be_reached_from_everywhere() {
    for lab in Lab::each("ACCEPT") {
        for (id, place) in [("c1", C1), ("c3", C3)] {
            lab.add(id, place, &json!({"ingressPolicy": "open"}));
        }
        assert!(
            pings(&lab.c3, C1.v4) && pings(&lab.c1, C3.v6) && pings(&lab.outside, C1.v4),
            "{}",
            lab.backend
        );
    }
}

#[test]
fn containers_of_other_bridges_are_kept_out() {
    for lab in Lab::each("ACCEPT") {
        let backend = lab.backend;
        assert!(pings(&lab.c3, C1.v4) && pings(&lab.c3, C1.v6), "nothing is kept apart yet");
        let keys = json!({"ingressPolicy": "same-bridge"});
        for (id, place) in [("c1", C1), ("c2", C2), ("c3", C3)] {
            lab.add(id, place, &keys);
            lab.check(id, place, &keys).assert_success();
        }
        for [c1, c2, c3, outside] in [[C1.v4, C2.v4, C3.v4, OUTSIDE[0]], [C1.v6, C2.v6, C3.v6, OUTSIDE[1]]] {
            assert!(is_cut_off(&lab.c3, c1) && is_cut_off(&lab.c1, c3), "{backend} {c1} {c3}");
            assert!(pings(&lab.c1, c2), "{backend}: {c2} is on the same bridge");
            assert!(
                pings(&lab.c1, outside) && pings(&lab.outside, c1),
                "{backend}: {outside} is not on a bridge"
            );
        }
    }
}

#[test]
fn isolated_containers_are_kept_apart_on_their_own_bridge() {
    for lab in Lab::each("ACCEPT") {
        let backend = lab.backend;
        // What is bridged passes the rules only where the kernel can do that, and is told so.
        let tell = |key: &str| lab.node.netns.sysctl().write(key, "1").is_ok();
        let is_filtered =
            tell("net.bridge.bridge-nf-call-iptables") && tell("net.bridge.bridge-nf-call-ip6tables");
        assert!(pings(&lab.c1, C2.v4));
        let keys = json!({"ingressPolicy": "isolated"});
        for (id, place) in [("c1", C1), ("c2", C2), ("c3", C3)] {
            lab.add(id, place, &keys);
            lab.check(id, place, &keys).assert_success();
        }
        for (c2, c3) in [(C2.v4, C3.v4), (C2.v6, C3.v6)] {
            assert_eq!(is_cut_off(&lab.c1, c2), is_filtered, "{backend}");
            assert!(is_cut_off(&lab.c1, c3), "{backend}");
        }
        assert!(pings(&lab.c1, OUTSIDE[0]) && pings(&lab.outside, C1.v4), "{backend}");
        if backend == "iptables" {
            // One that is not isolated comes first in FORWARD, were it not put behind.
            let comment = "CNI firewall plugin rules";
            let rule = ["-D", "FORWARD", "-m", "comment", "--comment", comment, "-j", "CNI-FORWARD"];
            lab.node.netns.command("iptables", rule);
        }
        lab.add("c4", C2, &json!({}));
        // Who lets its own bridge in does not speak for those that do not.
        lab.add("c5", C1, &json!({"ingressPolicy": "same-bridge"}));
        assert_eq!(is_cut_off(&lab.c1, C2.v4), is_filtered, "{backend}");
        // With its last container goes what kept those of a bridge apart.
        let counts = || [lab.isolating("br0"), lab.isolating("br1")];
        let [br0, br1] = counts();
        assert!(br0 > 0 && br1 > 0, "{}", lab.saved());
        lab.del("c3", &keys);
        lab.del("c2", &keys);
        assert_eq!(counts(), [br0, 0], "{}", lab.saved());
        // The strictest policy holds for as long as somebody asks for it.
        lab.del("c1", &keys);
        assert!(pings(&lab.c1, C2.v4), "{backend}: {}", lab.saved());
        assert!(counts()[0] > 0, "{}", lab.saved());
        lab.del("c5", &keys);
        assert_eq!(counts(), [0, 0], "{}", lab.saved());
    }
}

#[test]
fn a_bridge_is_as_open_as_its_containers_of_now() {
    for lab in Lab::each("ACCEPT") {
        let isolated = json!({"ingressPolicy": "isolated"});
        for id in ["c1", "c2"] {
            lab.add(id, C1, &isolated);
        }
        let before = lab.isolating("br0");
        // Who goes does not speak for who stays.
        lab.run(Invocation::gc([("c1", "eth0")]).config(lab.config(&json!({"cniVersion": "1.1.0"}))))
            .assert_success();
        assert_eq!(lab.isolating("br0"), before);
        // The same container, and otherwise.
        lab.add("c1", C1, &json!({"ingressPolicy": "same-bridge"}));
        assert!(0 < lab.isolating("br0") && lab.isolating("br0") <= before, "{}", lab.saved());
        assert!(pings(&lab.c1, C2.v4), "{}", lab.saved());
        lab.add("c1", C1, &json!({}));
        assert_eq!(lab.isolating("br0"), 0, "{}", lab.saved());
        // And GC alone.
        lab.add("c1", C1, &isolated);
        lab.run(Invocation::gc([]).config(lab.config(&json!({"cniVersion": "1.1.0"})))).assert_success();
        assert_eq!(lab.isolating("br0"), 0, "{}", lab.saved());
    }
}

#[test]
fn by_nftables_nothing_passes_that_another_table_drops() {
    let Some(lab) = Lab::new("nftables", "ACCEPT") else { return };
    let keys = json!({});
    lab.add("c1", C1, &keys);
    assert!(pings(&lab.c1, OUTSIDE[0]));
    lab.node.netns.command("iptables", ["-P", "FORWARD", "DROP"]);
    assert!(is_cut_off(&lab.c1, OUTSIDE[0]), "as is told in the documentation");
    lab.node.netns.command("iptables", ["-A", "FORWARD", "-j", "ACCEPT"]);
    assert!(pings(&lab.c1, OUTSIDE[0]), "that table's own rule lifts it");
}

#[test]
fn by_nftables_a_word_of_its_own_is_no_name_of_a_chain() {
    let Some(lab) = Lab::new("nftables", "ACCEPT") else { return };
    let add = |chain: &str| {
        let config = lab.chained(&json!({"iptablesAdminChainName": chain}), C1);
        lab.run(Invocation::add("c1", lab.c1.path(), "eth0").config(config))
    };
    for word in ["drop", "accept", "ip", "counter", "set", "jump"] {
        let outcome = add(word);
        let error = outcome.assert_error(7);
        assert!(error.msg.contains(&format!("invalid chain name {word:?}")), "{error}");
    }
    add("MY-ADMIN").assert_success();
    // What is listed can be read again.
    let reload = "nft list ruleset > \"$0\" && nft -c -f \"$0\"";
    let file = tempfile::NamedTempFile::new().unwrap();
    lab.node.netns.command("sh", ["-c", reload, file.path().to_str().unwrap()]);
}
