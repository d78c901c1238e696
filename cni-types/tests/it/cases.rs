//! Reports from the field about versions, results and errors, each as a test of its own.

use cni_types::config::{NetworkList, PluginConfig};
use cni_types::result::{AddResult, Interface, IpConfig, VersionedResult};
use cni_types::{CniVersion, ErrorCode, ErrorObject, Route, reconcile};
use serde_json::{Value, json};

/// A result that one version prints, as another prints it.
fn converted(result: &Value, to: CniVersion) -> Value {
    let result = VersionedResult::decode(result.to_string().as_bytes()).unwrap();
    serde_json::to_value(result.convert(to).unwrap()).unwrap()
}

/// An author's result as a version prints it.
fn printed(result: &AddResult, version: CniVersion) -> Value {
    serde_json::to_value(VersionedResult::new(result.clone(), version).unwrap()).unwrap()
}

#[test]
fn c01_a_result_without_a_version_is_in_the_one_that_was_asked_for() {
    for version in ["", r#""cniVersion":"","#, r#""cniVersion":null,"#] {
        let body = r#""ips":[{"version":"4","address":"10.40.0.3/12","gateway":"10.40.0.1"}],"dns":{}"#;
        let text = format!("{{{version}{body}}}");
        let result = VersionedResult::decode_with_default(CniVersion::V0_3_0, text.as_bytes()).unwrap();
        assert_eq!(result.version(), CniVersion::V0_3_0, "{text}");
        let ips = result.into_add_result().ips;
        assert_eq!(ips[0].address.to_string(), "10.40.0.3/12", "the address is not lost as it is in 0.1.0");
    }
}

#[test]
fn c03_prev_result_has_a_version_of_its_own_or_the_configurations() {
    let decode = |prev_result: &str| {
        let config = format!(r#"{{"cniVersion":"0.4.0","name":"n","prevResult":{prev_result}}}"#);
        PluginConfig::decode(config.as_bytes()).unwrap().decode_prev_result()
    };
    let version = |prev_result| decode(prev_result).unwrap().unwrap().version();
    assert_eq!(version(r#"{"ips":[{"version":"4","address":"10.1.0.9/16"}]}"#), CniVersion::V0_4_0);
    assert_eq!(version(r#"{"CNIVersion":"1.0.0","ips":[{"address":"10.1.0.9/16"}]}"#), CniVersion::V1_0_0);
    assert_eq!(decode("null"), Ok(None));
    let error = decode(r#"{"cniVersion":"1.0.0","ips":{}}"#).unwrap_err().to_string();
    assert!(
        error.contains(r#"prevResult of version "1.0.0" in a configuration of version "0.4.0""#),
        "{error}"
    );
}

#[test]
fn c04_a_version_that_does_not_exist_is_told_with_those_that_do() {
    let list = NetworkList::decode(br#"{"cniVersion":"1.0.1","name":"n","plugins":[{"type":"a"}]}"#).unwrap();
    let error = list.version().unwrap_err().to_string();
    assert!(error.contains(r#"["1.0.1"]"#) && error.contains("expected one of 0.1.0, 0.2.0"), "{error}");
    let plugin = PluginConfig::decode(br#"{"cniVersion":"1.0.1","name":"n","type":"a"}"#).unwrap();
    let error = plugin.version().unwrap_err().to_string();
    assert!(
        error.starts_with("1.0.1 is not a released") && error.ends_with("0.4.0, 1.0.0, 1.1.0"),
        "{error}"
    );
}

#[test]
fn c05_every_version_converts_to_every_other_and_back() {
    let legacy = json!({
        "cniVersion": "0.1.0",
        "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]},
        "ip6": {"ip": "2001:db8::5/64", "routes": [{"dst": "::/0"}]},
        "dns": {"nameservers": ["10.1.0.1"]},
    });
    for from in CniVersion::ALL {
        let old = converted(&legacy, from);
        for to in CniVersion::ALL {
            let there = converted(&old, to);
            assert_eq!(there["cniVersion"], to.as_str());
            assert_eq!(converted(&there, from), old, "{from} by {to}");
        }
    }
    let new = converted(&legacy, CniVersion::V0_4_0);
    assert_eq!(
        new["ips"],
        json!([
            {"version": "4", "address": "10.1.0.5/16", "gateway": "10.1.0.1"},
            {"version": "6", "address": "2001:db8::5/64"},
        ])
    );
    assert_eq!(new["routes"], json!([{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}, {"dst": "::/0"}]));
}

#[test]
fn c06_a_version_that_one_side_lacks_is_told_with_both_sides() {
    let error = ErrorObject::from(reconcile("1.0.0", &["0.3.1", "0.4.0"]).unwrap_err());
    assert!(error.is_incompatible_version());
    assert_eq!(error.details, r#"config is "1.0.0", plugin supports ["0.3.1" "0.4.0"]"#);
}

#[test]
fn c07_what_was_absent_is_not_printed_but_dns_before_1_0_0() {
    let config = r#"{"cniVersion":"1.0.0","name":"n1","type":"vlan"}"#;
    let read = PluginConfig::decode(config.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), config);
    let mut result = AddResult::default();
    result.ips.push(IpConfig::new("10.1.0.5/16".parse().unwrap()));
    for version in CniVersion::ALL {
        let printed = printed(&result, version);
        // Peers of that time print it, empty or not.
        let expected = (version < CniVersion::V1_0_0).then(|| json!({}));
        assert_eq!(printed.get("dns"), expected.as_ref(), "{version}");
        assert_eq!((printed.get("interfaces"), printed.get("routes")), (None, None), "{version}");
    }
}

#[test]
fn c08_new_keys_stay_out_of_old_versions_and_zero_is_told_from_absent() {
    let mut result = AddResult::default();
    let eth0 = result.add_interface(Interface::new("eth0").in_sandbox("/run/netns/x").with_mtu(1400));
    result.ips.push(IpConfig::new("10.1.0.5/16".parse().unwrap()).on(eth0));
    let mut route = Route::new("0.0.0.0/0".parse().unwrap()).via("10.1.0.1".parse().unwrap());
    (route.mtu, route.priority, route.table) = (Some(1400), Some(10), Some(0));
    result.routes.push(route);

    let whole = json!({"dst": "0.0.0.0/0", "gw": "10.1.0.1", "mtu": 1400, "priority": 10, "table": 0});
    let new = printed(&result, CniVersion::V1_1_0);
    assert_eq!((&new["interfaces"][0]["mtu"], &new["routes"][0]), (&json!(1400), &whole));
    // Routes keep theirs, as deployed peers have it: a plugin of 0.4.0 in the middle of a chain must not lose them.
    let old = printed(&result, CniVersion::V0_4_0);
    assert_eq!(old["interfaces"][0], json!({"name": "eth0", "sandbox": "/run/netns/x"}));
    assert_eq!(old["routes"][0], whole);
    let oldest = printed(&result, CniVersion::V0_2_0);
    assert_eq!(oldest["ip4"]["routes"], json!([{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]));
    result.routes = vec![Route::new("10.0.0.0/8".parse().unwrap())];
    let unset = printed(&result, CniVersion::V1_1_0);
    assert_eq!(unset["routes"][0], json!({"dst": "10.0.0.0/8"}));
}

#[test]
fn c09_an_address_without_an_index_is_on_no_interface() {
    let text = br#"{"cniVersion":"0.3.1","interfaces":[{"name":"eth0","sandbox":"/run/netns/x"}],
        "ips":[{"version":"4","address":"10.14.199.37/32","gateway":"10.14.24.19"}]}"#;
    let result = VersionedResult::decode(text).unwrap();
    let printed = serde_json::to_value(&result).unwrap();
    assert_eq!(printed["ips"][0].get("interface"), None, "absent stays absent");
    let mut result = result.into_add_result();
    assert_eq!(result.container_interface("eth0"), Some(0));
    assert_eq!((result.ips_of(0).count(), result.ips_without_interface().count()), (0, 1));
    result.ips[0].interface = Some(0);
    assert_eq!((result.ips_of(0).count(), result.ips_without_interface().count()), (1, 0));
    let printed = serde_json::to_value(VersionedResult::new(result, CniVersion::V0_3_1).unwrap()).unwrap();
    assert_eq!(printed["ips"][0]["interface"], 0, "0 is an index");
}

#[test]
fn c10_an_inserted_interface_renumbers_the_addresses() {
    let mut result = AddResult::default();
    let eth0 = result.add_interface(Interface::new("eth0").in_sandbox("/run/netns/x"));
    result.ips.push(IpConfig::new("10.1.0.5/16".parse().unwrap()).on(eth0));
    assert_eq!(result.insert_interface(0, Interface::new("veth1")), 0);
    assert_eq!(result.ips[0].interface, Some(1));
    assert_eq!((result.container_interface("eth0"), result.validate()), (Some(1), vec![]));
    result.ips[0].interface = Some(2);
    let problems: Vec<_> = result.validate().iter().map(ToString::to_string).collect();
    assert_eq!(problems, ["ips[0].interface is 2, but there are 2 interfaces"]);
    // Whatever a peer wrote there.
    result.ips[0].interface = Some(usize::MAX);
    result.insert_interface(7, Interface::new("veth2"));
    result.insert_interface(0, Interface::new("veth3"));
    assert_eq!(result.ips[0].interface, Some(usize::MAX));
}

#[test]
fn c11_an_ipv6_address_is_under_ip6_alone_in_old_versions() {
    let mut result = AddResult::default();
    result.ips.push(IpConfig::new("2001:db8:1ff::5/64".parse().unwrap()));
    for version in [CniVersion::V0_1_0, CniVersion::V0_2_0] {
        let printed = printed(&result, version);
        assert_eq!((printed.get("ip4"), &printed["ip6"]["ip"]), (None, &json!("2001:db8:1ff::5/64")));
    }
}

#[test]
fn c102_the_code_tells_what_to_do_without_a_look_at_the_text() {
    let read = |text: &str| ErrorObject::decode(text.as_bytes()).unwrap();
    let later = read(r#"{"cniVersion":"1.0.0","code":11,"msg":"whatever","details":"pool \"a\""}"#);
    assert!(later.is_try_again() && !later.needs_no_cleanup());
    assert_eq!((later.code(), later.details.as_str()), (ErrorCode::TRY_AGAIN, "pool \"a\""));
    let gone = read(r#"{"code":3,"msg":"failed to Statfs"}"#);
    assert!(gone.needs_no_cleanup() && !gone.is_try_again());
    let unread = read(r#"{"code":5,"msg":"try again later"}"#);
    assert!(!unread.is_try_again() && !unread.needs_no_cleanup() && !unread.is_not_available());
    assert_eq!(unread.code().description(), Some("I/O failure"));
    for code in [50, 51] {
        assert!(read(&format!(r#"{{"code":{code},"msg":""}}"#)).is_not_available());
    }
}

#[test]
fn c57_which_end_an_interface_is_tells_its_sandbox() {
    // Addresses alone: there is no interface to find, on either side.
    let ips_only = r#"{"cniVersion":"1.0.0","ips":[{"address":"10.14.199.37/32"}]}"#;
    let result = VersionedResult::decode(ips_only.as_bytes()).unwrap().into_add_result();
    assert_eq!((result.container_interface("eth0"), result.host_interfaces().count()), (None, 0));
    // A host's end that claims a sandbox is no host's end.
    let mislabelled = r#"{"cniVersion":"1.0.0","interfaces":[{"name":"veth1","sandbox":"eth0"},{"name":"eth0","sandbox":"/run/netns/x"}]}"#;
    let result = VersionedResult::decode(mislabelled.as_bytes()).unwrap().into_add_result();
    assert_eq!((result.container_interface("eth0"), result.host_interfaces().count()), (Some(1), 0));
}
