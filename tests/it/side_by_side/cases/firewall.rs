//! firewall: the rules of iptables that let a container's traffic through. Debian's release knows no `isolated`.

use serde_json::{Value, json};

use super::super::case::{Call, Case, Scope, Suite, add, case, check, del};
use super::{before_1, protocol, with};

/// Two containers on a bridge.
const STAGE: &str = "
ip link add br0 address 02:00:00:00:00:01 type bridge
ip link set br0 up
ip addr add 10.2.0.1/24 dev br0
for number in 1 2; do
    ip netns add c$number
    ip link add port$number address 02:00:00:00:01:0$number type veth peer name eth0 address 02:00:00:00:02:0$number netns c$number
    ip link set port$number master br0 up
done
";

pub(in super::super) fn suite() -> Suite {
    let cases = [protocol::cases(&json!({})), rules(), lives(), refused(), changed()].concat();
    Suite {
        plugin: "firewall",
        delegates: &[],
        stage: STAGE,
        prev_result: Some(result(1, &["10.2.0.11/24"])),
        scope: Scope::Host,
        more: "",
        cases,
    }
}

fn result(container: u8, addresses: &[&str]) -> Value {
    let ips: Vec<_> = addresses.iter().map(|address| json!({"address": address, "interface": 2})).collect();
    json!({
        "cniVersion": "1.0.0",
        "interfaces": [
            {"name": "br0", "mac": "02:00:00:00:00:01"},
            {"name": format!("port{container}"), "mac": format!("02:00:00:00:01:0{container}")},
            {"name": "eth0", "mac": format!("02:00:00:00:02:0{container}"), "sandbox": format!("/run/netns/c{container}")},
        ],
        "ips": ips,
    })
}

/// A configuration after a plugin that has given these addresses.
fn after(addresses: &[&str]) -> Value {
    json!({"prevResult": result(1, addresses)})
}

/// ADD of the other container.
fn add_c2() -> Call {
    add("c2").keys(json!({"prevResult": result(2, &["10.2.0.12/24"])}))
}

const SAME_BRIDGE: &str = "same-bridge";

fn rules() -> Vec<Case> {
    let policy = |policy: &str| json!({"ingressPolicy": policy});
    vec![
        case("rules/v4", json!({})).del_twice(),
        case("rules/backend-is-named", json!({"backend": "iptables"})),
        case("rules/v6", after(&["fd00:2::11/64"])),
        case("rules/dual-stack", after(&["10.2.0.11/24", "fd00:2::11/64"])),
        case("rules/two-addresses", after(&["10.2.0.11/24", "10.3.0.11/24"])),
        case("rules/admin-chain", json!({"iptablesAdminChainName": "MY-ADMIN"})),
        case("rules/open", policy("open")),
        case("rules/same-bridge", policy(SAME_BRIDGE)),
        case(
            "rules/same-bridge-dual-stack",
            with(after(&["10.2.0.11/24", "fd00:2::11/64"]), policy(SAME_BRIDGE)),
        ),
        case("rules/same-bridge-of-two", policy(SAME_BRIDGE)).calls([
            add("c1"),
            add_c2(),
            check("c1"),
            del("c1"),
            del("c2"),
        ]),
        case("rules/others-are-there", json!({}))
            .before("iptables -P FORWARD DROP; iptables -A FORWARD -s 192.0.2.0/24 -j ACCEPT"),
        case("rules/admin-chain-has-rules", json!({}))
            .before("iptables -N CNI-ADMIN; iptables -A CNI-ADMIN -s 192.0.2.0/24 -j DROP"),
        case(
            "rules/version-0.4.0",
            json!({
                "cniVersion": "0.4.0", "prevResult": before_1(result(1, &["10.2.0.11/24"]), "0.4.0"),
            }),
        ),
    ]
}

fn lives() -> Vec<Case> {
    vec![
        case("lives/two-containers", json!({})).calls([
            add("c1"),
            add_c2(),
            check("c1"),
            del("c1"),
            check("c2"),
            del("c2"),
        ]),
        case("lives/added-twice", json!({})).calls([add("c1"), add("c1"), check("c1"), del("c1")]),
        case("lives/added-again", json!({})).calls([add("c1"), del("c1"), add("c1")]),
        case("lives/del-without-netns", json!({})).calls([add("c1"), del("c1").without("CNI_NETNS")]),
        case("lives/del-without-result", json!({}))
            .calls([add("c1"), del("c1").keys(json!({"prevResult": null}))]),
        case("lives/del-where-rules-are-gone", json!({}))
            .calls([add("c1"), del("c1").before("iptables -F CNI-FORWARD")]),
        case("lives/del-where-chains-are-gone", json!({}))
            .calls([add("c1"), del("c1").before("iptables -F; iptables -X")]),
    ]
}

fn refused() -> Vec<Case> {
    let one =
        |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1"), del("c1")]);
    vec![
        one("without-result", json!({"prevResult": null})),
        one("policy", json!({"ingressPolicy": "closed"})),
        one("backend", json!({"backend": "pf"})),
        one("admin-chain-is-a-number", json!({"iptablesAdminChainName": 1})),
        one(
            "same-bridge-without-interfaces",
            json!({
                "ingressPolicy": SAME_BRIDGE,
                "prevResult": {"cniVersion": "1.0.0", "ips": [{"address": "10.2.0.11/24"}]},
            }),
        ),
        one("no-addresses", after(&[])),
        one("version-0.3.1", json!({"cniVersion": "0.3.1"})),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let changed = |name: &str, script: &'static str| {
        case(&format!("changed/{name}"), json!({})).calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", "true"),
        changed(
            "no-rule-towards",
            "iptables -D CNI-FORWARD -d 10.2.0.11/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
        ),
        changed("no-rule-from", "iptables -D CNI-FORWARD -s 10.2.0.11/32 -j ACCEPT"),
        changed(
            "no-jump",
            "iptables -D FORWARD -m comment --comment 'CNI firewall plugin rules' -j CNI-FORWARD",
        ),
        changed("no-chains", "iptables -F; iptables -X"),
        changed("further-rules", "iptables -I FORWARD -s 192.0.2.0/24 -j DROP"),
        case("changed/without-result", json!({}))
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
        case("changed/no-isolation", json!({"ingressPolicy": SAME_BRIDGE}))
            .calls([add("c1"), check("c1").before("iptables -F CNI-ISOLATION-STAGE-2")]),
    ]
}
