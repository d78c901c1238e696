//! tuning: settings of a container and its interface, and what they were.

use serde_json::{Value, json};

use super::super::case::{Case, Scope, Suite, add, case, check, del};
use super::protocol;

/// A container whose interface another plugin has made.
const STAGE: &str = "
ip netns add c1
ip link add vhost address 02:00:00:00:00:01 type veth peer name eth0 address 02:00:00:00:00:02 netns c1
ip link set vhost up
ip -n c1 addr add 10.2.0.2/24 dev eth0
ip -n c1 link set eth0 up
";

pub(in super::super) fn suite() -> Suite {
    let usual = json!({"mtu": 1400});
    let cases =
        [protocol::cases(&usual), sysctls(), links(), sources(), files(), refused(), changed()].concat();
    let prev_result = json!({
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "vhost", "mac": "02:00:00:00:00:01"}, {"name": "eth0", "mac": "02:00:00:00:00:02", "sandbox": "/run/netns/c1"}],
        "ips": [{"address": "10.2.0.2/24", "interface": 1}],
    });
    Suite {
        plugin: "tuning",
        delegates: &[],
        stage: STAGE,
        prev_result: Some(prev_result),
        scope: Scope::Containers,
        more: "",
        cases,
    }
}

fn sysctls() -> Vec<Case> {
    let set = |name: &str, sysctl: Value| case(&format!("sysctls/{name}"), json!({"sysctl": sysctl}));
    let bad = |name: &str, sysctl: Value| set(name, sysctl).calls([add("c1"), del("c1")]);
    vec![
        set("one", json!({"net.core.somaxconn": "500"})),
        set("two", json!({"net.core.somaxconn": "500", "net.ipv4.ip_nonlocal_bind": "1"})),
        set("slashes", json!({"net/core/somaxconn": "500"})),
        set("of-the-interface", json!({"net.ipv4.conf.IFNAME.log_martians": "1"})),
        set("several-values", json!({"net.ipv4.ip_local_port_range": "20000 30000"})),
        set("several-values-with-tab", json!({"net.ipv4.ip_local_port_range": "20000\t30000"})),
        set("none", json!({})),
        bad("not-there", json!({"net.core.nothing": "1"})),
        bad("a-bad-value", json!({"net.core.somaxconn": "many"})),
        bad("not-of-networks", json!({"kernel.hostname": "x"})),
        bad("out-of-networks", json!({"net/../kernel/hostname": "x"})),
        bad("a-number", json!({"net.core.somaxconn": 500})),
        case("sysctls/duplicate", json!({})).calls([add("c1").stdin(
            r#"{"cniVersion": "1.0.0", "name": "n1", "type": "tuning", "sysctl": {"net.core.somaxconn": "1", "net.core.somaxconn": "2"}, "prevResult": {}}"#,
        )]),
        set("allowed", json!({"net.core.somaxconn": "500"}))
            .before("mkdir -p /etc/cni/tuning; echo '^net.core.somaxconn$' >/etc/cni/tuning/allowlist.conf"),
        bad("not-allowed", json!({"net.ipv4.ip_nonlocal_bind": "1"}))
            .before("mkdir -p /etc/cni/tuning; printf '^net.core.somaxconn$\\n^net.ipv4.conf' >/etc/cni/tuning/allowlist.conf"),
        bad("none-allowed", json!({"net.core.somaxconn": "500"}))
            .before("mkdir -p /etc/cni/tuning; : >/etc/cni/tuning/allowlist.conf"),
        case("sysctls/before-a-failure", json!({"sysctl": {"net.core.somaxconn": "500"}, "mtu": 100_000})).calls([add("c1"), del("c1")]),
    ]
}

fn links() -> Vec<Case> {
    vec![
        case("links/mac", json!({"mac": "02:00:00:00:00:0a"})),
        case("links/mac-in-upper-case", json!({"mac": "02:00:00:00:00:0A"})),
        case("links/mtu", json!({"mtu": 1400})).del_twice(),
        case("links/promisc", json!({"promisc": true})),
        case("links/allmulti", json!({"allmulti": true})),
        case("links/allmulti-off", json!({"allmulti": false})),
        case(
            "links/everything",
            json!({"mac": "02:00:00:00:00:0a", "mtu": 1300, "promisc": true, "allmulti": true, "sysctl": {"net.core.somaxconn": "500"}}),
        ),
        case("links/nothing", json!({})),
        case("links/off", json!({"mac": "", "mtu": 0, "promisc": false})),
        case("links/mtu-too-big", json!({"mtu": 100_000})).calls([add("c1"), del("c1")]),
        case("links/mtu-below-zero", json!({"mtu": -1})).calls([add("c1"), del("c1")]),
        case("links/mac-is-bogus", json!({"mac": "bogus"})).calls([add("c1"), del("c1")]),
        case("links/mac-of-a-group", json!({"mac": "01:00:00:00:00:0a"})).calls([add("c1"), del("c1")]),
        case("links/second-fails", json!({"mac": "02:00:00:00:00:0a", "mtu": 100_000}))
            .calls([add("c1"), del("c1")]),
        case("links/no-such-interface", json!({"mtu": 1400}))
            .calls([add("c1").ifname("eth7"), del("c1").ifname("eth7")]),
        case("links/no-such-netns", json!({"mtu": 1400}))
            .calls([add("c1").env("CNI_NETNS", "/run/netns/none")]),
    ]
}

fn sources() -> Vec<Case> {
    vec![
        case("sources/args", json!({})).args("MAC=02:00:00:00:00:0b"),
        case("sources/runtime", json!({"mac": "02:00:00:00:00:0a", "runtimeConfig": {"mac": "02:00:00:00:00:0c"}})),
        case("sources/cni-args", json!({"mtu": 1300, "args": {"cni": {"mtu": 1200, "promisc": true, "allmulti": true, "mac": "02:00:00:00:00:0d"}}})),
        case("sources/all", json!({
            "mac": "02:00:00:00:00:0a", "runtimeConfig": {"mac": "02:00:00:00:00:0c"}, "args": {"cni": {"mac": "02:00:00:00:00:0d"}},
        }))
        .args("MAC=02:00:00:00:00:0b"),
        case("sources/sysctls-of-cni-args", json!({"sysctl": {"net.core.somaxconn": "500"}, "args": {"cni": {"sysctl": {"net.core.somaxconn": "600"}}}})),
        case("sources/sysctls-of-cni-args-alone", json!({"args": {"cni": {"sysctl": {"net.core.somaxconn": "600"}}}})).calls([add("c1"), del("c1")]),
        case("sources/unknown-args", json!({})).args("K8S_POD_NAME=p").calls([add("c1")]),
        case("sources/unknown-args-ignored", json!({})).args("IgnoreUnknown=1;K8S_POD_NAME=p").calls([add("c1")]),
    ]
}

fn files() -> Vec<Case> {
    vec![
        case("files/data-dir", json!({"mtu": 1400, "dataDir": "/run/cni/elsewhere"})),
        case("files/added-twice", json!({"mtu": 1400})).calls([
            add("c1"),
            add("c1").keys(json!({"mtu": 1300})),
            del("c1"),
        ]),
        case("files/damaged", json!({"mtu": 1400}))
            .calls([add("c1"), del("c1").before("echo '{\"mtu\":' >/run/cni/tuning/c1_eth0.json")]),
        case("files/removed", json!({"mtu": 1400}))
            .calls([add("c1"), del("c1").before("rm /run/cni/tuning/c1_eth0.json")]),
        case("files/del-without-netns", json!({"mtu": 1400}))
            .calls([add("c1"), del("c1").without("CNI_NETNS")]),
        case("files/netns-is-gone", json!({"mtu": 1400}))
            .calls([add("c1"), del("c1").before("remove_netns c1")]),
        case("files/interface-is-gone", json!({"mtu": 1400}))
            .calls([add("c1"), del("c1").before("ip -n c1 link del eth0")]),
        case("files/data-dir-is-a-file", json!({"mtu": 1400, "dataDir": "/run/file"}))
            .before("touch /run/file")
            .calls([add("c1"), del("c1")]),
    ]
}

fn refused() -> Vec<Case> {
    vec![
        case("refused/without-result", json!({"mtu": 1400}))
            .calls([add("c1").keys(json!({"prevResult": null})), del("c1")]),
        case("refused/mtu-is-text", json!({"mtu": "1400"})).calls([add("c1"), del("c1")]),
        case("refused/sysctl-is-a-list", json!({"sysctl": ["net.core.somaxconn"]})).calls([add("c1")]),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let changed = |name: &str, config: Value, script: &'static str| {
        case(&format!("changed/{name}"), config).calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed(
            "sysctl",
            json!({"sysctl": {"net.core.somaxconn": "500"}}),
            "ip netns exec c1 sysctl -qw net.core.somaxconn=501",
        ),
        changed("mtu", json!({"mtu": 1400}), "ip -n c1 link set eth0 mtu 1399"),
        changed(
            "mac",
            json!({"mac": "02:00:00:00:00:0a"}),
            "ip -n c1 link set eth0 address 02:00:00:00:00:0f",
        ),
        changed("promisc", json!({"promisc": true}), "ip -n c1 link set eth0 promisc off"),
        changed("allmulti", json!({"allmulti": true}), "ip -n c1 link set eth0 allmulticast off"),
        changed("promisc-of-others", json!({"mtu": 1400}), "ip -n c1 link set eth0 promisc on"),
        changed("interface", json!({"mtu": 1400}), "ip -n c1 link del eth0"),
        case("changed/without-result", json!({"mtu": 1400}))
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
    ]
}
