#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use serde_json::json;

use super::*;
use crate::config::Config;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn cidr(text: &str) -> Cidr {
    text.parse().unwrap()
}

fn owner() -> Owner {
    Owner { network: "br".into(), container_id: "cid1".into(), ifname: "eth0".into() }
}

fn settings(keys: serde_json::Value) -> Settings {
    let config: Config = serde_json::from_value(keys.clone()).unwrap();
    let request = cni_skel::types::config::PluginConfig::decode(keys.to_string().as_bytes()).unwrap();
    Settings::new(&config, &request).unwrap()
}

fn mapped(mappings: serde_json::Value) -> Settings {
    settings(json!({"runtimeConfig": {"portMappings": mappings}}))
}

fn result(json: serde_json::Value) -> AddResult {
    serde_json::from_value(json).unwrap()
}

#[test]
fn the_first_address_of_each_family_is_the_containers() {
    let found = container_addresses(
        &result(json!({
            "interfaces": [{"name": "br0"}, {"name": "eth0"}, {"name": "eth0", "sandbox": "/x"}, {"name": "eth1", "sandbox": "/x"}],
            "ips": [
                {"interface": 0, "address": "10.0.0.1/24"},
                {"interface": 1, "address": "10.0.1.1/24"},
                {"interface": 3, "address": "10.0.3.1/24"},
                {"interface": 2, "address": "10.0.2.1/24"},
                {"interface": 2, "address": "fd00::2/64"},
                {"interface": 2, "address": "10.0.2.2/24"},
            ]
        })),
        "eth0",
    );
    assert_eq!(found, [cidr("10.0.2.1/24"), cidr("fd00::2/64")]);
}

#[test]
fn an_address_of_nobody_in_particular_counts() {
    for interface in [json!(null), json!(9)] {
        let ips = json!({"ips": [{"interface": interface, "address": "10.0.0.1/24"}]});
        assert_eq!(container_addresses(&result(ips), "eth0"), [cidr("10.0.0.1/24")]);
    }
    assert_eq!(container_addresses(&AddResult::default(), "eth0"), []);
}

#[test]
fn a_family_without_mappings_or_address_is_not_touched() {
    let families = |mappings, addresses: &[&str]| -> Vec<_> {
        let addresses: Vec<_> = addresses.iter().map(|address| cidr(address)).collect();
        Forwarding::all(&mapped(mappings), &addresses).iter().map(|forwarding| forwarding.family).collect()
    };
    let any = json!([{"hostPort": 80, "containerPort": 80}]);
    let v4_only = json!([{"hostPort": 80, "containerPort": 80, "hostIP": "192.0.2.1"}]);
    assert_eq!(families(any.clone(), &["10.0.0.2/24", "fd00::2/64"]), [Family::V4, Family::V6]);
    assert_eq!(families(any, &["fd00::2/64"]), [Family::V6]);
    assert_eq!(families(v4_only.clone(), &["10.0.0.2/24", "fd00::2/64"]), [Family::V4]);
    assert_eq!(families(v4_only, &["fd00::2/64"]), []);
    assert_eq!(families(json!([]), &["10.0.0.2/24"]), []);
}

#[test]
fn c72_masquerading_has_one_source_with_masq_all() {
    let sources = |keys| -> Vec<_> {
        let mut keys: serde_json::Value = keys;
        keys["runtimeConfig"] = json!({"portMappings": [{"hostPort": 80, "containerPort": 80}]});
        let both = [cidr("10.1.0.5/16"), cidr("fd00::2/64")];
        Forwarding::all(&settings(keys), &both).into_iter().map(|forwarding| forwarding.masqueraded).collect()
    };
    use Source::{Container, Everyone, Localhost};
    assert_eq!(sources(json!({})), [vec![Container, Localhost], vec![Container]]);
    assert_eq!(sources(json!({"masqAll": true})), [[Everyone], [Everyone]]);
    assert_eq!(sources(json!({"snat": false, "masqAll": true})), [vec![], vec![]]);
}

/// A port that another container has.
fn claim(protocol: Protocol, host_ip: Option<&str>, network: Option<&str>, conditional: bool) -> Claim {
    Claim {
        dnat: Dnat {
            protocol,
            host_port: 8080,
            host_ip: host_ip.map(ip),
            to: "10.2.0.9:80".parse().unwrap(),
        },
        container_id: "cid2".into(),
        network: network.map(str::to_owned),
        conditional,
    }
}

fn clash(keys: serde_json::Value, claim: Claim) -> Option<String> {
    let forwarding = &Forwarding::all(&settings(keys), &[cidr("10.2.0.2/24")])[0];
    let known = |id: &str| (id == "cid2").then(|| "recorded".to_owned());
    forwarding.clash(&owner(), &[claim], known).map(|error| error.to_object().msg)
}

#[test]
fn a_port_of_another_container_is_told() {
    let keys = json!({"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}});
    assert_eq!(
        clash(keys.clone(), claim(Protocol::Tcp, None, Some("other"), false)).unwrap(),
        r#"host port 8080/tcp is already forwarded to container "cid2" of network "other", at 10.2.0.9:80"#
    );
    assert_eq!(
        clash(keys.clone(), claim(Protocol::Tcp, Some("192.0.2.1"), None, false)).unwrap(),
        r#"host port 8080/tcp is already forwarded to container "cid2" of network "recorded", at 10.2.0.9:80"#
    );
    assert_eq!(clash(keys, claim(Protocol::Udp, None, None, false)), None, "another protocol");
}

#[test]
fn two_addresses_of_the_host_have_their_own_ports() {
    let on = |host_ip: &str| json!({"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "hostIP": host_ip}]}});
    assert_eq!(clash(on("192.0.2.1"), claim(Protocol::Tcp, Some("192.0.2.2"), None, false)), None);
    assert!(clash(on("192.0.2.1"), claim(Protocol::Tcp, Some("192.0.2.1"), None, false)).is_some());
    assert!(clash(on("192.0.2.1"), claim(Protocol::Tcp, None, None, false)).is_some());
    assert!(clash(on("0.0.0.0"), claim(Protocol::Tcp, Some("192.0.2.1"), None, false)).is_some());
}

#[test]
fn conditions_keep_networks_apart_but_not_containers_of_one() {
    let keys = |conditions: serde_json::Value| json!({"conditionsV4": conditions, "runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}});
    let with = || keys(json!(["-s", "192.0.2.0/24"]));
    assert_eq!(clash(with(), claim(Protocol::Tcp, None, Some("other"), false)), None);
    assert_eq!(clash(keys(json!([])), claim(Protocol::Tcp, None, Some("other"), true)), None);
    assert!(clash(with(), claim(Protocol::Tcp, None, Some("br"), true)).is_some());
}

#[test]
fn a_removal_takes_what_is_known_to_be_the_attachments() {
    let removal = |addresses: Option<&[&str]>, others: &[&str], has_unknown| Removal {
        network: "br".into(),
        container_id: "cid1".into(),
        addresses: addresses.map(|addresses| addresses.iter().map(|address| ip(address)).collect()),
        others: others.iter().map(|address| ip(address)).collect(),
        has_unknown,
    };
    let (own, other, unknown) = (Some(ip("10.0.0.2")), Some(ip("10.0.0.3")), Some(ip("10.0.0.4")));
    let taken = |removal: &Removal| [own, other, unknown, None].map(|address| removal.takes(address));
    let in_network =
        |removal: &Removal| [own, other, unknown, None].map(|address| removal.takes_from_network(address));

    // Rules of other networks may lead to unknown addresses, but in the own network they are leftovers.
    let recorded = removal(Some(&["10.0.0.2"]), &["10.0.0.3"], false);
    assert_eq!(taken(&recorded), [true, false, false, false]);
    assert_eq!(in_network(&recorded), [true, false, true, true]);

    let nothing_known = removal(None, &["10.0.0.3"], false);
    assert_eq!(taken(&nothing_known), [true, false, true, true]);
    assert_eq!(in_network(&nothing_known), [true, false, true, true]);

    // Another interface of the network is alive, and nobody knows its address.
    let careful = removal(Some(&["10.0.0.2"]), &[], true);
    assert_eq!(in_network(&careful), [true, false, false, false]);
}
