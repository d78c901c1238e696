//! The forms that a configuration can have, their order, and the texts of faults.

use cni_skel::types::config::PluginConfig;
use serde_json::{Value, json};

use super::*;

fn config(value: Value) -> Config {
    serde_json::from_value(value).unwrap()
}

fn runtime(value: &Value) -> Runtime {
    let config = PluginConfig::decode(json!({"runtimeConfig": value}).to_string().as_bytes()).unwrap();
    Runtime::from_values(&config.runtime_values().unwrap()).unwrap()
}

fn settings(value: Value) -> Result<Settings, ConfigError> {
    config(value).settings(&runtime(&json!({})), CniVersion::V1_1_0)
}

fn fault(ipam: &Value) -> String {
    settings(json!({"ipam": ipam})).unwrap_err().to_string()
}

#[test]
fn every_form_of_ranges_counts_in_gos_order() {
    let config = config(json!({"ipam": {
        "ranges": [[{"subnet": "10.3.0.0/24"}], [{"subnet": "fd00::/64", "gateway": "fd00::9"}]],
        "subnet": "10.2.0.0/24", "rangeStart": "10.2.0.5", "rangeEnd": "10.2.0.9", "gateway": "10.2.0.254",
    }}));
    let runtime = runtime(
        &json!({"ipRanges": [[{"subnet": "10.1.0.0/24", "rangeEnd": "10.1.0.3"}, {"subnet": "10.1.1.0/30"}]]}),
    );
    let settings = config.settings(&runtime, CniVersion::V0_3_0).unwrap();
    let sets: Vec<_> = settings.sets.iter().map(ToString::to_string).collect();
    assert_eq!(
        sets,
        [
            "10.1.0.1-10.1.0.3,10.1.1.1-10.1.1.2",
            "10.2.0.5-10.2.0.9",
            "10.3.0.1-10.3.0.254",
            "fd00::1-fd00::ffff:ffff:ffff:ffff"
        ]
    );
    assert_eq!(settings.sets[1].ranges()[0].gateway().to_string(), "10.2.0.254");
    assert_eq!(settings.sets[3].ranges()[0].gateway().to_string(), "fd00::9");
}

#[test]
fn what_is_null_or_empty_is_absent() {
    let settings = settings(json!({
        "ipam": {
            "subnet": "10.2.0.0/24", "rangeStart": null, "rangeEnd": "", "gateway": "", "ranges": null, "routes": null,
            "resolvConf": "", "dataDir": "", "unknown": [1],
        },
        "args": {"cni": null},
    }));
    let settings = settings.unwrap();
    assert_eq!(settings.sets[0].to_string(), "10.2.0.1-10.2.0.254");
    assert_eq!((settings.routes.len(), settings.resolv_conf), (0, None));
    assert_eq!(
        config(json!({"ipam": {"dataDir": ""}})).data_dir().unwrap(),
        Path::new("/var/lib/cni/networks")
    );
    assert_eq!(config(json!({"ipam": {"dataDir": "/run/x"}})).data_dir().unwrap(), Path::new("/run/x"));
}

#[test]
fn routes_keep_the_attributes_of_1_1() {
    let routes = json!([
        {"dst": "0.0.0.0/0"},
        {"dst": "10.0.0.0/8", "gw": "10.2.0.3", "mtu": 1400, "advmss": 1360, "priority": 100, "table": 50, "scope": 0},
    ]);
    let settings = settings(json!({"ipam": {"subnet": "10.2.0.0/24", "routes": routes}})).unwrap();
    assert_eq!(serde_json::to_value(settings.routes).unwrap(), routes);
}

#[test]
fn requests_of_all_three_ways_are_added_up_and_count_once() {
    let config = config(json!({"args": {"cni": {"ips": ["10.2.0.7", "10.2.0.6/24"]}}}));
    let runtime = runtime(&json!({"ips": ["10.2.0.5/24", "2001:db8::5", "::ffff:10.2.0.8", "10.2.0.6"]}));
    let requested = |args: &str| -> Vec<String> {
        let args = Args::parse(args).unwrap();
        config.requested(&runtime, &args).unwrap().iter().map(ToString::to_string).collect()
    };
    assert_eq!(requested("IP=10.2.0.8"), ["10.2.0.8", "10.2.0.7", "10.2.0.6", "10.2.0.5", "2001:db8::5"]);
    assert_eq!(requested("IP=10.2.0.9/24")[0], "10.2.0.9");
    assert_eq!(requested("IP=;IgnoreUnknown=1;K8S_POD_NAME=p")[0], "10.2.0.7");
    let error = Args::parse("IP=nonsense").unwrap_err().to_string();
    assert!(error.contains("invalid IP address nonsense"), "{error}");
    assert!(Args::parse("MAC=02:00:00:00:00:01").unwrap_err().to_string().starts_with("ARGS: unknown args"));
}

#[test]
fn ranges_and_requests_are_bounded_and_the_error_says_by_how_many() {
    let set = |number: usize| json!([{"subnet": format!("10.{}.{}.0/30", number / 256, number % 256)}]);
    let of = |count: usize| settings(json!({"ipam": {"ranges": (0..count).map(set).collect::<Vec<_>>()}}));
    assert_eq!(of(MAX_RANGES).unwrap().sets.len(), 1024);
    assert_eq!(
        of(MAX_RANGES + 1).unwrap_err().to_string(),
        "1025 IP ranges in ipam.subnet, ipam.ranges and the runtime's ipRanges, expected at most 1024",
    );

    let requested = |count: usize| {
        let ips: Vec<_> =
            (0..count).map(|number| format!("10.{}.{}.2", number / 256, number % 256)).collect();
        config(json!({"args": {"cni": {"ips": ips}}}))
            .requested(&runtime(&json!({})), &Args::parse("").unwrap())
    };
    assert_eq!(requested(MAX_REQUESTED).unwrap().len(), 1024);
    assert_eq!(
        requested(MAX_REQUESTED + 1).unwrap_err().to_string(),
        "1025 addresses requested by CNI_ARGS, args.cni.ips and the runtime's ips, expected at most 1024",
    );
}

#[test]
fn faults_are_told_in_gos_words() {
    assert_eq!(settings(json!({})).unwrap_err().to_string(), "IPAM config missing 'ipam' key");
    assert_eq!(config(json!({})).data_dir().unwrap_err(), ConfigError::NoIpam);
    // Bounds without a subnet are no range.
    for ipam in [json!({}), json!({"gateway": "10.2.0.1", "rangeStart": "10.2.0.5"}), json!({"ranges": []})] {
        assert!(fault(&ipam).starts_with("no IP ranges specified"));
    }
    assert_eq!(fault(&json!({"ranges": [[]]})), "invalid range set 0: empty range set");
    assert_eq!(
        fault(&json!({"subnet": "10.2.0.0/24", "ranges": [[]]})),
        "invalid range set 1: empty range set"
    );
    assert_eq!(
        fault(&json!({"ranges": [[{"subnet": "10.2.0.0/24"}, {"subnet": "fd00::/64"}]]})),
        "invalid range set 0: mixed address families"
    );
    assert_eq!(
        fault(
            &json!({"ranges": [[{"subnet": "10.2.0.0/24"}], [{"subnet": "fd00::/64"}], [{"subnet": "10.2.0.0/16"}]]})
        ),
        "range set 0 overlaps with 2"
    );
    assert_eq!(
        fault(&json!({"subnet": "10.8.0.0/31"})),
        "invalid range set 0: Network 10.8.0.0/31 too small to allocate from"
    );
    for (key, value, expected) in [
        ("subnet", "bogus", "invalid CIDR address: bogus"),
        ("rangeStart", "bogus", "invalid IP address: bogus"),
        ("gateway", "10.2.0.1/24", "invalid IP address: 10.2.0.1/24"),
    ] {
        let error = serde_json::from_value::<Config>(json!({"ipam": {key: value}})).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn old_versions_have_one_address_of_a_family() {
    let two = config(json!({"ipam": {"ranges": [[{"subnet": "10.2.0.0/24"}], [{"subnet": "10.3.0.0/24"}]]}}));
    let both = config(json!({"ipam": {"ranges": [[{"subnet": "10.2.0.0/24"}], [{"subnet": "fd00::/64"}]]}}));
    let no_runtime = runtime(&json!({}));
    for version in CniVersion::ALL {
        assert!(both.settings(&no_runtime, version).is_ok());
        let answer = two.settings(&no_runtime, version);
        if version < CniVersion::V0_3_0 {
            let expected = format!("CNI version {version} does not support more than 1 address per family");
            assert_eq!(answer.unwrap_err().to_string(), expected);
        } else {
            assert!(answer.is_ok());
        }
    }
}
