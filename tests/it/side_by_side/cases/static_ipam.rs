//! static: what is given, and who is asked first.

use serde_json::{Value, json};

use super::super::case::{Case, Scope, Suite, add, case, check, del};
use super::protocol;

pub(in super::super) fn suite() -> Suite {
    let usual = addresses(&["10.1.0.5/24"]);
    let cases = [protocol::cases(&usual), given(), refused(), checked()].concat();
    Suite {
        plugin: "static",
        delegates: &[],
        stage: "",
        prev_result: None,
        scope: Scope::Files,
        more: "",
        cases,
    }
}

fn ipam(keys: Value) -> Value {
    let mut ipam = json!({"type": "static"});
    ipam.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    json!({"ipam": ipam})
}

fn addresses(addresses: &[&str]) -> Value {
    let addresses: Vec<_> = addresses.iter().map(|address| json!({"address": address})).collect();
    ipam(json!({"addresses": addresses}))
}

fn with(mut config: Value, keys: Value) -> Value {
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

fn given() -> Vec<Case> {
    let usual = || addresses(&["10.1.0.5/24"]);
    let in_version = |version: &str| {
        case(&format!("given/version-{version}"), with(usual(), json!({"cniVersion": version})))
            .calls([add("c1"), del("c1")])
    };
    let mut cases: Vec<_> = ["0.1.0", "0.2.0", "0.3.1", "0.4.0"].map(in_version).into();
    cases.extend([
        case("given/one", usual()).del_twice(),
        case("given/with-gateway", ipam(json!({"addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.254"}]}))),
        case("given/two-families", addresses(&["10.1.0.5/24", "fd00:1::5/64"])),
        case("given/two-of-a-family", addresses(&["10.1.0.5/24", "10.2.0.5/24"])),
        case("given/the-network-itself", addresses(&["10.1.0.0/24"])),
        case("given/routes-and-dns", ipam(json!({
            "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.168.0.0/16", "gw": "10.1.0.9"}, {"dst": "10.0.0.7/8"}],
            "dns": {"nameservers": ["192.0.2.53"], "domain": "example.com", "search": ["a.example"], "options": ["ndots:5"]},
        }))),
        case("given/args", ipam(json!({}))).args("IP=10.1.0.6/24"),
        case("given/args-with-gateway", ipam(json!({}))).args("IP=10.1.0.6/24,fd00:1::6/64;GATEWAY=10.1.0.1,fd00:1::1"),
        case("given/args-beside-configured", usual()).args("IP=10.2.0.6/24"),
        case("given/gateway-for-configured", usual()).args("GATEWAY=10.1.0.254"),
        case("given/cni-args", with(usual(), json!({"args": {"cni": {"ips": ["10.3.0.7/24"]}}}))),
        case("given/runtime", with(usual(), json!({"runtimeConfig": {"ips": ["10.4.0.8/24"]}}))),
        case("given/runtime-before-cni-args", with(usual(), json!({
            "runtimeConfig": {"ips": ["10.4.0.8/24"]}, "args": {"cni": {"ips": ["10.3.0.7/24"]}},
        }))),
        case("given/all-four", with(usual(), json!({
            "runtimeConfig": {"ips": ["10.4.0.8/24"]}, "args": {"cni": {"ips": ["10.3.0.7/24"]}},
        }))).args("IP=10.2.0.6/24"),
        case("given/nothing", ipam(json!({}))).calls([add("c1"), del("c1")]),
        case("given/nothing-in-0.2.0", with(ipam(json!({})), json!({"cniVersion": "0.2.0"}))).calls([add("c1"), del("c1")]),
    ]);
    cases
}

fn refused() -> Vec<Case> {
    let one =
        |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1"), del("c1")]);
    let usual = || addresses(&["10.1.0.5/24"]);
    vec![
        one("no-ipam", json!({})),
        one("no-ipam-but-requests", json!({"runtimeConfig": {"ips": ["10.1.0.4/24"]}})),
        one("no-prefix", addresses(&["10.1.0.5"])),
        one("bogus", addresses(&["bogus"])),
        one("prefix-too-long", addresses(&["10.1.0.5/33"])),
        one("no-address", ipam(json!({"addresses": [{"gateway": "10.1.0.1"}]}))),
        one("gateway-is-bogus", ipam(json!({"addresses": [{"address": "10.1.0.5/24", "gateway": "bogus"}]}))),
        one(
            "two-of-a-family-in-0.2.0",
            with(addresses(&["10.1.0.5/24", "10.2.0.5/24"]), json!({"cniVersion": "0.2.0"})),
        ),
        one("runtime-without-prefix", with(usual(), json!({"runtimeConfig": {"ips": ["10.1.0.4"]}}))),
        one("cni-args-without-prefix", with(usual(), json!({"args": {"cni": {"ips": ["10.1.0.4"]}}}))),
        one("args-without-prefix", usual()).args("IP=10.1.0.4"),
        one("gateway-of-args-is-bogus", ipam(json!({}))).args("IP=10.1.0.4/24;GATEWAY=bogus"),
        one("unknown-args", usual()).args("K8S_POD_NAME=p"),
        one("addresses-is-no-list", ipam(json!({"addresses": "10.1.0.5/24"}))),
    ]
}

fn checked() -> Vec<Case> {
    let usual = || ipam(json!({"addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}]}));
    let result = |ips: Value| json!({"prevResult": {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "/run/netns/c1"}], "ips": ips}});
    let checked =
        |name: &str, keys: Value| case(&format!("checked/{name}"), usual()).calls([check("c1").keys(keys)]);
    vec![
        checked("without-result", json!({})),
        checked(
            "all-is-there",
            result(json!([{"address": "10.1.0.5/24", "gateway": "10.1.0.1", "interface": 0}])),
        ),
        checked(
            "beside-another",
            result(
                json!([{"address": "10.2.0.5/24"}, {"address": "10.1.0.5/24", "gateway": "10.1.0.1", "interface": 0}]),
            ),
        ),
        checked(
            "another-gateway",
            result(json!([{"address": "10.1.0.5/24", "gateway": "10.1.0.9", "interface": 0}])),
        ),
        checked(
            "the-address-is-missing",
            result(json!([{"address": "10.2.0.5/24", "gateway": "10.1.0.1", "interface": 0}])),
        ),
        checked(
            "another-prefix",
            result(json!([{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0}])),
        ),
    ]
}
