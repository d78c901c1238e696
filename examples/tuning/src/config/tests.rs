#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use serde_json::{Value, json};

use super::*;

const MAC: &str = "02:00:00:00:00:0a";

fn read(config: Value, args: Option<&str>, runtime: Option<&str>) -> Result<Settings, String> {
    let config: Config = serde_json::from_value(config).unwrap();
    let args = Args { mac: args.map(str::to_owned) };
    let runtime = Runtime { mac: runtime.map(str::to_owned) };
    Settings::new(&config, &args, &runtime, "eth0").map_err(|error| error.to_object().msg)
}

fn settings(config: Value) -> Settings {
    read(config, None, None).unwrap()
}

fn mac(text: &str) -> Option<MacAddr> {
    Some(text.parse().unwrap())
}

#[test]
fn nothing_is_changed_by_default() {
    let nothing = Settings { sysctls: vec![], link: LinkSettings::default() };
    assert_eq!(settings(json!({})), nothing);
    let nulls = json!({"sysctl": null, "mac": null, "promisc": null, "mtu": null, "allmulti": null, "txQLen": null,
                       "dataDir": null, "args": null});
    assert_eq!(settings(nulls), nothing);
    assert_eq!(settings(json!({"mac": "", "promisc": false, "mtu": 0, "args": {"cni": null}})), nothing);
    assert!(nothing.link.is_empty());
    assert_eq!(Config::default().data_dir(), Path::new("/run/cni/tuning"));
}

#[test]
fn every_key_is_read() {
    let given = settings(json!({
        "sysctl": {"net.core.somaxconn": "500"}, "mac": MAC, "promisc": true, "mtu": 1400, "allmulti": false, "txQLen": 0,
        "dataDir": "/x",
    }));
    let Setting { key, path, value } = &given.sysctls[0];
    assert_eq!(
        (key.as_str(), path.as_str(), value.as_str()),
        ("net.core.somaxconn", "net/core/somaxconn", "500")
    );
    let link = LinkSettings {
        mac: mac(MAC),
        promisc: true,
        mtu: Some(1400),
        allmulti: Some(false),
        tx_queue: Some(0),
    };
    assert_eq!(given.link, link);
}

#[test]
fn the_last_place_wins() {
    let of = |n: u8| format!("02:00:00:00:00:0{n}");
    let config = |last: Option<&str>| {
        let cni = last.map_or(json!({}), |mac| json!({"mac": mac}));
        json!({"mac": of(1), "args": {"cni": cni}})
    };
    let found =
        |config, args: Option<&str>, runtime: Option<&str>| read(config, args, runtime).unwrap().link.mac;
    assert_eq!(found(config(None), None, None), mac(&of(1)));
    assert_eq!(found(config(None), Some(&of(2)), None), mac(&of(2)));
    assert_eq!(found(config(None), Some(&of(2)), Some(&of(3))), mac(&of(3)));
    assert_eq!(found(config(Some(&of(4))), Some(&of(2)), Some(&of(3))), mac(&of(4)));
    // Empty is "none given", but in the last place "leave alone".
    assert_eq!(found(config(None), Some(""), Some("")), mac(&of(1)));
    assert_eq!(found(config(Some("")), Some(&of(2)), Some(&of(3))), None);

    let both = settings(json!({
        "promisc": true, "mtu": 1400, "allmulti": true, "txQLen": 1,
        "args": {"cni": {"promisc": false, "mtu": 1300, "allmulti": false, "txQLen": 2, "ips": ["10.1.0.5"]}},
    }));
    let link =
        LinkSettings { mac: None, promisc: false, mtu: Some(1300), allmulti: Some(false), tx_queue: Some(2) };
    assert_eq!(both.link, link);
    assert_eq!(settings(json!({"mtu": 1400, "args": {"cni": {"mtu": 0}}})).link.mtu, None);
}

#[test]
fn sysctls_of_both_places_are_set() {
    let found = |config| -> Vec<_> {
        settings(config)
            .sysctls
            .into_iter()
            .map(|setting| format!("{}={}", setting.path, setting.value))
            .collect()
    };
    let pairs = json!({"net.core.somaxconn": "1", "net.ipv4.ip_forward": "2"});
    // Go panics when only the last place has any.
    assert_eq!(
        found(json!({"args": {"cni": {"sysctl": pairs}}})),
        ["net/core/somaxconn=1", "net/ipv4/ip_forward=2"]
    );
    // The same key in another notation is the same.
    let later = json!({"net/ipv4/ip_forward": "3", "net.ipv4.conf.IFNAME.arp_notify": "4"});
    assert_eq!(
        found(json!({"sysctl": pairs, "args": {"cni": {"sysctl": later}}})),
        ["net/core/somaxconn=1", "net/ipv4/ip_forward=3", "net/ipv4/conf/eth0/arp_notify=4"]
    );
}

#[test]
fn the_order_is_that_of_the_text() {
    let text = r#"{"sysctl": {"net.z": "1", "net.a": "2", "net.m": "3"}}"#;
    let config: Config = serde_json::from_str(text).unwrap();
    let settings = Settings::new(&config, &Args::default(), &Runtime::default(), "eth0").unwrap();
    let keys: Vec<_> = settings.sysctls.iter().map(|setting| setting.key.as_str()).collect();
    assert_eq!(keys, ["net.z", "net.a", "net.m"]);
}

#[test]
fn a_key_that_stands_there_twice_is_refused() {
    for (text, both) in [
        (r#"{"sysctl": {"net.a": "1", "net.a": "1"}}"#, r#""net.a" and "net.a" are the same"#),
        (r#"{"sysctl": {"net.a": "1", "net/a": "2"}}"#, r#""net.a" and "net/a" are the same"#),
        (
            r#"{"args": {"cni": {"sysctl": {"net.a": "1", "net.a": "1"}}}}"#,
            r#""net.a" and "net.a" are the same"#,
        ),
    ] {
        let config: Config = serde_json::from_str(text).unwrap();
        let refused =
            Settings::new(&config, &Args::default(), &Runtime::default(), "eth0").unwrap_err().to_object();
        assert_eq!(refused.code(), ErrorCode::INVALID_NETWORK_CONFIG);
        assert_eq!(refused.msg, format!("duplicated sysctl keys are not allowed: {both}"));
    }
}

#[test]
fn addresses_are_read_as_go_reads_them() {
    for text in ["02:00:00:00:AB:0a", "02-00-00-00-ab-0A", "0200.0000.ab0a"] {
        assert_eq!(settings(json!({"mac": text})).link.mac, mac("02:00:00:00:ab:0a"), "{text}");
    }
    for text in ["02:00:00:00:00", "0200.0000.ab0", "0200.0000.ab0g", "020000000000", "x", "0ü0.0000.ab0a"] {
        let refused = read(json!({"mac": text}), None, None).unwrap_err();
        assert!(refused.starts_with(&format!("invalid args {text} for MAC addr: ")), "{refused}");
    }
}

#[test]
fn values_of_another_type_are_refused() {
    for wrong in [
        json!({"sysctl": {"net.a": 1}}),
        json!({"sysctl": ["net.a"]}),
        json!({"mtu": -1}),
        json!({"mtu": "1400"}),
        json!({"txQLen": -1}),
        json!({"promisc": "yes"}),
        json!({"args": {"cni": {"mtu": true}}}),
    ] {
        assert!(serde_json::from_value::<Config>(wrong.clone()).is_err(), "{wrong}");
    }
}
