#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use serde_json::json;

use super::*;

/// The settings of a configuration with these keys beside the usual ones.
fn settings(keys: serde_json::Value) -> Result<Settings, String> {
    let config: Config = serde_json::from_value(keys.clone()).unwrap();
    let request = PluginConfig::decode(keys.to_string().as_bytes()).unwrap();
    Settings::new(&config, &request).map_err(|error| error.to_object().msg)
}

fn error(keys: serde_json::Value) -> String {
    settings(keys).expect_err("must be refused")
}

fn with_mapping(mapping: serde_json::Value) -> serde_json::Value {
    json!({"runtimeConfig": {"portMappings": [{"hostPort": 1, "containerPort": 1}, mapping]}})
}

#[test]
fn defaults_are_gos() {
    let expected = Settings {
        backend: None,
        snat: true,
        masq_all: false,
        mark: Mark::Bit(13),
        conditions_v4: vec![],
        conditions_v6: vec![],
        mappings: vec![],
    };
    assert_eq!(settings(json!({})).unwrap(), expected);
    let nulls = json!({"backend": null, "snat": null, "masqAll": null, "markMasqBit": null, "conditionsV4": null,
                       "externalSetMarkChain": null, "runtimeConfig": {"portMappings": null}});
    assert_eq!(settings(nulls).unwrap(), expected);
    assert_eq!(Config::default().data_dir(), Path::new("/run/cni/portmap"));
    let given: Config = serde_json::from_value(json!({"dataDir": "/x"})).unwrap();
    assert_eq!(given.data_dir(), Path::new("/x"));
}

#[test]
fn every_key_is_read() {
    let given = settings(json!({
        "backend": "iptables", "snat": false, "masqAll": true, "markMasqBit": 31,
        "conditionsV4": ["!", "-d", "192.0.2.0/24"], "conditionsV6": ["-d", "fd00::/64"],
        "runtimeConfig": {"portMappings": [
            {"hostPort": 8080, "containerPort": 80, "protocol": "TCP"},
            {"hostPort": 53, "containerPort": 53, "protocol": "udp", "hostIP": "::ffff:192.0.2.1"},
        ]}
    }))
    .unwrap();
    assert_eq!(given.backend, Some(Backend::Iptables));
    assert_eq!((given.snat, given.masq_all, &given.mark), (false, true, &Mark::Bit(31)));
    assert_eq!(given.conditions(Family::V4), ["!", "-d", "192.0.2.0/24"]);
    assert_eq!(given.conditions(Family::V6), ["-d", "fd00::/64"]);
    let [http, dns] = given.mappings[..] else { panic!("{:?}", given.mappings) };
    // Go's nftables backend refuses upper case.
    assert_eq!((http.protocol, http.host_ip), (Protocol::Tcp, None));
    assert_eq!((dns.protocol, dns.host_ip), (Protocol::Udp, Some("192.0.2.1".parse().unwrap())));
    let chain = settings(json!({"externalSetMarkChain": "KUBE-MARK-MASQ"})).unwrap();
    assert_eq!(chain.mark, Mark::Chain("KUBE-MARK-MASQ".into()));
}

#[test]
fn impossible_ports_are_refused_in_gos_words() {
    assert_eq!(
        error(with_mapping(json!({"hostPort": 0, "containerPort": 80}))),
        "failed to parse config: Invalid host port number: 0"
    );
    assert_eq!(
        error(with_mapping(json!({"hostPort": 80, "containerPort": 0}))),
        "failed to parse config: Invalid container port number: 0"
    );
    let too_high = error(with_mapping(json!({"hostPort": 65536, "containerPort": 80})));
    assert!(too_high.contains("runtimeConfig.portMappings[1].hostPort"), "{too_high}");
    assert!(too_high.contains("65536"), "{too_high}");
}

#[test]
fn a_host_ip_that_does_not_parse_is_refused() {
    // Go forwards nothing then, and says nothing.
    let refused = error(with_mapping(json!({"hostPort": 80, "containerPort": 80, "hostIP": "localhost"})));
    assert!(refused.starts_with("failed to parse config: "), "{refused}");
    assert!(refused.contains("runtimeConfig.portMappings[1].hostIP"), "{refused}");
    assert!(refused.contains(r#"invalid IP address: "localhost""#), "{refused}");
}

#[test]
fn an_unspecified_host_ip_is_every_address_of_its_family() {
    let given = settings(json!({"runtimeConfig": {"portMappings": [
        {"hostPort": 80, "containerPort": 80, "hostIP": ""},
        {"hostPort": 80, "containerPort": 80, "hostIP": "0.0.0.0"},
        {"hostPort": 80, "containerPort": 80, "hostIP": "::"},
        {"hostPort": 80, "containerPort": 80, "hostIP": "fd00::1"},
    ]}}))
    .unwrap();
    let seen: Vec<_> = given
        .mappings
        .iter()
        .map(|mapping| (mapping.is_of(Family::V4), mapping.is_of(Family::V6), mapping.only_to().is_some()))
        .collect();
    assert_eq!(seen, [(true, true, false), (true, false, false), (false, true, false), (false, true, true)]);
}

#[test]
fn marks_are_refused_in_gos_words() {
    for bit in [-1, 32, 1000] {
        let expected = "failed to parse config: MasqMarkBit must be between 0 and 31";
        assert_eq!(error(json!({"markMasqBit": bit})), expected);
    }
    assert_eq!(
        error(json!({"markMasqBit": 5, "externalSetMarkChain": "X"})),
        "failed to parse config: Cannot specify externalSetMarkChain and markMasqBit"
    );
}

#[test]
fn c76_an_explicit_backend_is_obeyed() {
    assert_eq!(settings(json!({"backend": "nftables"})).unwrap().backend, Some(Backend::Nftables));
    assert_eq!(error(json!({"backend": "pf"})), r#"failed to parse config: unrecognized backend "pf""#);
    assert_eq!(
        error(json!({"backend": "nftables", "externalSetMarkChain": "X", "conditionsV4": ["-a", "b"]})),
        "failed to parse config: nftables backend was requested but configuration contains iptables-specific options \
         [externalSetMarkChain conditionsV4]"
    );
    assert_eq!(
        error(json!({"backend": "iptables", "conditionsV6": ["ip6", "saddr", "::1"]})),
        "failed to parse config: iptables backend was requested but configuration contains nftables-specific options \
         [conditionsV6]"
    );
}

#[test]
fn without_a_backend_the_conditions_choose_it() {
    let backend = |keys| settings(keys).unwrap().backend;
    assert_eq!(backend(json!({"conditionsV4": ["ip", "saddr", "10.0.0.0/8"]})), Some(Backend::Nftables));
    assert_eq!(backend(json!({"conditionsV6": ["!", "-s", "fd00::/8"]})), Some(Backend::Iptables));
    assert_eq!(backend(json!({"externalSetMarkChain": "X"})), Some(Backend::Iptables));
    assert_eq!(backend(json!({"conditionsV4": [], "conditionsV6": [""]})), None);
    assert!(settings(json!({"conditionsV4": ["ip", "saddr", "@x"], "conditionsV6": ["-s", "::1"]})).is_err());
}

#[test]
fn a_condition_never_becomes_another_rule() {
    for word in ["@x\nflush ruleset", "@x; flush ruleset", "@x # "] {
        let refused = error(json!({"conditionsV4": ["ip", "saddr", word]}));
        assert!(refused.starts_with("failed to parse config: conditionsV4: invalid condition "), "{refused}");
    }
}
