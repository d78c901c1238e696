//! host-device: a device of the host that goes into a container and comes back.

use serde_json::{Value, json};

use super::super::case::{Case, Scope, Suite, add, case, check, del};
use super::{protocol, with};

/// A host with a device.
const STAGE: &str = "
ip link add ens5 address 02:00:00:00:00:0e type veth peer name cable address 02:00:00:00:00:06
ip link set ens5 up
ip link set cable up
ip addr add 192.0.2.7/24 dev ens5
for name in c1 c2; do ip netns add $name; done
";

pub(in super::super) fn suite() -> Suite {
    let cases =
        [protocol::cases(&l2(json!({}))), moved(), addresses(), dead(), refused(), changed()].concat();
    Suite {
        plugin: "host-device",
        delegates: &["host-local", "static"],
        stage: STAGE,
        prev_result: None,
        scope: Scope::Both,
        more: "",
        cases,
    }
}

fn l2(keys: Value) -> Value {
    with(json!({"device": "ens5"}), keys)
}

fn with_addresses(keys: Value) -> Value {
    let routes = json!([{"dst": "0.0.0.0/0"}]);
    with(l2(json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/24", "routes": routes}})), keys)
}

fn moved() -> Vec<Case> {
    vec![
        case("moved/by-name", l2(json!({}))),
        case("moved/by-hardware-address", json!({"hwaddr": "02:00:00:00:00:0e"})),
        case("moved/by-hardware-address-in-upper-case", json!({"hwaddr": "02:00:00:00:00:0E"})),
        case("moved/by-name-before-hardware-address", l2(json!({"hwaddr": "02:00:00:00:00:06"}))),
        case("moved/that-is-down", l2(json!({}))).before("ip link set ens5 down"),
        case("moved/with-an-mtu", l2(json!({}))).before("ip link set ens5 mtu 1400"),
        case("moved/del-twice", l2(json!({}))).del_twice(),
        case("moved/twice", l2(json!({}))).calls([add("c1"), add("c1"), check("c1"), del("c1")]),
        case("moved/to-two", l2(json!({}))).calls([add("c1"), add("c2"), check("c1"), del("c1")]),
        case("moved/again", l2(json!({}))).calls([add("c1"), del("c1"), add("c2"), del("c2")]),
        case("moved/name-is-taken-in-the-container", l2(json!({})))
            .before("ip -n c1 link add eth0 type veth peer name other")
            .calls([add("c1")]),
        case("moved/device-name-is-taken-in-the-container", l2(json!({})))
            .before("ip -n c1 link add ens5 type veth peer name other")
            .calls([add("c1"), check("c1")]),
        case("moved/version-0.3.1", l2(json!({"cniVersion": "0.3.1"}))).calls([add("c1"), del("c1")]),
        case("moved/version-0.2.0", with_addresses(json!({"cniVersion": "0.2.0"})))
            .calls([add("c1"), del("c1")]),
    ]
}

fn addresses() -> Vec<Case> {
    let given = |keys: Value| {
        let ipam = json!({"type": "static", "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00:1::5/64"}]});
        l2(json!({"ipam": with(ipam, keys)}))
    };
    vec![
        case("addresses/one", with_addresses(json!({}))),
        case(
            "addresses/static",
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
        case("addresses/none", l2(json!({"ipam": {"type": "static"}}))).calls([add("c1")]),
    ]
}

/// DEL of a container that is not what it was.
fn dead() -> Vec<Case> {
    let config = || with_addresses(json!({}));
    vec![
        case("dead/no-netns", config()).calls([add("c1"), del("c1").without("CNI_NETNS")]),
        case("dead/netns-is-gone", config()).calls([add("c1"), del("c1").before("remove_netns c1")]),
        case("dead/link-is-gone", config()).calls([add("c1"), del("c1").before("ip -n c1 link del eth0")]),
        case("dead/no-result", config()).calls([add("c1"), del("c1").keys(json!({"prevResult": null}))]),
        case("dead/link-of-another", config()).calls([
            add("c1"),
            del("c1").before("ip -n c1 link set eth0 down; ip -n c1 link set eth0 name other; ip -n c1 link add eth0 type veth peer name another"),
        ]),
    ]
}

fn refused() -> Vec<Case> {
    let one = |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1")]);
    vec![
        one("nothing-is-named", json!({})),
        one("no-such-device", json!({"device": "none"})),
        one("no-such-hardware-address", json!({"hwaddr": "02:00:00:00:00:77"})),
        one("hardware-address-is-bogus", json!({"hwaddr": "bogus"})),
        one("no-such-path", json!({"kernelpath": "/sys/devices/none"})),
        one("path-elsewhere", json!({"kernelpath": "/etc/passwd"})),
        one("no-such-bus-address", json!({"pciBusID": "0000:99:00.0"})),
        one("no-such-device-of-the-runtime", json!({"runtimeConfig": {"deviceID": "0000:99:00.0"}})),
        one("device-is-a-number", json!({"device": 5})),
        one("no-ipam-plugin", l2(json!({"ipam": {"type": "nothing"}}))),
        one("ipam-fails", l2(json!({"ipam": {"type": "host-local"}}))),
        one("no-such-netns", l2(json!({}))).calls([add("c1").env("CNI_NETNS", "/run/netns/none")]),
        one("netns-is-no-netns", l2(json!({}))).calls([add("c1").env("CNI_NETNS", "/etc/passwd")]),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let changed = |name: &str, script: &'static str| {
        case(&format!("changed/{name}"), with_addresses(json!({})))
            .calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", "true"),
        changed("no-address", "ip -n c1 addr flush dev eth0"),
        changed("no-default-route", "ip -n c1 route del default"),
        changed("link-is-down", "ip -n c1 link set eth0 down"),
        changed("link-is-gone", "ip -n c1 link del eth0"),
        changed("link-has-another-mac", "ip -n c1 link set eth0 address 02:00:00:00:00:0d"),
        changed("reservation-is-gone", "rm $N1/10.1.0.2"),
        case("changed/without-result", l2(json!({})))
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
        case("changed/of-another-container", l2(json!({})))
            .calls([add("c1"), check("c1").env("CNI_NETNS", "/run/netns/c2")]),
    ]
}
