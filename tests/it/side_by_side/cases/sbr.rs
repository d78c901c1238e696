//! sbr: rules and tables of a container with two interfaces.

use serde_json::{Value, json};

use super::super::case::{Case, Scope, Suite, add, case, check, del};
use super::{before_1, protocol, with};

/// A container with the default route by another interface, and a route by the one that is asked for.
const STAGE: &str = "
ip netns add c1
for number in 1 2; do
    name=net1; (( number == 1 )) || name=eth0
    ip link add host$number address 02:00:00:00:01:0$number type veth peer name $name address 02:00:00:00:02:0$number netns c1
    ip link set host$number up
    ip -n c1 link set $name up
    ip -n c1 addr add 10.$number.0.5/24 dev $name
done
ip -n c1 addr add 10.2.0.6/24 dev eth0
ip -n c1 route add default via 10.1.0.1
ip -n c1 route add 10.9.0.0/16 via 10.2.0.1
";

/// What makes it one of two families.
const DUAL_STACK: &str = "
ip -n c1 addr add fd00:1::5/64 dev net1 nodad
ip -n c1 addr add fd00:2::5/64 dev eth0 nodad
ip -n c1 -6 route add default via fd00:1::1
";

/// The tables that are nobody's by themselves, and what leads there.
const MORE: &str = r#"
ip "$@" -4 rule
ip "$@" -6 rule
ip "$@" -4 route show table all | grep ' table [0-9]'
ip "$@" -6 route show table all | grep ' table [0-9]'
"#;

pub(in super::super) fn suite() -> Suite {
    let cases = [protocol::cases(&json!({})), lives(), dead(), refused(), changed()].concat();
    Suite {
        plugin: "sbr",
        delegates: &[],
        stage: STAGE,
        prev_result: Some(result(&v4())),
        scope: Scope::Containers,
        more: MORE,
        cases,
    }
}

fn v4() -> Value {
    json!([{"address": "10.2.0.5/24", "gateway": "10.2.0.1", "interface": 1}])
}

fn result(addresses: &Value) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "interfaces": [
            {"name": "host2", "mac": "02:00:00:00:01:02"},
            {"name": "eth0", "mac": "02:00:00:00:02:02", "sandbox": "/run/netns/c1"},
        ],
        "ips": addresses,
    })
}

/// A configuration after a plugin that has given these addresses.
fn after(addresses: Value) -> Value {
    json!({"prevResult": result(&addresses)})
}

fn lives() -> Vec<Case> {
    let v6 = || json!({"address": "fd00:2::5/64", "gateway": "fd00:2::1", "interface": 1});
    vec![
        case("lives/v4", json!({})).del_twice(),
        case("lives/v6", after(json!([v6()]))).before(DUAL_STACK),
        case("lives/dual-stack", after(json!([v4()[0], v6()]))).before(DUAL_STACK),
        case("lives/v4-of-two-families", json!({})).before(DUAL_STACK),
        case(
            "lives/two-addresses",
            after(json!([v4()[0], {"address": "10.2.0.6/24", "gateway": "10.2.0.1", "interface": 1}])),
        ),
        case("lives/no-gateway", after(json!([{"address": "10.2.0.5/24", "interface": 1}]))),
        case(
            "lives/address-without-interface",
            after(json!([{"address": "10.2.0.5/24", "gateway": "10.2.0.1"}])),
        ),
        case("lives/both-interfaces", json!({})).calls([
            add("c1"),
            add("c1").ifname("net1").keys(json!({"prevResult": {
                "cniVersion": "1.0.0",
                "interfaces": [{"name": "net1", "mac": "02:00:00:00:02:01", "sandbox": "/run/netns/c1"}],
                "ips": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1", "interface": 0}],
            }})),
            del("c1").ifname("net1"),
            del("c1"),
        ]),
        case("lives/added-twice", json!({})).calls([add("c1"), add("c1"), del("c1")]),
        case("lives/added-again", json!({})).calls([add("c1"), del("c1"), add("c1")]),
        case("lives/a-table-with-a-rule", json!({})).before("ip -n c1 rule add from 10.77.0.1 table 100"),
        case(
            "lives/version-0.3.1",
            json!({"cniVersion": "0.3.1", "prevResult": before_1(result(&v4()), "0.3.1")}),
        )
        .calls([add("c1"), del("c1")]),
    ]
}

/// DEL of a container that is not what it was.
fn dead() -> Vec<Case> {
    vec![
        case("dead/no-netns", json!({})).calls([add("c1"), del("c1").without("CNI_NETNS")]),
        case("dead/netns-is-gone", json!({}))
            .calls([add("c1"), del("c1").env("CNI_NETNS", "/run/netns/none")]),
        case("dead/link-is-gone", json!({})).calls([add("c1"), del("c1").before("ip -n c1 link del eth0")]),
        case("dead/addresses-are-gone", json!({}))
            .calls([add("c1"), del("c1").before("ip -n c1 addr flush dev eth0")]),
        case("dead/no-result", json!({})).calls([add("c1"), del("c1").keys(json!({"prevResult": null}))]),
        case("dead/rules-are-gone", json!({}))
            .calls([add("c1"), del("c1").before("ip -n c1 rule del from 10.2.0.5")]),
    ]
}

fn refused() -> Vec<Case> {
    let one = |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1")]);
    vec![
        one("without-result", json!({"prevResult": null})),
        one("no-addresses", after(json!([]))),
        one("gateway-out-of-reach", after(json!([with(v4()[0].clone(), json!({"gateway": "192.0.2.77"}))]))),
        one("no-such-interface", json!({})).calls([add("c1").ifname("eth7")]),
        one("no-such-netns", json!({})).calls([add("c1").env("CNI_NETNS", "/run/netns/none")]),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let changed = |name: &str, script: &'static str| {
        case(&format!("changed/{name}"), json!({})).calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", "true"),
        changed("no-rule", "ip -n c1 rule del from 10.2.0.5"),
        changed("no-default-route", "ip -n c1 route del default table 100"),
        changed("link-is-gone", "ip -n c1 link del eth0"),
        case("changed/without-result", json!({}))
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
    ]
}
