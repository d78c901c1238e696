//! bridge: links, addresses, routes and rules of the host and its containers.

use serde_json::{Value, json};

use super::super::case::{Case, Scope, Suite, add, case, check, del};
use super::{protocol, with};

pub(in super::super) fn suite() -> Suite {
    let usual = with_addresses(json!({}));
    let cases =
        [protocol::cases(&usual), links(), addresses(), rules(), dead(), refused(), changed()].concat();
    Suite {
        plugin: "bridge",
        delegates: &["host-local", "static"],
        stage: "for name in c1 c2; do ip netns add $name; done",
        prev_result: None,
        scope: Scope::Both,
        more: "",
        cases,
    }
}

fn with_addresses(keys: Value) -> Value {
    with(json!({"bridge": "br0", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}}), keys)
}

fn dual_stack(keys: Value) -> Value {
    let ranges = json!([[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]);
    let routes = json!([{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]);
    with(json!({"bridge": "br0", "ipam": {"type": "host-local", "ranges": ranges, "routes": routes}}), keys)
}

fn links() -> Vec<Case> {
    let l2 = |keys: Value| with(json!({"bridge": "br0"}), keys);
    vec![
        case("links/alone", l2(json!({}))).del_twice(),
        case("links/empty-ipam", l2(json!({"ipam": {}}))),
        case("links/default-name", json!({})).calls([add("c1"), del("c1")]),
        case("links/two-containers", l2(json!({}))).calls([add("c1"), add("c2"), del("c1"), del("c2")]),
        case("links/two-interfaces", l2(json!({}))).calls([
            add("c1"),
            add("c1").ifname("eth1"),
            del("c1").ifname("eth1"),
            del("c1"),
        ]),
        case("links/mtu", with_addresses(json!({"mtu": 1400}))),
        case("links/mtu-of-a-bridge-that-exists", with_addresses(json!({"mtu": 1400})))
            .before("ip link add br0 type bridge; ip link set br0 mtu 1450")
            .calls([add("c1"), del("c1")]),
        case("links/hairpin", with_addresses(json!({"hairpinMode": true}))),
        case("links/promisc", with_addresses(json!({"promiscMode": true}))),
        case("links/bridge-exists", with_addresses(json!({}))).before(
            "ip link add br0 address 02:00:00:00:00:0b type bridge; ip addr add 192.0.2.1/24 dev br0",
        ),
        case("links/added-twice", with_addresses(json!({}))).calls([
            add("c1"),
            add("c1"),
            check("c1"),
            del("c1"),
        ]),
        case("links/name-is-taken", with_addresses(json!({})))
            .before("ip -n c1 link add eth0 type veth peer name other")
            .calls([add("c1"), del("c1")]),
        case("links/mac-of-args", with_addresses(json!({}))).args("IgnoreUnknown=1;MAC=02:00:00:00:00:0a"),
        case("links/mac-of-cni-args", with_addresses(json!({"args": {"cni": {"mac": "02:00:00:00:00:0b"}}}))),
        case("links/mac-of-runtime", with_addresses(json!({"runtimeConfig": {"mac": "02:00:00:00:00:0c"}}))),
        case(
            "links/all-macs",
            with_addresses(json!({
                "runtimeConfig": {"mac": "02:00:00:00:00:0c"}, "args": {"cni": {"mac": "02:00:00:00:00:0b"}},
            })),
        )
        .args("IgnoreUnknown=1;MAC=02:00:00:00:00:0a"),
        case("links/version-0.3.1", with_addresses(json!({"cniVersion": "0.3.1"})))
            .calls([add("c1"), del("c1")]),
        case("links/version-0.2.0", with_addresses(json!({"cniVersion": "0.2.0"})))
            .calls([add("c1"), del("c1")]),
        case("links/unknown-args", with_addresses(json!({})))
            .args("IgnoreUnknown=1;K8S_POD_NAME=p")
            .calls([add("c1"), del("c1")]),
    ]
}

fn addresses() -> Vec<Case> {
    let gateway = || with_addresses(json!({"isGateway": true}));
    let given = |keys: Value| {
        let mut ipam =
            json!({"type": "static", "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.254"}]});
        ipam.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        json!({"bridge": "br0", "ipam": ipam})
    };
    let other = "ip link add br0 type bridge; ip addr add 10.1.0.77/24 dev br0";
    vec![
        case("addresses/no-gateway", with_addresses(json!({}))),
        case("addresses/gateway", gateway()),
        case("addresses/gateway-of-two", gateway()).calls([
            add("c1"),
            add("c2"),
            check("c1"),
            del("c1"),
            check("c2"),
            del("c2"),
        ]),
        case("addresses/default-gateway", with_addresses(json!({"isDefaultGateway": true}))),
        case("addresses/dual-stack", dual_stack(json!({"isGateway": true}))),
        case(
            "addresses/dual-stack-default-gateway",
            with(
                json!({"bridge": "br0", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]}}),
                json!({"isDefaultGateway": true}),
            ),
        ),
        case(
            "addresses/v6",
            json!({"bridge": "br0", "isGateway": true, "ipam": {"type": "host-local", "subnet": "fd00:1::/64", "routes": [{"dst": "::/0"}]}}),
        ),
        case("addresses/static", given(json!({}))),
        case("addresses/static-gateway", with(given(json!({})), json!({"isGateway": true}))),
        case(
            "addresses/routes",
            given(json!({"routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.168.0.0/16", "gw": "10.1.0.9"}]})),
        ),
        case(
            "addresses/default-route-twice",
            with(
                given(json!({"routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.9"}]})),
                json!({"isDefaultGateway": true}),
            ),
        ),
        case(
            "addresses/dns",
            with(
                given(json!({"dns": {"nameservers": ["192.0.2.53"]}})),
                json!({"dns": {"nameservers": ["192.0.2.54"], "search": ["a.example"]}}),
            ),
        )
        .calls([add("c1")]),
        case("addresses/dns-of-ipam", given(json!({"dns": {"nameservers": ["192.0.2.53"]}})))
            .calls([add("c1")]),
        case("addresses/bridge-has-another", gateway()).before(other).calls([add("c1"), del("c1")]),
        case(
            "addresses/bridge-has-another-and-must-change",
            with_addresses(json!({"isGateway": true, "forceAddress": true})),
        )
        .before(other)
        .calls([add("c1"), del("c1")]),
        case("addresses/bridge-has-it", gateway())
            .before("ip link add br0 type bridge; ip addr add 10.1.0.1/24 dev br0"),
        case("addresses/none", json!({"bridge": "br0", "ipam": {"type": "static"}}))
            .calls([add("c1"), del("c1")]),
        case(
            "addresses/of-the-runtime",
            json!({
                "bridge": "br0", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}, "runtimeConfig": {"ips": ["10.1.0.50"]},
            }),
        ),
        case(
            "addresses/exhausted",
            with_addresses(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/30"}})),
        )
        .calls([add("c1"), add("c2"), del("c2"), check("c1"), del("c1")]),
    ]
}

fn rules() -> Vec<Case> {
    vec![
        case("rules/masquerade", with_addresses(json!({"isGateway": true, "ipMasq": true}))).del_twice(),
        case("rules/masquerade-of-two-families", dual_stack(json!({"isGateway": true, "ipMasq": true}))),
        case(
            "rules/masquerade-of-two-containers",
            with_addresses(json!({"isGateway": true, "ipMasq": true})),
        )
        .calls([add("c1"), add("c2"), del("c1"), del("c2")]),
        case("rules/masquerade-without-gateway", with_addresses(json!({"ipMasq": true})))
            .calls([add("c1"), del("c1")]),
        case("rules/masquerade-without-ipam", json!({"bridge": "br0", "ipMasq": true}))
            .calls([add("c1"), del("c1")]),
        case("rules/masquerade-of-two-interfaces", with_addresses(json!({"ipMasq": true}))).calls([
            add("c1"),
            add("c1").ifname("eth1"),
            del("c1"),
            del("c1").ifname("eth1"),
        ]),
        case("rules/macspoofchk", with_addresses(json!({"macspoofchk": true}))),
        case("rules/macspoofchk-of-two", with_addresses(json!({"macspoofchk": true}))).calls([
            add("c1"),
            add("c2"),
            del("c1"),
            del("c2"),
        ]),
        case(
            "rules/macspoofchk-of-a-given-mac",
            with_addresses(json!({"macspoofchk": true, "runtimeConfig": {"mac": "02:00:00:00:00:0c"}})),
        )
        .calls([add("c1"), del("c1")]),
    ]
}

/// DEL of a container that is not what it was.
fn dead() -> Vec<Case> {
    let config = || with_addresses(json!({"isGateway": true, "ipMasq": true}));
    vec![
        case("dead/no-netns", config()).calls([
            add("c1"),
            del("c1").without("CNI_NETNS").before("remove_netns c1"),
            del("c1"),
        ]),
        case("dead/netns-is-gone", config()).calls([
            add("c1"),
            del("c1").before("remove_netns c1"),
            del("c1"),
        ]),
        case("dead/link-is-gone", config()).calls([
            add("c1"),
            del("c1").before("ip -n c1 link del eth0"),
            del("c1"),
        ]),
        case("dead/bridge-is-gone", config()).calls([add("c1"), del("c1").before("ip link del br0")]),
        case("dead/no-result", config()).calls([add("c1"), del("c1").keys(json!({"prevResult": null}))]),
        case("dead/netns-is-no-netns", config())
            .calls([add("c1"), del("c1").env("CNI_NETNS", "/etc/passwd")]),
        case("dead/reservation-is-gone", config()).calls([add("c1"), del("c1").before("rm $N1/10.1.0.2")]),
    ]
}

fn refused() -> Vec<Case> {
    let one =
        |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1"), del("c1")]);
    vec![
        one("hairpin-and-promisc", with_addresses(json!({"hairpinMode": true, "promiscMode": true}))),
        one("vlan-too-big", with_addresses(json!({"vlan": 4095}))),
        one("vlan-below-zero", with_addresses(json!({"vlan": -1}))),
        one("vlan-where-the-kernel-has-none", with_addresses(json!({"vlan": 10}))),
        one("mtu-is-text", with_addresses(json!({"mtu": "1400"}))),
        one("bridge-is-a-number", json!({"bridge": 1})),
        one("bridge-is-loopback", with_addresses(json!({"bridge": "lo"}))),
        one("bridge-is-a-veth", with_addresses(json!({"bridge": "other"})))
            .before("ip link add other type veth peer name another"),
        one("long-bridge", with_addresses(json!({"bridge": "a-name-of-16-byt"}))),
        one("no-ipam-plugin", with_addresses(json!({"ipam": {"type": "nothing"}}))),
        one("ipam-without-type", with_addresses(json!({"ipam": {"subnet": "10.1.0.0/24"}}))),
        one("ipam-fails", with_addresses(json!({"ipam": {"type": "host-local"}}))),
        one("mac-is-bogus", with_addresses(json!({"runtimeConfig": {"mac": "bogus"}}))),
        one("mac-of-args-is-bogus", with_addresses(json!({}))).args("IgnoreUnknown=1;MAC=bogus"),
        one("unknown-args", with_addresses(json!({}))).args("K8S_POD_NAME=p"),
        one("prev-result-in-another-version", with_addresses(json!({"prevResult": {"cniVersion": "9.9.9"}}))),
        case("refused/no-such-netns", with_addresses(json!({})))
            .calls([add("c1").env("CNI_NETNS", "/run/netns/none")]),
        case("refused/netns-is-no-netns", with_addresses(json!({})))
            .calls([add("c1").env("CNI_NETNS", "/etc/passwd")]),
        case("refused/netns-of-the-host", with_addresses(json!({})))
            .calls([add("c1").env("CNI_NETNS", "/proc/1/ns/net")]),
        case("refused/no-path", with_addresses(json!({}))).calls([add("c1").without("CNI_PATH")]),
        case("refused/path-elsewhere", with_addresses(json!({})))
            .calls([add("c1").env("CNI_PATH", "/run/none:/run/nothing")]),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let config = || {
        let mut config = with_addresses(json!({"isGateway": true}));
        config["ipam"]["routes"] = json!([{"dst": "0.0.0.0/0"}]);
        config
    };
    let changed = |name: &str, script: &'static str| {
        case(&format!("changed/{name}"), config()).calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", "true"),
        changed("no-address", "ip -n c1 addr flush dev eth0"),
        changed("another-address", "ip -n c1 addr add 10.1.0.99/24 dev eth0"),
        changed("no-default-route", "ip -n c1 route del default"),
        changed("link-is-down", "ip -n c1 link set eth0 down"),
        changed("link-is-gone", "ip -n c1 link del eth0"),
        changed("link-has-another-mac", "ip -n c1 link set eth0 address 02:00:00:00:00:0d"),
        changed("bridge-is-gone", "ip link del br0"),
        changed("bridge-has-another-mac", "ip link set br0 address 02:00:00:00:00:0d"),
        changed("bridge-is-down", "ip link set br0 down"),
        changed("bridge-has-no-address", "ip addr flush dev br0"),
        changed(
            "port-is-off-the-bridge",
            "ip link set $(ip -br link show master br0 | cut -d@ -f1) nomaster",
        ),
        changed("port-is-down", "ip link set $(ip -br link show master br0 | cut -d@ -f1) down"),
        changed("reservation-is-gone", "rm $N1/10.1.0.2"),
        case("changed/without-result", config())
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
        case("changed/of-another-container", config())
            .calls([add("c1"), check("c1").env("CNI_NETNS", "/run/netns/c2")]),
    ]
}
