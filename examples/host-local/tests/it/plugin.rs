//! Answers: results in every version, and the words of errors.

use cni_skel::CniVersion;
use cni_skel::testing::Invocation;
use host_local::HostLocal;
use serde_json::{Value, json};

use crate::network::Network;

#[test]
fn c02_the_result_is_in_the_version_of_the_configuration() {
    for version in CniVersion::ALL {
        let net = Network::new(json!({"subnet": "10.9.8.0/24"})).in_version(version.as_str());
        assert_eq!(net.add("c1").json()["cniVersion"], version.as_str());
    }
    let net = Network::new(json!({"subnet": "10.9.8.0/24"})).in_version("0.3.1");
    let expected = json!({
        "cniVersion": "0.3.1",
        "ips": [{"version": "4", "address": "10.9.8.2/24", "gateway": "10.9.8.1"}],
        "dns": {},
    });
    assert_eq!(net.add("c1").json(), expected);
}

#[test]
fn c05_what_was_added_without_a_version_is_removed_with_one() {
    let mut net =
        Network::new(json!({"subnet": "10.9.8.0/24", "routes": [{"dst": "0.0.0.0/0"}]})).in_version("");
    let added = net.add("c1").json();
    let expected = json!({
        "cniVersion": "0.1.0",
        "ip4": {"ip": "10.9.8.2/24", "gateway": "10.9.8.1", "routes": [{"dst": "0.0.0.0/0"}]},
        "dns": {},
    });
    assert_eq!(added, expected);
    net = net.in_version("0.4.0");
    let call = Invocation::del("c1", "eth0").config(net.config()).prev_result(added);
    call.run(&HostLocal).assert_success();
    assert_eq!(net.reserved(), [""; 0]);
}

#[test]
fn c11_an_ipv6_address_is_under_ip6_in_old_versions() {
    let net = Network::new(json!({"subnet": "2001:db8:1ff::/64"})).in_version("");
    let expected = json!({"cniVersion": "0.1.0", "ip6": {"ip": "2001:db8:1ff::2/64", "gateway": "2001:db8:1ff::1"}, "dns": {}});
    assert_eq!(net.add("c1").json(), expected);
}

#[test]
fn routes_and_name_resolution_are_in_the_result() {
    let resolv = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(resolv.path(), "nameserver 192.0.2.1\nsearch a.example\n").unwrap();
    let route = json!({"dst": "10.0.0.0/8", "gw": "10.9.8.3", "mtu": 1400, "table": 50, "scope": 0});
    let net = Network::new(json!({
        "ranges": [[{"subnet": "10.9.8.0/24"}], [{"subnet": "fd00::/64"}]],
        "routes": [route], "resolvConf": resolv.path(),
    }));
    let expected = json!({
        "cniVersion": "1.1.0",
        "ips": [
            {"address": "10.9.8.2/24", "gateway": "10.9.8.1"},
            {"address": "fd00::2/64", "gateway": "fd00::1"},
        ],
        "routes": [route],
        "dns": {"nameservers": ["192.0.2.1"], "search": ["a.example"]},
    });
    assert_eq!(net.add("c1").json(), expected);
    let net = Network::new(json!({"subnet": "10.9.8.0/24", "resolvConf": "/no/such/file"}));
    assert_eq!(net.add("c1").assert_error(999).msg, "open /no/such/file: no such file or directory");
    assert!(!net.path("").exists(), "nothing is made before the configuration is read");
}

#[test]
fn a_prev_result_of_the_main_plugin_is_not_repeated() {
    let net = Network::of(&["10.9.8.0/24"]);
    let prev_result = json!({"ips": [{"address": "192.0.2.1/32"}], "interfaces": [{"name": "x"}]});
    let outcome = net.adding("c1", "eth0").prev_result(prev_result).run(&HostLocal);
    assert_eq!(outcome.json()["ips"], json!([{"address": "10.9.8.2/24", "gateway": "10.9.8.1"}]));
    assert_eq!(outcome.json()["interfaces"], Value::Null);
}

#[test]
fn keys_are_found_in_any_letter_case_as_gos_plugin_does() {
    let net = Network::new(
        json!({"SUBNET": "10.9.8.0/24", "rangestart": "10.9.8.7", "Ranges": [[{"Subnet": "fd00::/64"}]]}),
    );
    assert_eq!(net.addresses("c1"), ["10.9.8.7/24", "fd00::2/64"]);
}

#[test]
fn c61_explicit_bounds_at_the_edges_are_given_out() {
    let net = Network::new(json!({"subnet": "10.1.0.0/16", "rangeStart": "10.1.0.0"}));
    assert_eq!(net.addresses("c1"), ["10.1.0.0/16"]);
    let net =
        Network::new(json!({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.255", "rangeEnd": "10.1.0.255"}));
    assert_eq!(net.addresses("c1"), ["10.1.0.255/24"]);
}

#[test]
fn c62_every_address_but_the_gateway_is_given_out() {
    let net = Network::of(&["10.2.0.0/30"]);
    for _ in 0..3 {
        assert_eq!(net.addresses("c1"), ["10.2.0.2/30"]);
        net.del("c1").assert_success();
    }
    let net =
        Network::new(json!({"subnet": "10.1.0.0/16", "rangeStart": "10.1.2.250", "rangeEnd": "10.1.3.3"}));
    let given: Vec<_> = (0..10).flat_map(|n| net.addresses(&format!("c{n}"))).collect();
    assert!(
        given.contains(&"10.1.2.255/16".to_owned()) && given.contains(&"10.1.3.0/16".to_owned()),
        "{given:?}"
    );
    let net = Network::new(json!({"subnet": "2001:db8::/120", "rangeStart": "2001:db8::ff"}));
    assert_eq!(net.addresses("c1"), ["2001:db8::ff/120"]);
}

#[test]
fn c63_a_set_gives_one_address_and_each_set_does() {
    let net = Network::of(&["10.2.0.0/30 10.3.0.0/30"]);
    assert_eq!(
        (net.addresses("c1"), net.addresses("c2")),
        (vec!["10.2.0.2/30".to_owned()], vec!["10.3.0.2/30".to_owned()])
    );
    let net = Network::of(&["10.2.0.0/30", "10.3.0.0/30"]);
    assert_eq!(net.addresses("c1"), ["10.2.0.2/30", "10.3.0.2/30"]);
}

#[test]
fn c63_a_requested_address_is_had_or_the_reason_is_told() {
    let net = Network::of(&["10.2.0.0/24 10.3.0.0/24"]);
    let request = |id: &str, args: &str| net.adding(id, "eth0").args(args).run(&HostLocal);
    let outcome = request("c1", "IP=10.3.0.7");
    assert_eq!(outcome.result().ips[0].address.to_string(), "10.3.0.7/24");
    for (args, expected) in [
        (
            "IP=10.3.0.7",
            "failed to allocate for range 0: requested IP address 10.3.0.7 is not available in range set \
             10.2.0.1-10.2.0.254,10.3.0.1-10.3.0.254: held by c1 with interface eth0",
        ),
        ("IP=10.3.0.1", "failed to allocate for range 0: requested ip 10.3.0.1 is subnet's gateway"),
        (
            "IP=10.4.0.1",
            "failed to allocate all requested IPs: 10.4.0.1: 10.4.0.1 is not in any range: \
             [10.2.0.1-10.2.0.254,10.3.0.1-10.3.0.254]",
        ),
    ] {
        let before = net.files();
        assert_eq!(request("c2", args).assert_error(999).msg, expected);
        assert_eq!(net.files(), before);
    }
}

#[test]
fn c103_requested_addresses_come_with_and_without_prefix_and_by_three_ways() {
    let net = Network::of(&["10.2.2.0/24", "10.3.0.0/24", "2001:db8::/64"]);
    let mut config = net.config();
    config["args"] = json!({"cni": {"ips": ["10.3.0.9/16"]}});
    let call = Invocation::add("c1", "/run/netns/none", "eth0").config(config);
    let outcome = call.args("IP=10.2.2.42").capability("ips", json!(["2001:db8::5"])).run(&HostLocal);
    outcome.assert_success();
    let given: Vec<_> = outcome.result().ips.iter().map(|ip| ip.address.to_string()).collect();
    assert_eq!(given, ["10.2.2.42/24", "10.3.0.9/24", "2001:db8::5/64"], "the prefix is that of the range");
    // One too many for the set: nothing of it happens.
    let ips = json!(["10.2.2.43", "10.2.2.44/24", "2001:db8::6"]);
    let before = net.files();
    let outcome = net.adding("c2", "eth0").capability("ips", ips).run(&HostLocal);
    assert_eq!(
        outcome.assert_error(999).msg,
        "failed to allocate all requested IPs: 10.2.2.44: 10.2.2.44 is one too many for range set 0, which gives 10.2.2.43"
    );
    assert_eq!(net.files(), before);
    // The same one by two ways is one request.
    let outcome = net
        .adding("c3", "eth0")
        .args("IP=10.2.2.50")
        .capability("ips", json!(["10.2.2.50/24"]))
        .run(&HostLocal);
    outcome.assert_success();
    for ips in [json!(["nonsense"]), json!(["10.2.2.300"]), json!(["10.2.2.3/33"])] {
        let outcome = net.adding("c4", "eth0").capability("ips", ips).run(&HostLocal);
        assert!(outcome.assert_error(7).msg.contains("runtimeConfig.ips[0]"), "{:?}", outcome.error());
    }
}

#[test]
fn ranges_of_the_runtime_come_first() {
    let net = Network::of(&["10.2.0.0/24"]);
    let ranges = json!([[{"subnet": "10.5.0.0/24", "rangeStart": "10.5.0.9", "gateway": "10.5.0.254"}]]);
    let outcome = net.adding("c1", "eth0").capability("ipRanges", ranges).run(&HostLocal);
    let expected = json!([
        {"address": "10.5.0.9/24", "gateway": "10.5.0.254"}, {"address": "10.2.0.2/24", "gateway": "10.2.0.1"},
    ]);
    assert_eq!(outcome.json()["ips"], expected);
    assert_eq!(net.read("last_reserved_ip.0"), "10.5.0.9");
    assert_eq!(net.read("last_reserved_ip.1"), "10.2.0.2");
}

#[test]
fn c105_a_configuration_without_ipam_is_told_and_is_no_panic() {
    let config = json!({
        "cniVersion": "1.1.0", "name": "n1", "type": "x", "runtimeConfig": {"ips": ["10.1.0.4/24"]},
        "args": {"cni": {"ips": ["10.1.0.4"]}}, "cni.dev/valid-attachments": [],
    });
    for call in [
        Invocation::add("c1", "/run/netns/none", "eth0").args("IP=10.1.0.4"),
        Invocation::del("c1", "eth0").args("IP=10.1.0.4"),
        Invocation::check("c1", "/run/netns/none", "eth0").prev_result(json!({})),
        Invocation::gc([]),
        Invocation::status(),
    ] {
        let outcome = call.config(config.clone()).run(&HostLocal);
        assert_eq!(outcome.assert_error(7).msg, "IPAM config missing 'ipam' key");
    }
}

#[test]
fn what_is_wrong_with_the_configuration_has_code_7_and_gos_words() {
    let two = json!([[{"subnet": "10.2.0.0/24"}], [{"subnet": "10.3.0.0/24"}]]);
    for (version, ipam, expected) in [
        ("1.1.0", json!({}), "no IP ranges specified"),
        (
            "1.1.0",
            json!({"subnet": "10.8.0.0/31"}),
            "invalid range set 0: Network 10.8.0.0/31 too small to allocate from",
        ),
        (
            "0.2.0",
            json!({"ranges": two}),
            "CNI version 0.2.0 does not support more than 1 address per family",
        ),
        ("1.1.0", json!({"subnet": "bogus"}), "ipam.subnet: invalid CIDR address: bogus"),
        (
            "1.1.0",
            json!({"ranges": [[{"subnet": "10.2.0.0/24", "rangeStart": "bogus"}]]}),
            "ipam.ranges[0][0].rangeStart: invalid IP address: bogus",
        ),
        (
            "1.1.0",
            json!({"ranges": [[{"gateway": "10.2.0.1"}]]}),
            "ipam.ranges[0][0]: missing field `subnet`",
        ),
    ] {
        let net = Network::new(ipam).in_version(version);
        let outcome = net.add("c1");
        assert!(outcome.assert_error(7).msg.contains(expected), "{:?}", outcome.error());
        assert!(!net.data_dir().exists());
    }
    let net = Network::of(&["10.2.0.0/24"]);
    let unknown = net.adding("c1", "eth0").args("MAC=02:00:00:00:00:01").run(&HostLocal);
    assert_eq!(unknown.assert_error(4).msg, r#"ARGS: unknown args ["MAC=02:00:00:00:00:01"]"#);
}
