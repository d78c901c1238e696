//! Packets: who gets through, and who does not.

use plugin_attach::testing::pings;
use serde_json::json;

use super::lab::{C1, C2, C3, Lab, OUTSIDE};

#[test]
fn a_policy_of_drop_lets_an_allowed_container_through() {
    let Some(lab) = Lab::new("DROP") else { return };
    let before = lab.saved();
    let keys = json!({});
    lab.add("c1", C1, &keys);
    lab.check("c1", C1, &keys).assert_success();
    for outside in OUTSIDE {
        assert!(pings(&lab.c1, outside), "{outside}");
        assert!(!pings(&lab.c3, outside), "{outside}: nobody has let it through");
    }
    // Answers alone: who begins outside is not let in.
    assert!(!pings(&lab.outside, C1.v4));
    assert!(!pings(&lab.outside, C1.v6));

    // An administrator has the first word.
    lab.node.netns.command("iptables", ["-A", "CNI-ADMIN", "-d", OUTSIDE[0], "-j", "DROP"]);
    assert!(!pings(&lab.c1, OUTSIDE[0]));
    lab.node.netns.command("iptables", ["-F", "CNI-ADMIN"]);
    assert!(pings(&lab.c1, OUTSIDE[0]));

    for _ in 0..2 {
        lab.del("c1", &keys);
        assert!(!pings(&lab.c1, OUTSIDE[0]));
        assert!(!pings(&lab.c1, OUTSIDE[1]));
    }
    // The chains that all share stay, as Go's do.
    let is_shared = |line: &&str| line.contains("CNI-FORWARD") || line.contains("CNI-ADMIN");
    let after: String =
        lab.saved().lines().filter(|line| !is_shared(line)).map(|line| format!("{line}\n")).collect();
    assert_eq!(after, before);
}

#[test]
fn containers_of_other_bridges_are_kept_out() {
    let Some(lab) = Lab::new("ACCEPT") else { return };
    assert!(pings(&lab.c3, C1.v4) && pings(&lab.c3, C1.v6), "nothing is kept apart yet");
    let keys = json!({"ingressPolicy": "same-bridge"});
    for (id, place) in [("c1", C1), ("c2", C2), ("c3", C3)] {
        lab.add(id, place, &keys);
        lab.check(id, place, &keys).assert_success();
    }
    for [c1, c2, c3, outside] in [[C1.v4, C2.v4, C3.v4, OUTSIDE[0]], [C1.v6, C2.v6, C3.v6, OUTSIDE[1]]] {
        assert!(!pings(&lab.c3, c1) && !pings(&lab.c1, c3), "{c1} {c3}");
        assert!(pings(&lab.c1, c2), "{c2} is on the same bridge");
        assert!(pings(&lab.c1, outside) && pings(&lab.outside, c1), "{outside} is not on a bridge");
    }
}

#[test]
fn isolated_containers_are_kept_apart_on_their_own_bridge() {
    let Some(lab) = Lab::new("ACCEPT") else { return };
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
    assert_eq!(pings(&lab.c1, C2.v4), !is_filtered);
    assert!(!pings(&lab.c1, C3.v4));
    assert!(pings(&lab.c1, OUTSIDE[0]) && pings(&lab.outside, C1.v4));
    // One that is not isolated comes first in FORWARD, were it not put behind.
    let rule = ["FORWARD", "-m", "comment", "--comment", "CNI firewall plugin rules", "-j", "CNI-FORWARD"];
    lab.node.netns.command("iptables", [&["-D"], &rule[..]].concat());
    lab.add("c4", C2, &json!({}));
    assert_eq!(pings(&lab.c1, C2.v4), !is_filtered);
    // With the bridge goes what kept its containers apart.
    let count = |bridge: &str| lab.saved().matches(&format!("-o {bridge} ")).count();
    assert_eq!((count("br0"), count("br1")), (6, 6));
    lab.node.netns.ip("link del br1");
    lab.del("c3", &keys);
    lab.del("c2", &keys);
    assert_eq!((count("br0"), count("br1")), (6, 0));
    assert!(lab.saved().lines().all(|line| !line.contains("-i br1 ")));
}
