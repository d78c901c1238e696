//! portmap: the rules that lead from a port of the host to a container. Debian's release knows iptables alone.

use serde_json::{Value, json};

use super::super::case::{Call, Case, Scope, Suite, add, check as check_of_both, del};
use super::protocol;

/// Two containers on a bridge.
const STAGE: &str = "
mkdir /run/v4 /run/v6
for tool in tables tables-restore tables-save; do
    ln -s $(command -v ip$tool) /run/v4
    ln -s $(command -v ip6$tool) /run/v6
done
ip link add br0 address 02:00:00:00:00:01 type bridge
ip link set br0 up
ip addr add 10.2.0.1/24 dev br0
ip addr add fd00:2::1/64 dev br0 nodad
for number in 1 2; do
    ip netns add c$number
    ip link add port$number address 02:00:00:00:01:0$number type veth peer name eth0 address 02:00:00:00:02:0$number netns c$number
    ip link set port$number master br0 up
    ip -n c$number addr add 10.2.0.1$number/24 dev eth0
    ip -n c$number addr add fd00:2::1$number/64 dev eth0 nodad
    ip -n c$number link set eth0 up
done
";

/// The usual life of a container, with a CHECK that Go's can do.
fn case(name: &str, config: Value) -> Case {
    super::super::case::case(name, config).calls([add("c1"), check("c1"), del("c1")])
}

pub(in super::super) fn suite() -> Suite {
    let usual = ports(json!([tcp(8080, 80)]));
    let cases = [protocol::cases(&usual), mappings(), options(), lives(), refused(), changed()].concat();
    Suite {
        plugin: "portmap",
        delegates: &[],
        stage: STAGE,
        prev_result: Some(result(&["10.2.0.11/24"])),
        scope: Scope::Host,
        more: "",
        cases,
    }
}

fn result(addresses: &[&str]) -> Value {
    let ips: Vec<_> = addresses.iter().map(|address| json!({"address": address, "interface": 2})).collect();
    json!({
        "cniVersion": "1.0.0",
        "interfaces": [
            {"name": "br0", "mac": "02:00:00:00:00:01"},
            {"name": "port1", "mac": "02:00:00:00:01:01"},
            {"name": "eth0", "mac": "02:00:00:00:02:01", "sandbox": "/run/netns/c1"},
        ],
        "ips": ips,
    })
}

/// That of a second network of the container.
fn second_result() -> Value {
    let mut result = result(&["10.2.0.12/24"]);
    result["interfaces"][2]["name"] = "eth1".into();
    result
}

fn tcp(host: u16, container: u16) -> Value {
    json!({"hostPort": host, "containerPort": container, "protocol": "tcp"})
}

fn ports(mappings: Value) -> Value {
    json!({"runtimeConfig": {"portMappings": mappings}})
}

fn with(mut config: Value, keys: Value) -> Value {
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// CHECK where one family's program is installed alone: Debian's release looks for the rules of each family in the tables
/// of both, if it can.
fn check(id: &'static str) -> Call {
    check_of_both(id).env("PATH", "/run/v4")
}

fn v6() -> Value {
    json!({"prevResult": result(&["fd00:2::11/64"])})
}

fn both() -> Value {
    json!({"prevResult": result(&["10.2.0.11/24", "fd00:2::11/64"])})
}

fn mappings() -> Vec<Case> {
    let of = |name: &str, mappings: Value| case(&format!("mappings/{name}"), ports(mappings));
    let with_ip =
        |ip: &str| json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp", "hostIP": ip}]);
    let many: Vec<_> = (1..=40).map(|number| tcp(9000 + number, number)).collect();
    vec![
        of("tcp", json!([tcp(8080, 80)])).del_twice(),
        of("udp", json!([{"hostPort": 5353, "containerPort": 53, "protocol": "udp"}])),
        of("sctp", json!([{"hostPort": 5000, "containerPort": 50, "protocol": "sctp"}])),
        of(
            "several",
            json!([tcp(8080, 80), {"hostPort": 8080, "containerPort": 80, "protocol": "udp"}, tcp(8443, 443)]),
        ),
        of("upper-case", json!([{"hostPort": 8080, "containerPort": 80, "protocol": "TCP"}])),
        of("more-than-a-rule-holds", json!(many)),
        of("host-ip", with_ip("192.0.2.1")),
        of("host-ip-of-all", with_ip("0.0.0.0")),
        of("host-ip-of-v6", with_ip("2001:db8::1")),
        of("host-ip-of-all-v6", with_ip("::")),
        of("host-ip-empty", with_ip("")),
        of("host-ip-is-bogus", with_ip("bogus")).calls([add("c1"), del("c1")]),
        of("none", json!([])),
        of("null", json!(null)),
        case("mappings/no-runtime-config", json!({})),
        case("mappings/v6", with(ports(json!([tcp(8080, 80)])), v6())).calls([
            add("c1"),
            check_of_both("c1").env("PATH", "/run/v6"),
            del("c1"),
        ]),
        case(
            "mappings/two-families",
            with(
                ports(json!([tcp(8080, 80), {"hostPort": 5353, "containerPort": 53, "protocol": "udp"}])),
                both(),
            ),
        )
        .calls([add("c1"), check_of_both("c1"), del("c1")]),
        case(
            "mappings/host-ips-of-two-families",
            with(
                ports(json!([
                    {"hostPort": 80, "containerPort": 80, "protocol": "tcp", "hostIP": "192.0.2.1"},
                    {"hostPort": 80, "containerPort": 81, "protocol": "tcp", "hostIP": "2001:db8::1"},
                ])),
                both(),
            ),
        )
        .calls([add("c1"), check_of_both("c1"), del("c1")]),
        case(
            "mappings/no-addresses",
            with(ports(json!([tcp(8080, 80)])), json!({"prevResult": result(&[])})),
        ),
    ]
}

fn options() -> Vec<Case> {
    let of =
        |name: &str, keys: Value| case(&format!("options/{name}"), with(ports(json!([tcp(8080, 80)])), keys));
    vec![
        of("no-snat", json!({"snat": false})),
        of("mark", json!({"markMasqBit": 5})),
        of("mark-0", json!({"markMasqBit": 0})),
        of("mark-too-big", json!({"markMasqBit": 32})).calls([add("c1"), del("c1")]),
        of("mark-below-zero", json!({"markMasqBit": -1})).calls([add("c1"), del("c1")]),
        of("external-chain", json!({"externalSetMarkChain": "OTHER-MARK"}))
            .before("iptables -t nat -N OTHER-MARK"),
        of("external-chain-that-is-not-there", json!({"externalSetMarkChain": "OTHER-MARK"}))
            .calls([add("c1"), del("c1")]),
        of("mark-and-chain", json!({"markMasqBit": 5, "externalSetMarkChain": "OTHER-MARK"}))
            .calls([add("c1"), del("c1")]),
        of("conditions", json!({"conditionsV4": ["!", "-s", "198.51.100.0/24"]})),
        of("conditions-of-v6-alone", json!({"conditionsV6": ["-d", "2001:db8::1"]})),
        of(
            "conditions-of-two-families",
            with(both(), json!({"conditionsV4": ["-d", "192.0.2.1"], "conditionsV6": ["-d", "2001:db8::1"]})),
        )
        .calls([add("c1"), check_of_both("c1"), del("c1")]),
        of("bad-conditions", json!({"conditionsV4": ["--nothing"]})).calls([add("c1"), del("c1")]),
    ]
}

fn lives() -> Vec<Case> {
    let of = |name: &str| case(&format!("lives/{name}"), ports(json!([tcp(8080, 80)])));
    let other = || ports(json!([tcp(8081, 80)]));
    let second = |call: Call| {
        call.ifname("eth1").keys(with(other(), json!({"name": "n2", "prevResult": second_result()})))
    };
    vec![
        of("two-containers").calls([add("c1"), add("c2").keys(other()), del("c1"), del("c2").keys(other())]),
        of("one-port-twice").calls([add("c1"), add("c2"), del("c2"), del("c1")]),
        of("added-twice").calls([add("c1"), add("c1"), check("c1"), del("c1")]),
        of("added-with-other-ports").calls([add("c1"), add("c1").keys(other()), del("c1")]),
        of("two-networks").calls([add("c1"), second(add("c1")), del("c1"), second(del("c1"))]),
        of("del-without-mappings").calls([add("c1"), del("c1").keys(json!({"runtimeConfig": null}))]),
        of("del-without-result").calls([add("c1"), del("c1").keys(json!({"prevResult": null}))]),
        of("del-without-netns").calls([add("c1"), del("c1").without("CNI_NETNS")]),
        of("del-of-another").calls([add("c1"), del("c2"), check("c1"), del("c1")]),
        of("del-where-rules-are-gone").calls([add("c1"), del("c1").before("iptables -t nat -F; iptables -t nat -X")]),
        of("beside-foreign-rules")
            .before("iptables -t nat -A PREROUTING -p tcp --dport 9 -j RETURN; iptables -t nat -A POSTROUTING -s 192.0.2.9 -j ACCEPT"),
        case("lives/version-0.3.1", with(ports(json!([tcp(8080, 80)])), json!({
            "cniVersion": "0.3.1",
            "prevResult": {
                "cniVersion": "0.3.1",
                "interfaces": [{"name": "eth0", "sandbox": "/run/netns/c1"}],
                "ips": [{"version": "4", "address": "10.2.0.11/24", "interface": 0}],
            },
        })))
        .calls([add("c1"), del("c1")]),
    ]
}

fn refused() -> Vec<Case> {
    let one = |name: &str, mappings: Value| {
        case(&format!("refused/{name}"), ports(mappings)).calls([add("c1"), del("c1")])
    };
    vec![
        one("host-port-0", json!([tcp(0, 80)])),
        one("container-port-0", json!([tcp(8080, 0)])),
        one("host-port-too-big", json!([{"hostPort": 65_536, "containerPort": 80, "protocol": "tcp"}])),
        one(
            "container-port-too-big",
            json!([{"hostPort": 8080, "containerPort": 65_536, "protocol": "tcp"}]),
        ),
        one("host-port-below-zero", json!([{"hostPort": -1, "containerPort": 80, "protocol": "tcp"}])),
        one("no-protocol", json!([{"hostPort": 8080, "containerPort": 80}])),
        one("unknown-protocol", json!([{"hostPort": 8080, "containerPort": 80, "protocol": "none"}])),
        one("port-is-text", json!([{"hostPort": "8080", "containerPort": 80, "protocol": "tcp"}])),
        one("mappings-is-no-list", json!({"hostPort": 8080})),
        case("refused/without-result", ports(json!([tcp(8080, 80)])))
            .calls([add("c1").keys(json!({"prevResult": null})), del("c1")]),
        case("refused/without-result-and-ports", json!({}))
            .calls([add("c1").keys(json!({"prevResult": null})), del("c1")]),
    ]
}

/// CHECK where somebody has changed something.
fn changed() -> Vec<Case> {
    let changed = |name: &str, script: &'static str| {
        case(&format!("changed/{name}"), ports(json!([tcp(8080, 80)])))
            .calls([add("c1"), check("c1").before(script)])
    };
    vec![
        changed("nothing", "true"),
        changed(
            "container-chain",
            "chain=$(iptables-save | grep -o '^:CNI-DN-[0-9a-f]*' | tr -d :); iptables -t nat -F $chain",
        ),
        changed("entry", "iptables -t nat -F CNI-HOSTPORT-DNAT"),
        changed("masquerade", "iptables -t nat -F CNI-HOSTPORT-MASQ"),
        changed("mark", "iptables -t nat -F CNI-HOSTPORT-SETMARK"),
        changed("localhost", "sysctl -qw net.ipv4.conf.br0.route_localnet=0"),
        changed("prerouting", "iptables -t nat -F PREROUTING"),
        case("changed/two-families", with(ports(json!([tcp(8080, 80)])), both()))
            .calls([add("c1"), check_of_both("c1")]),
        case("changed/v6", with(ports(json!([tcp(8080, 80)])), both()))
            .calls([add("c1"), check_of_both("c1").before("ip6tables -t nat -F")]),
        case("changed/without-result", ports(json!([tcp(8080, 80)])))
            .calls([add("c1"), check("c1").keys(json!({"prevResult": null}))]),
    ]
}
