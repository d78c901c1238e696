//! ptp: the pair of links, and what leads from one end to the other. Go's waits two seconds for each IPv6 address.

use serde_json::{Value, json};

use super::super::case::{Case, Scope, Suite, add, case, check, del};
use super::{protocol, with};

pub(in super::super) fn suite() -> Suite {
    let cases =
        [protocol::cases(&v4(json!({}))), links(), addresses(), dead(), refused(), changed()].concat();
    Suite {
        plugin: "ptp",
        delegates: &["host-local", "static"],
        stage: "for name in c1 c2; do ip netns add $name; done",
        prev_result: None,
        scope: Scope::Both,
        more: "",
        cases,
    }
}

fn v4(keys: Value) -> Value {
    let routes = json!([{"dst": "0.0.0.0/0"}]);
    with(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/24", "routes": routes}}), keys)
}

fn dual_stack(keys: Value) -> Value {
    let ranges = json!([[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]);
    let routes = json!([{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]);
    with(json!({"ipam": {"type": "host-local", "ranges": ranges, "routes": routes}}), keys)
}

fn given(addresses: Value, keys: Value) -> Value {
    let ipam = json!({"type": "static", "addresses": addresses});
    json!({"ipam": with(ipam, keys)})
}

fn links() -> Vec<Case> {
    vec![
        case("links/alone", v4(json!({}))).del_twice(),
        case("links/mtu", v4(json!({"mtu": 1400}))),
        case("links/two-containers", v4(json!({}))).calls([
            add("c1"),
            add("c2"),
            check("c1"),
            del("c1"),
            check("c2"),
            del("c2"),
        ]),
        case("links/two-interfaces", v4(json!({}))).calls([
            add("c1"),
            add("c1").ifname("eth1"),
            del("c1").ifname("eth1"),
            del("c1"),
        ]),
        case("links/added-twice", v4(json!({}))).calls([add("c1"), add("c1"), check("c1"), del("c1")]),
        case("links/name-is-taken", v4(json!({})))
            .before("ip -n c1 link add eth0 type veth peer name other")
            .calls([add("c1"), del("c1")]),
        case("links/version-0.3.1", v4(json!({"cniVersion": "0.3.1"}))).calls([add("c1"), del("c1")]),
        case("links/version-0.2.0", v4(json!({"cniVersion": "0.2.0"}))).calls([add("c1"), del("c1")]),
        case("links/masquerade", v4(json!({"ipMasq": true}))).del_twice(),
        case("links/masquerade-of-two", v4(json!({"ipMasq": true}))).calls([
            add("c1"),
            add("c2"),
            del("c1"),
            del("c2"),
        ]),
    ]
}

fn addresses() -> Vec<Case> {
    let usual = || json!([{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}]);
    vec![
        case("addresses/dual-stack", dual_stack(json!({"ipMasq": true}))),
        case("addresses/static", given(usual(), json!({}))),
        case(
            "addresses/routes",
            given(
                usual(),
                json!({"routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.168.0.0/16", "gw": "10.1.0.1"}]}),
            ),
        ),
        case(
            "addresses/two",
            given(
                json!([{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "10.2.0.5/24", "gateway": "10.2.0.1"}]),
                json!({}),
            ),
        ),
        case("addresses/no-gateway", given(json!([{"address": "10.1.0.5/24"}]), json!({})))
            .calls([add("c1"), del("c1")]),
        case(
            "addresses/network-of-one",
            given(json!([{"address": "10.1.0.5/32", "gateway": "10.1.0.1"}]), json!({})),
        )
        .calls([add("c1"), del("c1")]),
        case(
            "addresses/dns",
            with(
                given(usual(), json!({"dns": {"nameservers": ["192.0.2.53"]}})),
                json!({"dns": {"nameservers": ["192.0.2.54"]}}),
            ),
        )
        .calls([add("c1")]),
        case("addresses/dns-of-ipam", given(usual(), json!({"dns": {"nameservers": ["192.0.2.53"]}})))
            .calls([add("c1")]),
        case("addresses/none", json!({"ipam": {"type": "static"}})).calls([add("c1"), del("c1")]),
        case("addresses/of-the-runtime", v4(json!({"runtimeConfig": {"ips": ["10.1.0.50"]}}))),
        case("addresses/exhausted", v4(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/30"}})))
            .calls([add("c1"), add("c2"), del("c2"), check("c1"), del("c1")]),
    ]
}

/// DEL of a container that is not what it was.
fn dead() -> Vec<Case> {
    let config = || v4(json!({"ipMasq": true}));
    vec![
        case("dead/no-netns", config()).calls([
            add("c1"),
            del("c1").without("CNI_NETNS").before("remove_netns c1"),
            del("c1"),
        ]),
        case("dead/netns-is-gone", config()).calls([add("c1"), del("c1").before("remove_netns c1")]),
        case("dead/link-is-gone", config()).calls([add("c1"), del("c1").before("ip -n c1 link del eth0")]),
        case("dead/no-result", config()).calls([add("c1"), del("c1").keys(json!({"prevResult": null}))]),
        case("dead/netns-is-no-netns", config())
            .calls([add("c1"), del("c1").env("CNI_NETNS", "/etc/passwd")]),
        case("dead/ipam-plugin-is-gone", config()).calls([add("c1"), del("c1").env("CNI_PATH", "/run/none")]),
    ]
}

fn refused() -> Vec<Case> {
    let one =
        |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1"), del("c1")]);
    let to = |name: &str, netns: &'static str| {
        case(&format!("refused/{name}"), v4(json!({}))).calls([add("c1").env("CNI_NETNS", netns)])
    };
    vec![
        one("no-ipam", json!({})),
        one("empty-ipam", json!({"ipam": {}})),
        one("no-ipam-plugin", json!({"ipam": {"type": "nothing"}})),
        one("ipam-fails", json!({"ipam": {"type": "host-local"}})),
        one("mtu-is-text", v4(json!({"mtu": "1400"}))),
        one("mtu-too-big", v4(json!({"mtu": 100_000}))),
        one("masquerade-is-text", v4(json!({"ipMasq": "yes"}))),
        one("unknown-args", v4(json!({}))).args("K8S_POD_NAME=p"),
        one("prev-result-in-another-version", v4(json!({"prevResult": {"cniVersion": "9.9.9"}}))),
        to("no-such-netns", "/run/netns/none"),
        to("netns-is-no-netns", "/etc/passwd"),
        to("netns-of-the-host", "/proc/1/ns/net"),
        case("refused/no-path", v4(json!({}))).calls([add("c1").without("CNI_PATH")]),
        case("refused/path-elsewhere", v4(json!({}))).calls([add("c1").env("CNI_PATH", "/run/none")]),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let changed = |name: &str, script: &'static str| {
        case(&format!("changed/{name}"), v4(json!({}))).calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", "true"),
        changed("no-address", "ip -n c1 addr flush dev eth0"),
        changed("another-address", "ip -n c1 addr add 10.1.0.99/24 dev eth0"),
        changed("no-default-route", "ip -n c1 route del default"),
        changed("link-is-gone", "ip -n c1 link del eth0"),
        changed("link-has-another-mac", "ip -n c1 link set eth0 address 02:00:00:00:00:0d"),
        changed("host-has-no-route", "ip route del 10.1.0.2"),
        changed("reservation-is-gone", "rm $N1/10.1.0.2"),
        case("changed/without-result", v4(json!({})))
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
        case("changed/of-another-container", v4(json!({})))
            .calls([add("c1"), check("c1").env("CNI_NETNS", "/run/netns/c2")]),
    ]
}
