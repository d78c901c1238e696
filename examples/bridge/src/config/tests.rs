use cni_skel::types::config::PluginConfig;
use plugin_support::firewall::probe::Backend;
use serde_json::{Value, json};

use super::*;

/// The settings of a configuration with these keys.
#[allow(clippy::needless_pass_by_value, reason = "the keys are written where it is called")]
fn settings(keys: Value) -> Result<Settings> {
    let config = serde_json::from_value(keys.clone()).unwrap();
    Settings::new(&config, &PluginConfig::decode(keys.to_string().as_bytes()).unwrap())
}

fn refused(keys: Value) -> String {
    let object = settings(keys).unwrap_err().to_object();
    assert_eq!(object.code(), ErrorCode::INVALID_NETWORK_CONFIG);
    object.msg
}

#[test]
fn without_a_key_it_is_a_plain_bridge() {
    let settings = settings(json!({})).unwrap();
    assert_eq!(
        settings,
        Settings {
            bridge: "cni0".to_owned(),
            ipam: false,
            is_gateway: false,
            is_default_gateway: false,
            force_address: false,
            masquerade: None,
            mtu: None,
            hairpin: false,
            promisc: false,
            isolated: false,
            vlans: None,
            mac_spoof_check: false,
            detect_duplicates: false,
            link_up: true,
            dns: None,
        }
    );
}

#[test]
fn every_key_is_read() {
    let settings = settings(json!({
        "bridge": "br7", "isGateway": true, "isDefaultGateway": false, "forceAddress": true, "ipMasq": true,
        "ipMasqBackend": "nftables", "mtu": 1400, "hairpinMode": true, "promiscMode": false, "portIsolation": true,
        "vlan": 5, "vlanTrunk": [{"id": 9}], "preserveDefaultVlan": true, "macspoofchk": true, "enabledad": true,
        "ipam": {"type": "host-local"}, "dns": {"nameservers": ["10.1.0.1"]},
    }))
    .unwrap();
    assert_eq!((settings.bridge.as_str(), settings.mtu, settings.ipam), ("br7", Some(1400), true));
    assert!(settings.is_gateway && !settings.is_default_gateway && settings.force_address);
    assert_eq!(settings.masquerade, Some(Masquerade { backend: Some(Backend::Nftables) }));
    assert!(settings.hairpin && settings.isolated && settings.mac_spoof_check && settings.detect_duplicates);
    assert_eq!(settings.dns.unwrap().nameservers, ["10.1.0.1"]);
    let vlans = settings.vlans.unwrap();
    assert_eq!((vlans.access, vlans.native, vlans.tagged), (Some(5), Some(5), vec![9..=9]));
    assert!(vlans.keep_default);
}

#[test]
fn a_default_gateway_is_a_gateway() {
    assert!(settings(json!({"isDefaultGateway": true})).unwrap().is_gateway);
    assert!(settings(json!({"isDefaultGateway": true, "isGateway": false})).unwrap().is_gateway);
}

#[test]
fn null_is_absent() {
    let keys = json!({"bridge": null, "mtu": null, "vlanTrunk": null, "ipMasq": null, "ipMasqBackend": null, "ipam": null, "args": null});
    assert_eq!(settings(keys).unwrap(), settings(json!({})).unwrap());
}

#[test]
fn c66_hairpin_and_promiscuous_mode_exclude_each_other() {
    assert_eq!(
        refused(json!({"hairpinMode": true, "promiscMode": true})),
        "cannot set hairpin mode and promiscuous mode at the same time"
    );
}

#[test]
fn c68_a_link_that_stays_down_needs_no_addresses() {
    let keys = json!({"disableContainerInterface": true, "ipam": {"type": "host-local"}});
    assert_eq!(refused(keys), "cannot use IPAM when DisableContainerInterface flag is set");
    assert!(!settings(json!({"disableContainerInterface": true, "ipam": {}})).unwrap().link_up);
}

#[test]
fn values_that_cannot_be_are_told() {
    for (keys, told) in [
        (json!({"vlan": 4095}), "invalid VLAN ID 4095 (must be between 0 and 4094)"),
        (json!({"vlan": -1}), "invalid VLAN ID -1 (must be between 0 and 4094)"),
        (json!({"vlanTrunk": [{"minID": 0, "maxID": 4}]}), "incorrect trunk minID parameter (vlanTrunk[0])"),
        (
            json!({"vlanTrunk": [{"id": 1}, {"minID": 4, "maxID": 4095}]}),
            "incorrect trunk maxID parameter (vlanTrunk[1])",
        ),
        (json!({"vlanTrunk": [{"id": 0}]}), "incorrect trunk id parameter (vlanTrunk[0])"),
        (
            json!({"vlanTrunk": [{"minID": 5, "maxID": 4}]}),
            "minID is greater than maxID in trunk parameter (vlanTrunk[0])",
        ),
        (
            json!({"vlanTrunk": [{"minID": 5}]}),
            "minID and maxID should be configured simultaneously, maxID is missing (vlanTrunk[0])",
        ),
        (
            json!({"vlanTrunk": [{"maxID": 5}]}),
            "minID and maxID should be configured simultaneously, minID is missing (vlanTrunk[0])",
        ),
        (
            json!({"ipMasq": true, "ipMasqBackend": "pf"}),
            r#"unknown ipmasq backend "pf": ipMasqBackend must be "iptables" or "nftables""#,
        ),
        (json!({"mtu": -1}), "mtu: invalid value -1, expected 0 or a number from 68 to 65535"),
        (json!({"mtu": 90000}), "mtu: invalid value 90000, expected 0 or a number from 68 to 65535"),
    ] {
        assert_eq!(refused(keys.clone()), told, "{keys}");
    }
    assert!(refused(json!({"bridge": ""})).starts_with("bridge: "));
    assert!(refused(json!({"bridge": "sixteen-bytes-xx"})).starts_with("bridge: interface name is too long"));
    let keys = json!({"bridge": "eleven-byte", "vlan": 1000, "isGateway": true, "ipam": {"type": "x"}});
    assert!(refused(keys).starts_with("the gateway of vlan: interface name is too long"));
}

#[test]
fn a_backend_that_is_not_asked_for_does_not_matter() {
    assert_eq!(settings(json!({"ipMasqBackend": "pf"})).unwrap().masquerade, None);
}

#[test]
fn vlans_without_tags_and_with() {
    let vlans = |keys| settings(keys).unwrap().vlans;
    let of = |access, native, tagged: &[_]| {
        Some(Vlans { access, native, tagged: tagged.to_vec(), keep_default: false })
    };
    assert_eq!(vlans(json!({"vlan": 0})), None);
    assert_eq!(vlans(json!({"vlan": 100})), of(Some(100), Some(100), &[]));
    assert_eq!(
        vlans(json!({"vlanTrunk": []})),
        of(None, None, &[]),
        "the bridge keeps VLANs apart all the same"
    );
    // Without another, VLAN 1 is that of frames without a tag.
    let trunk = json!([{"minID": 10, "maxID": 12}, {"id": 13}, {"id": 20, "minID": 11, "maxID": 11}, {}]);
    assert_eq!(vlans(json!({"vlanTrunk": trunk})), of(None, Some(1), &[10..=13, 20..=20]));
    assert_eq!(
        vlans(json!({"vlan": 11, "vlanTrunk": trunk})),
        of(Some(11), Some(11), &[10..=10, 12..=13, 20..=20])
    );
    let all = json!({"vlanTrunk": [{"minID": 1, "maxID": 4094}]});
    assert_eq!(vlans(all), of(None, Some(1), &[2..=4094]));
}

#[test]
fn a_vlan_has_a_gateway_of_its_own() {
    let gateway = |keys| settings(keys).unwrap().vlan_gateway();
    let ipam = json!({"type": "host-local"});
    assert_eq!(gateway(json!({"vlan": 5, "isGateway": true, "ipam": ipam})).as_deref(), Some("cni0.5"));
    assert_eq!(gateway(json!({"vlan": 5, "isGateway": true})), None);
    assert_eq!(gateway(json!({"vlan": 5, "ipam": ipam})), None);
    assert_eq!(gateway(json!({"vlanTrunk": [{"id": 5}], "isGateway": true, "ipam": ipam})), None);
}

#[test]
fn c103_the_runtimes_address_goes_before_that_of_args_and_that_before_cni_args() {
    let mac = |runtime: &str, of_network: &str, of_args: &str| {
        let config: Config = serde_json::from_value(json!({"args": {"cni": {"mac": of_network}}})).unwrap();
        let runtime = Runtime { mac: Some(runtime.to_owned()) };
        config.mac(&runtime, &Args { mac: Some(of_args.to_owned()) }).unwrap().map(|mac| mac.to_string())
    };
    let [a, b, c] = ["0a:00:00:00:00:01", "0a:00:00:00:00:02", "0a:00:00:00:00:03"];
    assert_eq!(mac(a, b, c).as_deref(), Some(a));
    assert_eq!(mac("", b, c).as_deref(), Some(b));
    assert_eq!(mac("", "", c).as_deref(), Some(c));
    assert_eq!(mac("", "", ""), None);
    let nothing = Config::default().mac(&Runtime::default(), &Args::default()).unwrap();
    assert_eq!(nothing, None);
}

#[test]
fn c103_a_malformed_address_is_told_with_its_place() {
    let (config, args) = (Config::default(), Args { mac: Some("10.1.0.5".to_owned()) });
    let object = config.mac(&Runtime::default(), &args).unwrap_err().to_object();
    assert_eq!(object.code(), ErrorCode::INVALID_ENVIRONMENT);
    assert!(object.msg.starts_with("CNI_ARGS: MAC: invalid MAC address \"10.1.0.5\""), "{object}");
    let runtime = Runtime { mac: Some("0a".to_owned()) };
    let object = config.mac(&runtime, &args).unwrap_err().to_object();
    assert_eq!(object.code(), ErrorCode::INVALID_NETWORK_CONFIG);
    assert!(object.msg.starts_with("runtimeConfig.mac: invalid MAC address \"0a\""), "{object}");
}

#[test]
fn del_needs_no_configuration_that_makes_sense() {
    let config: Config =
        serde_json::from_value(json!({"vlan": 5000, "ipMasq": true, "ipMasqBackend": "pf"})).unwrap();
    assert_eq!(config.masquerade(), Some(Masquerade { backend: None }));
    assert!(!config.mac_spoof_check());
}
