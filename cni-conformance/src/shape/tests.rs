use serde_json::json;

use super::*;

fn told(version: CniVersion, result: &Value) -> Vec<String> {
    problems(version, result.as_object().unwrap())
}

#[test]
fn results_of_the_spec_fit_their_layouts() {
    let old = json!({"ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0"}]},
        "ip6": {"ip": "fd00::5/64"}, "dns": {"nameservers": ["10.1.0.1", "fd00::1"], "domain": "x", "search": []}});
    let middle = json!({"interfaces": [{"name": "eth0", "mac": "00:11:22:33:44:55", "sandbox": "/run/netns/x"}],
        "ips": [{"version": "4", "address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}], "dns": {}});
    let mut new = middle.clone();
    new["ips"][0].as_object_mut().unwrap().remove("version");
    for version in CniVersion::ALL {
        let fitting = match version {
            v if v < CniVersion::V0_3_0 => &old,
            v if v < CniVersion::V1_0_0 => &middle,
            _ => &new,
        };
        assert_eq!(told(version, fitting), [""; 0], "{version}");
        // No other layout's result passes for one.
        for other in [&old, &middle, &new].into_iter().filter(|other| *other != fitting) {
            assert!(!told(version, other).is_empty(), "{version}: {other}");
        }
        // Absent and null are the same, and other keys are nobody's business.
        let empty = json!({"ips": null, "interfaces": null, "dns": null, "example.com/x": 1});
        assert!(version < CniVersion::V0_3_0 || told(version, &empty).is_empty(), "{version}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_path() {
    for (result, problem) in [
        (json!({"ips": {}}), "ips is {}, expected a list of objects"),
        (json!({"ips": [1]}), "ips[0] is 1, expected an object"),
        (json!({"ips": [{}]}), "ips[0].address is missing, expected an address in CIDR notation"),
        (
            json!({"ips": [{"address": "10.1.0.5"}]}),
            "ips[0].address is \"10.1.0.5\", expected an address in CIDR notation",
        ),
        (
            json!({"ips": [{"address": "10.1.0.5/33"}]}),
            "ips[0].address is \"10.1.0.5/33\", expected an address in CIDR notation",
        ),
        (
            json!({"ips": [{"address": "10.1.0.5/8", "interface": -1}]}),
            "ips[0].interface is -1, expected a whole number from 0 on",
        ),
        (
            json!({"ips": [{"address": "10.1.0.5/8", "gateway": "x"}]}),
            "ips[0].gateway is \"x\", expected an IP address",
        ),
        (
            json!({"ips": [{"address": "10.1.0.5/8", "version": "4"}]}),
            "ips[0].version does not belong into a result of 1.1.0",
        ),
        (
            json!({"interfaces": [{"name": ""}]}),
            "interfaces[0].name is \"\", expected a string that is not empty",
        ),
        (
            json!({"interfaces": [{"name": "a", "mtu": "1500"}]}),
            "interfaces[0].mtu is \"1500\", expected a whole number from 0 on",
        ),
        (
            json!({"routes": [{"gw": "10.1.0.1"}]}),
            "routes[0].dst is missing, expected an address in CIDR notation",
        ),
        (json!({"dns": []}), "dns is [], expected an object"),
        (json!({"dns": {"nameservers": ["a"]}}), "dns.nameservers[0] is \"a\", expected an IP address"),
        (json!({"dns": {"search": "a"}}), "dns.search is \"a\", expected a list of strings"),
    ] {
        assert_eq!(told(CniVersion::V1_1_0, &result), [problem]);
    }
    for (result, problem) in [
        (
            json!({"ips": [{"version": "6", "address": "10.1.0.5/8"}]}),
            "ips[0].address is \"10.1.0.5/8\", expected an IPv6 address",
        ),
        (
            json!({"ips": [{"version": 4, "address": "10.1.0.5/8"}]}),
            "ips[0].version is 4, expected \"4\" or \"6\"",
        ),
    ] {
        assert_eq!(told(CniVersion::V0_4_0, &result), [problem]);
    }
}

#[test]
fn what_was_lost_is_told() {
    let earlier = json!({"interfaces": [{"name": "eth0", "sandbox": "/x"}, {"name": "veth1"}],
        "ips": [{"address": "10.1.0.5/16"}], "routes": [{"dst": "0.0.0.0/0"}], "dns": {"search": ["a"]}});
    assert_eq!(lost(&earlier, earlier.as_object().unwrap()), [""; 0]);
    // Another MAC is a change, not a loss.
    let later = json!({"interfaces": [{"name": "eth0", "sandbox": "/x", "mac": "x"}], "ips": []});
    assert_eq!(
        lost(&earlier, later.as_object().unwrap()),
        ["interface veth1", "ip 10.1.0.5/16", "route 0.0.0.0/0", "dns.search a"]
    );
}

#[test]
fn an_index_without_its_interface_is_told() {
    let result = json!({"interfaces": [{"name": "a"}], "ips": [{"interface": 0}, {}, {"interface": 1}]});
    assert_eq!(
        wrong_indexes(result.as_object().unwrap()),
        ["ips[2].interface is 1, and interfaces has no such entry"]
    );
}
