//! bandwidth: queueing disciplines on the host's end, and the link that the other direction is sent through.

use serde_json::{Value, json};

use super::super::case::{Call, Case, Scope, Suite, add as add_c1, case, check, del};
use super::{before_1, protocol, with};

/// Two containers whose interfaces another plugin has made, the first with two.
const STAGE: &str = "
for number in 1 2; do
    ip netns add c$number
    ip link add host$number address 02:00:00:00:01:0$number type veth peer name eth0 address 02:00:00:00:02:0$number netns c$number
    ip link set host$number up
    ip -n c$number link set eth0 up
done
ip link add host3 address 02:00:00:00:01:03 type veth peer name eth1 address 02:00:00:00:02:03 netns c1
ip link set host3 up
ip -n c1 link set eth1 up
";

/// What the kernel queues and redirects; the numbers of actions are those of no host.
const MORE: &str = "
tc qdisc show
for link in host1 host2 host3; do
    tc filter show dev $link parent ffff: 2>/dev/null | grep -v 'index [0-9]'
done
";

pub(in super::super) fn suite() -> Suite {
    let cases = [protocol::cases(&both()), limits(), lives(), dead(), refused(), changed()].concat();
    Suite {
        plugin: "bandwidth",
        delegates: &[],
        stage: STAGE,
        prev_result: Some(result("c1", "eth0", 1)),
        scope: Scope::Host,
        more: MORE,
        cases,
    }
}

fn both() -> Value {
    with(ingress(), egress())
}

fn ingress() -> Value {
    json!({"ingressRate": 8_000_000, "ingressBurst": 1_600_000})
}

fn egress() -> Value {
    json!({"egressRate": 16_000_000, "egressBurst": 800_000})
}

fn result(container: &str, ifname: &str, number: u8) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "interfaces": [
            {"name": format!("host{number}"), "mac": format!("02:00:00:00:01:0{number}")},
            {"name": ifname, "mac": format!("02:00:00:00:02:0{number}"), "sandbox": format!("/run/netns/{container}")},
        ],
        "ips": [{"address": "10.2.0.2/24", "interface": 1}],
    })
}

/// ADD of another interface than the first container's first.
fn add_other(container: &'static str, ifname: &'static str, number: u8) -> Call {
    add_c1(container).ifname(ifname).keys(json!({"prevResult": result(container, ifname, number)}))
}

fn limits() -> Vec<Case> {
    let of = |name: &str, config: Value| case(&format!("limits/{name}"), config);
    let in_version = |version: &str| {
        let result = before_1(result("c1", "eth0", 1), version);
        with(both(), json!({"cniVersion": version, "prevResult": result}))
    };
    let add_and_del = |name: &str, config: Value| of(name, config).calls([add_c1("c1"), del("c1")]);
    vec![
        of("both", both()).del_twice(),
        of("towards-the-container", ingress()),
        of("from-the-container", egress()),
        of("of-the-runtime", json!({"runtimeConfig": {"bandwidth": both()}})),
        of("beside-those-of-the-runtime", with(egress(), json!({"runtimeConfig": {"bandwidth": ingress()}}))),
        add_and_del("none", json!({})),
        add_and_del("zeros", json!({"ingressRate": 0, "ingressBurst": 0, "egressRate": 0, "egressBurst": 0})),
        add_and_del(
            "zeros-of-the-runtime",
            json!({"runtimeConfig": {"bandwidth": {"ingressRate": 0, "ingressBurst": 0}}}),
        ),
        of("slow", json!({"ingressRate": 8_001, "ingressBurst": 40_007})),
        of("fast", json!({"egressRate": 30_000_000_000_u64, "egressBurst": 80_000_000})),
        of("a-large-burst", json!({"ingressRate": 10_000_000, "ingressBurst": 2_000_000_000})),
        of("mtu-of-the-pair", egress()).before("ip link set host1 mtu 1400"),
        of("version-0.4.0", in_version("0.4.0")),
        of("version-0.3.1", in_version("0.3.1")).calls([add_c1("c1"), del("c1")]),
        of("version-0.2.0", with(both(), json!({"cniVersion": "0.2.0"}))).calls([add_c1("c1"), del("c1")]),
    ]
}

fn lives() -> Vec<Case> {
    vec![
        case("lives/two-containers", both()).calls([
            add_c1("c1"),
            add_other("c2", "eth0", 2),
            check("c1"),
            del("c1"),
            check("c2"),
            del("c2"),
        ]),
        case("lives/two-interfaces", egress()).calls([
            add_c1("c1"),
            add_other("c1", "eth1", 3),
            del("c1").ifname("eth1"),
            del("c1"),
        ]),
        case("lives/added-twice", both()).calls([add_c1("c1"), add_c1("c1"), del("c1")]),
        case("lives/added-again", ingress()).calls([add_c1("c1"), del("c1"), add_c1("c1")]),
    ]
}

/// DEL of a container that is not what it was.
fn dead() -> Vec<Case> {
    vec![
        case("dead/no-netns", egress()).calls([
            add_c1("c1"),
            del("c1")
                .without("CNI_NETNS")
                .before("ip netns del c1; while ip link show host1 >/dev/null 2>&1; do sleep 0.05; done"),
        ]),
        case("dead/pair-is-gone", egress()).calls([add_c1("c1"), del("c1").before("ip link del host1")]),
        case("dead/no-result", egress()).calls([add_c1("c1"), del("c1").keys(json!({"prevResult": null}))]),
        case("dead/no-limits-any-more", egress())
            .calls([add_c1("c1"), del("c1").keys(json!({"egressRate": null, "egressBurst": null}))]),
        case("dead/limits-that-make-no-sense", egress())
            .calls([add_c1("c1"), del("c1").keys(json!({"egressBurst": null}))]),
        case("dead/redirection-is-gone", egress()).calls([
            add_c1("c1"),
            del("c1").before("ip link del $(ip -br link show type ifb | cut -d' ' -f1)"),
        ]),
    ]
}

fn refused() -> Vec<Case> {
    let one = |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add_c1("c1")]);
    let after = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut result = result("c1", "eth0", 1);
        change(&mut result);
        one(name, with(both(), json!({"prevResult": result})))
    };
    vec![
        one("rate-alone", json!({"ingressRate": 8_000_000})),
        one("burst-alone", json!({"egressBurst": 8_000_000})),
        one("burst-too-big", json!({"egressRate": 8_000_000, "egressBurst": 34_359_738_360_u64})),
        one("rate-is-text", json!({"ingressRate": "8M", "ingressBurst": 1_600_000})),
        one("rate-below-zero", json!({"ingressRate": -1, "ingressBurst": 1_600_000})),
        one("without-result", with(both(), json!({"prevResult": null}))),
        one("without-result-and-limits", json!({"prevResult": null})),
        one("no-such-interface", both()).calls([add_c1("c1").ifname("eth7")]),
        one("no-such-netns", both()).calls([add_c1("c1").env("CNI_NETNS", "/run/netns/none")]),
        after("no-interfaces", &|result| {
            result["interfaces"] = json!([]);
            result["ips"] = json!([]);
        }),
        after("result-of-another-host-end", &|result| result["interfaces"][0]["name"] = json!("host2")),
        after("host-end-in-a-sandbox", &|result| result["interfaces"][0]["sandbox"] = json!("eth0")),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let changed = |name: &str, config: Value, script: &'static str| {
        case(&format!("changed/{name}"), config).calls([add_c1("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", both(), "true"),
        changed("no-limit-towards-the-container", ingress(), "tc qdisc del dev host1 root"),
        changed(
            "another-limit-towards-the-container",
            ingress(),
            "tc qdisc change dev host1 root handle 1: tbf rate 1mbit burst 200000 latency 25ms",
        ),
        changed(
            "no-limit-from-the-container",
            egress(),
            "tc qdisc del dev $(ip -br link show type ifb | cut -d' ' -f1) root",
        ),
        changed("nothing-redirects", egress(), "tc qdisc del dev host1 ingress"),
        changed(
            "the-other-link-is-gone",
            egress(),
            "ip link del $(ip -br link show type ifb | cut -d' ' -f1)",
        ),
        changed("pair-is-gone", ingress(), "ip link del host1"),
        case("changed/without-result", both())
            .calls([add_c1("c1"), check("c1").keys(json!({"prevResult": null}))]),
        case("changed/other-limits-are-asked-for", ingress())
            .calls([add_c1("c1"), check("c1").keys(json!({"ingressRate": 4_000_000}))]),
    ]
}
