//! macvlan: links on a link of the host or of the container.

use serde_json::{Value, json};

use super::super::case::{Case, Scope, Suite, add, case, check, del};
use super::{protocol, with};

/// A host with a cable, and the default route by it.
const STAGE: &str = "
ip link add up0 address 02:00:00:00:00:01 type veth peer name cable address 02:00:00:00:00:02
ip link set up0 up
ip link set cable up
ip addr add 192.0.2.1/24 dev up0
ip route add default via 192.0.2.2
for name in c1 c2; do ip netns add $name; done
";

/// Removes the container; the kernel takes its link off the master in the background.
const REMOVE: &str = "
ip netns del c1
for try in {1..1200}; do
    ip -d link show up0 | grep -q 'promiscuity 0' && exit
    sleep 0.05
done
echo >&2 'the link does not go'
exit 1
";

pub(in super::super) fn suite() -> Suite {
    let usual = with_addresses(json!({}));
    let cases = [protocol::cases(&usual), links(), addresses(), dead(), refused(), changed()].concat();
    Suite {
        plugin: "macvlan",
        delegates: &["host-local", "static"],
        stage: STAGE,
        prev_result: None,
        scope: Scope::Both,
        more: "",
        cases,
    }
}

fn l2(keys: Value) -> Value {
    with(json!({"master": "up0"}), keys)
}

fn with_addresses(keys: Value) -> Value {
    with(l2(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}})), keys)
}

fn links() -> Vec<Case> {
    let mode = |mode: &str| case(&format!("links/mode-{mode}"), l2(json!({"mode": mode})));
    vec![
        case("links/alone", l2(json!({}))).del_twice(),
        case("links/default-master", json!({})),
        mode("bridge"),
        mode("private"),
        mode("vepa"),
        mode("passthru"),
        case("links/mode-passthru-of-two", l2(json!({"mode": "passthru"}))).calls([
            add("c1"),
            add("c2"),
            del("c2"),
            del("c1"),
        ]),
        case("links/mtu", l2(json!({"mtu": 1400}))),
        case("links/mtu-of-the-master", l2(json!({}))).before("ip link set up0 mtu 1450"),
        case("links/mac", l2(json!({"mac": "02:00:00:00:00:0a"}))),
        case("links/mac-of-args", l2(json!({}))).args("IgnoreUnknown=1;MAC=02:00:00:00:00:0b"),
        case("links/mac-of-runtime", l2(json!({"runtimeConfig": {"mac": "02:00:00:00:00:0c"}}))),
        case(
            "links/all-macs",
            l2(json!({"mac": "02:00:00:00:00:0a", "runtimeConfig": {"mac": "02:00:00:00:00:0c"}})),
        )
        .args("IgnoreUnknown=1;MAC=02:00:00:00:00:0b"),
        case("links/two-containers", l2(json!({}))).calls([add("c1"), add("c2"), del("c1"), del("c2")]),
        case("links/two-interfaces", l2(json!({}))).calls([
            add("c1"),
            add("c1").ifname("eth1"),
            del("c1").ifname("eth1"),
            del("c1"),
        ]),
        case("links/added-twice", l2(json!({}))).calls([add("c1"), add("c1"), check("c1"), del("c1")]),
        case("links/name-is-taken", l2(json!({})))
            .before("ip -n c1 link add eth0 type veth peer name other")
            .calls([add("c1"), del("c1")]),
        case("links/version-0.3.1", with_addresses(json!({"cniVersion": "0.3.1"})))
            .calls([add("c1"), del("c1")]),
        case("links/version-0.2.0", with_addresses(json!({"cniVersion": "0.2.0"})))
            .calls([add("c1"), del("c1")]),
    ]
}

fn addresses() -> Vec<Case> {
    let given = |keys: Value| {
        let ipam = json!({"type": "static", "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00:1::5/64"}]});
        l2(json!({"ipam": with(ipam, keys)}))
    };
    vec![
        case("addresses/one", with_addresses(json!({}))).del_twice(),
        case("addresses/static", given(json!({}))),
        case(
            "addresses/routes",
            given(json!({"routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.168.0.0/16", "gw": "10.1.0.9"}]})),
        ),
        case(
            "addresses/dns",
            with(
                given(json!({"dns": {"nameservers": ["192.0.2.53"]}})),
                json!({"dns": {"nameservers": ["192.0.2.54"]}}),
            ),
        )
        .calls([add("c1")]),
        case("addresses/dns-of-ipam", given(json!({"dns": {"nameservers": ["192.0.2.53"]}})))
            .calls([add("c1")]),
        case("addresses/none", l2(json!({"ipam": {"type": "static"}}))).calls([add("c1"), del("c1")]),
        case("addresses/exhausted", l2(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/30"}})))
            .calls([add("c1"), add("c2"), del("c2"), check("c1"), del("c1")]),
    ]
}

/// DEL of a container that is not what it was.
fn dead() -> Vec<Case> {
    let config = || with_addresses(json!({}));
    vec![
        case("dead/no-netns", config()).calls([add("c1"), del("c1").without("CNI_NETNS").before(REMOVE)]),
        case("dead/netns-is-gone", config()).calls([add("c1"), del("c1").before(REMOVE)]),
        case("dead/link-is-gone", config()).calls([add("c1"), del("c1").before("ip -n c1 link del eth0")]),
        case("dead/master-is-gone", config()).calls([add("c1"), del("c1").before("ip link del up0")]),
        case("dead/no-default-route", json!({})).calls([add("c1"), del("c1").before("ip route del default")]),
        case("dead/no-result", config()).calls([add("c1"), del("c1").keys(json!({"prevResult": null}))]),
        case("dead/ipam-plugin-is-gone", config()).calls([add("c1"), del("c1").env("CNI_PATH", "/run/none")]),
    ]
}

fn refused() -> Vec<Case> {
    let one =
        |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1"), del("c1")]);
    vec![
        one("mode", with_addresses(json!({"mode": "source"}))),
        one("mtu-above-the-masters", with_addresses(json!({"mtu": 9000}))),
        one("mtu-below-zero", with_addresses(json!({"mtu": -1}))),
        one("mtu-is-text", with_addresses(json!({"mtu": "1400"}))),
        one("mac-is-bogus", with_addresses(json!({"mac": "bogus"}))),
        one("mac-of-args-is-bogus", with_addresses(json!({}))).args("IgnoreUnknown=1;MAC=bogus"),
        one("no-such-master", with_addresses(json!({"master": "none"}))),
        one("no-default-route", with_addresses(json!({"master": null}))).before("ip route del default"),
        one("no-ipam-plugin", with_addresses(json!({"ipam": {"type": "nothing"}}))),
        one("ipam-fails", with_addresses(json!({"ipam": {"type": "host-local"}}))),
        one("unknown-args", with_addresses(json!({}))).args("K8S_POD_NAME=p"),
        case("refused/no-such-netns", with_addresses(json!({})))
            .calls([add("c1").env("CNI_NETNS", "/run/netns/none")]),
        case("refused/netns-is-no-netns", with_addresses(json!({})))
            .calls([add("c1").env("CNI_NETNS", "/etc/passwd")]),
        case("refused/path-elsewhere", with_addresses(json!({})))
            .calls([add("c1").env("CNI_PATH", "/run/none")]),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let config = || {
        let mut config = with_addresses(json!({}));
        config["ipam"]["routes"] = json!([{"dst": "0.0.0.0/0"}]);
        config
    };
    let changed = |name: &str, script: &'static str| {
        case(&format!("changed/{name}"), config()).calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", "true"),
        changed("no-address", "ip -n c1 addr flush dev eth0"),
        changed("no-default-route", "ip -n c1 route del default"),
        changed("link-is-down", "ip -n c1 link set eth0 down"),
        changed("link-is-gone", "ip -n c1 link del eth0"),
        changed(
            "link-is-of-another-kind",
            "ip -n c1 link del eth0; ip -n c1 link add eth0 type veth peer name other",
        ),
        changed("link-has-another-mac", "ip -n c1 link set eth0 address 02:00:00:00:00:0d"),
        changed("link-has-another-mode", "ip -n c1 link set eth0 type macvlan mode private"),
        changed("reservation-is-gone", "rm $N1/10.1.0.2"),
        case("changed/without-result", config())
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
        case("changed/of-another-container", config())
            .calls([add("c1"), check("c1").env("CNI_NETNS", "/run/netns/c2")]),
    ]
}
