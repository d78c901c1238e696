//! host-local: what is given out, and what is in its files.

use serde_json::{Value, json};

use super::super::case::{Call, Case, Scope, Suite, add, case, check, del};
use super::protocol;

pub(in super::super) fn suite() -> Suite {
    let usual = subnet("10.1.0.0/24");
    let cases = [protocol::cases(&usual), ranges(), requests(), results(), files(), refused()].concat();
    Suite {
        plugin: "host-local",
        delegates: &[],
        stage: "",
        prev_result: None,
        scope: Scope::Files,
        more: "",
        cases,
    }
}

fn ipam(keys: Value) -> Value {
    let mut ipam = json!({"type": "host-local"});
    ipam.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    json!({"ipam": ipam})
}

fn subnet(subnet: &str) -> Value {
    ipam(json!({"subnet": subnet}))
}

fn ranges() -> Vec<Case> {
    let range = |keys: Value| {
        let mut range = json!({"subnet": "10.1.0.0/24"});
        range.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        ipam(range)
    };
    vec![
        case("ranges/one", subnet("10.1.0.0/24")).del_twice(),
        case(
            "ranges/bounds",
            range(json!({"rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.20", "gateway": "10.1.0.254"})),
        ),
        case("ranges/gateway-in-the-middle", range(json!({"rangeStart": "10.1.0.2", "gateway": "10.1.0.3"})))
            .calls([add("c1"), add("c2")]),
        case(
            "ranges/bounds-at-the-edges",
            range(json!({"rangeStart": "10.1.0.0", "rangeEnd": "10.1.0.255"})),
        ),
        case("ranges/bounds-of-one", range(json!({"rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.9"})))
            .calls([add("c1"), add("c2"), del("c1"), add("c2")]),
        case("ranges/four-addresses", subnet("10.2.0.0/30")).calls([
            add("c1"),
            add("c2"),
            del("c1"),
            add("c2"),
        ]),
        case("ranges/round", range(json!({"rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.12"}))).calls([
            add("c1"),
            add("c2"),
            add("c3"),
            add("c4"),
            del("c2"),
            add("c4"),
            del("c1"),
            del("c3"),
            add("c5"),
            add("c6"),
        ]),
        case("ranges/v6", subnet("fd00:1::/64")),
        case("ranges/v6-of-four", subnet("fd00:1::/126")).calls([add("c1"), add("c2"), add("c3")]),
        case("ranges/v6-written-long", subnet("FD00:0001:0000::0/64")),
        case(
            "ranges/two-families",
            ipam(json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]})),
        ),
        case(
            "ranges/a-pool-of-two",
            ipam(json!({"ranges": [[{"subnet": "10.1.0.0/30"}, {"subnet": "10.1.1.0/30"}]]})),
        )
        .calls([add("c1"), add("c2"), add("c3"), del("c1"), add("c3")]),
        case(
            "ranges/subnet-and-ranges",
            ipam(json!({"subnet": "10.1.0.0/24", "ranges": [[{"subnet": "10.2.0.0/24"}]]})),
        ),
        case(
            "ranges/of-the-runtime",
            json!({"ipam": {"type": "host-local"}, "runtimeConfig": {"ipRanges": [[{"subnet": "10.5.0.0/24"}]]}}),
        ),
        case(
            "ranges/of-the-runtime-first",
            json!({"ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}, "runtimeConfig": {"ipRanges": [[{"subnet": "10.5.0.0/24"}]]}}),
        ),
        case(
            "ranges/the-second-set-is-full",
            ipam(json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/30"}]]})),
        )
        .calls([add("c1"), add("c2"), del("c2"), add("c3")]),
    ]
}

fn requests() -> Vec<Case> {
    let usual = || subnet("10.1.0.0/24");
    let asked = |keys: Value| {
        let mut config = usual();
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    };
    vec![
        case("requests/args", usual()).args("IP=10.1.0.50"),
        case("requests/args-among-others", usual()).args("IgnoreUnknown=1;K8S_POD_NAME=p;IP=10.1.0.50"),
        case("requests/runtime", asked(json!({"runtimeConfig": {"ips": ["10.1.0.51"]}}))),
        case("requests/runtime-with-prefix", asked(json!({"runtimeConfig": {"ips": ["10.1.0.51/24"]}}))),
        case("requests/cni-args", asked(json!({"args": {"cni": {"ips": ["10.1.0.52"]}}}))),
        case(
            "requests/one-of-each-set",
            json!({
                "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]},
                "runtimeConfig": {"ips": ["fd00:1::50", "10.1.0.50"]},
            }),
        ),
        case("requests/taken", usual()).args("IP=10.1.0.50").calls([
            add("c1").args("IP=10.1.0.50"),
            add("c2").args("IP=10.1.0.50"),
            del("c1"),
            add("c2").args("IP=10.1.0.50"),
        ]),
        case("requests/gateway", usual()).args("IP=10.1.0.1").calls([add("c1").args("IP=10.1.0.1")]),
        case("requests/in-no-range", usual()).calls([add("c1").args("IP=192.0.2.1"), add("c1")]),
        case("requests/no-address", usual()).calls([add("c1").args("IP=bogus")]),
        case("requests/no-address-of-the-runtime", asked(json!({"runtimeConfig": {"ips": ["bogus"]}})))
            .calls([add("c1")]),
        case("requests/lower-case", usual()).calls([add("c1").args("ip=10.1.0.50")]),
        case("requests/unknown-args", usual()).calls([add("c1").args("K8S_POD_NAME=p")]),
        case("requests/a-pair-that-is-none", usual()).calls([add("c1").args("IgnoreUnknown=1;IP")]),
        case("requests/held-already", usual()).calls([add("c1"), add("c1").args("IP=10.1.0.50"), del("c1")]),
    ]
}

fn results() -> Vec<Case> {
    let in_version = |version: &str| {
        let mut config = subnet("10.1.0.0/24");
        config["cniVersion"] = version.into();
        case(&format!("results/version-{version}"), config).calls([add("c1"), del("c1")])
    };
    let mut cases: Vec<_> = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0"].map(in_version).into();
    let old_v6 = json!({"cniVersion": null, "ipam": {"type": "host-local", "subnet": "2001:db8:1ff::/64"}});
    let two = json!({"cniVersion": "0.2.0", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/24"}]]}});
    cases.extend([
        case("results/v6-without-version", old_v6).calls([add("c1"), del("c1")]),
        case("results/two-of-a-family-in-0.2.0", two).calls([add("c1"), del("c1")]),
        case("results/routes", ipam(json!({"subnet": "10.1.0.0/24", "routes": [
            {"dst": "0.0.0.0/0"}, {"dst": "192.168.0.0/16", "gw": "10.1.0.9"}, {"dst": "10.0.0.7/8"},
        ]}))).calls([add("c1")]),
        case("results/dns", ipam(json!({"subnet": "10.1.0.0/24", "resolvConf": "/run/resolv.conf"})))
            .calls([add("c1")])
            .before("printf '# comment\\nnameserver 192.0.2.53\\nnameserver 2001:db8::53\\n domain example.com\\nsearch a.example b.example\\noptions ndots:5 edns0\\nsortlist 10.0.0.0\\n' >/run/resolv.conf"),
        case("results/no-resolv-conf", ipam(json!({"subnet": "10.1.0.0/24", "resolvConf": "/run/nothing"}))).calls([add("c1")]),
    ]);
    cases
}

/// CHECK of a container whose ADD was not among the calls.
fn check_of(id: &'static str) -> Call {
    check(id).keys(json!({"prevResult": {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/24"}]}}))
}

fn files() -> Vec<Case> {
    let usual = || subnet("10.1.0.0/24");
    vec![
        case("files/data-dir", ipam(json!({"subnet": "10.1.0.0/24", "dataDir": "/var/lib/cni/elsewhere"}))),
        case("files/data-dir-is-a-file", ipam(json!({"subnet": "10.1.0.0/24", "dataDir": "/run/file"}))).calls([add("c1"), del("c1")]).before("touch /run/file"),
        case("files/two-interfaces", usual()).calls([add("c1"), add("c1").ifname("eth1"), del("c1"), check("c1").ifname("eth1"), del("c1").ifname("eth1")]),
        case("files/added-twice", usual()).calls([add("c1"), add("c1"), check("c1"), del("c1")]),
        case("files/of-old-versions", usual())
            .calls([add("c2"), check_of("c1"), add("c1"), del("c1"), check_of("c1")])
            .before("mkdir -p $N1; cd $N1; printf c1 >10.1.0.2"),
        case("files/with-a-newline", usual())
            .calls([del("c1")])
            .before("mkdir -p $N1; cd $N1; printf 'c1\\neth0\\n' >10.1.0.2; printf 'c1\\r\\neth0\\n' >10.1.0.3; printf ' c1\\r\\neth0 ' >10.1.0.4"),
        case("files/empty", usual())
            .calls([add("c1"), add("c2"), del("c1"), del("c2")])
            .before("mkdir -p $N1; cd $N1; touch 10.1.0.2"),
        case("files/foreign", usual())
            .calls([add("c1"), del("c1")])
            .before("mkdir -p $N1/10.1.0.2; cd $N1; echo c1 >notes.txt; printf 'c9\\r\\neth0' >10.1.0.3"),
        case("files/last-address-is-garbage", usual())
            .calls([add("c1"), add("c2")])
            .before("mkdir -p $N1; cd $N1; echo garbage >last_reserved_ip.0"),
        case("files/last-address-of-another-range", usual())
            .calls([add("c1"), add("c2")])
            .before("mkdir -p $N1; cd $N1; printf 10.9.0.5 >last_reserved_ip.0"),
        case("files/last-address-is-the-end", usual())
            .calls([add("c1"), add("c2")])
            .before("mkdir -p $N1; cd $N1; printf 10.1.0.254 >last_reserved_ip.0"),
        case("files/no-last-address", usual())
            .calls([add("c1"), add("c2")])
            .before("mkdir -p $N1; cd $N1; printf 'c9\\r\\neth0' >10.1.0.2"),
        case("files/removed-by-hand", usual()).calls([
            add("c1"),
            check("c1").before("rm $N1/10.1.0.2"),
            add("c1"),
            del("c1"),
        ]),
        case("files/of-another", usual()).calls([add("c1"), check_of("c2"), del("c2"), check("c1")]),
        case("files/long-id", usual()).calls([
            add("c1").env("CNI_CONTAINERID", "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"),
            del("c1").env("CNI_CONTAINERID", "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"),
        ]),
        case("files/dots-in-the-network", usual()).calls([add("c1").keys(json!({"name": "n.1_a-b"})), del("c1").keys(json!({"name": "n.1_a-b"}))]),
    ]
}

fn refused() -> Vec<Case> {
    let one =
        |name: &str, config: Value| case(&format!("refused/{name}"), config).calls([add("c1"), del("c1")]);
    let bounds = |keys: Value| {
        let mut range = json!({"type": "host-local", "subnet": "10.1.0.0/24"});
        range.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        json!({"ipam": range})
    };
    vec![
        one("no-ipam", json!({})),
        one("no-ipam-but-requests", json!({"runtimeConfig": {"ips": ["10.1.0.4/24"]}})),
        one("no-ranges", ipam(json!({}))),
        one("empty-range-set", ipam(json!({"ranges": [[]]}))),
        one("no-subnet", ipam(json!({"ranges": [[{}]]}))),
        one("host-bits", subnet("10.8.0.3/24")),
        one("too-small", subnet("10.8.0.0/31")),
        one("one-address", subnet("10.8.0.0/32")),
        one("too-small-v6", subnet("fd00::/127")),
        one("no-prefix", subnet("10.8.0.0")),
        one("bogus", subnet("bogus")),
        one("start-elsewhere", bounds(json!({"rangeStart": "10.9.0.1"}))),
        one("end-elsewhere", bounds(json!({"rangeEnd": "10.9.0.1"}))),
        one("start-behind-end", bounds(json!({"rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.5"}))),
        one("start-is-bogus", bounds(json!({"rangeStart": "bogus"}))),
        one("gateway-elsewhere", bounds(json!({"gateway": "10.9.0.1"}))),
        one("gateway-of-another-family", bounds(json!({"gateway": "fd00::1"}))),
        one(
            "mixed-families",
            ipam(json!({"ranges": [[{"subnet": "10.8.0.0/24"}, {"subnet": "fd00::/64"}]]})),
        ),
        one(
            "overlap-in-a-set",
            ipam(json!({"ranges": [[{"subnet": "10.8.0.0/24"}, {"subnet": "10.8.0.0/16"}]]})),
        ),
        one(
            "overlap-of-sets",
            ipam(json!({"ranges": [[{"subnet": "10.8.0.0/24"}], [{"subnet": "10.8.0.0/16"}]]})),
        ),
        one("subnet-is-a-number", ipam(json!({"subnet": 10}))),
        one("ranges-is-flat", ipam(json!({"ranges": [{"subnet": "10.8.0.0/24"}]}))),
        one(
            "route-without-destination",
            ipam(json!({"subnet": "10.1.0.0/24", "routes": [{"gw": "10.1.0.1"}]})),
        ),
        one("route-is-bogus", ipam(json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "bogus"}]}))),
    ]
}
