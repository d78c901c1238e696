//! Where addresses come from, what CHECK finds, and the words of errors.

use cni_skel::CniVersion;
use cni_skel::testing::{Invocation, Outcome};
use serde_json::{Value, json};
use static_ipam::Static;

/// Two addresses, a route and a name server.
fn ipam() -> Value {
    json!({
        "type": "static",
        "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00::5/64"}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.0.0.0/8", "gw": "10.1.0.3", "mtu": 1400}],
        "dns": {"nameservers": ["192.0.2.1"], "domain": "a.example", "search": ["b.example"], "options": ["rotate"]},
    })
}

fn config(ipam: &Value) -> Value {
    json!({"cniVersion": "1.1.0", "name": "n1", "type": "macvlan", "ipam": ipam})
}

fn adding(config: &Value) -> Invocation {
    Invocation::add("c1", "/run/netns/none", "eth0").config(config)
}

/// The addresses of a result with their gateways.
fn addresses(outcome: &Outcome) -> Vec<String> {
    outcome.assert_success();
    let text = |ip: &cni_skel::IpConfig| match ip.gateway {
        Some(gateway) => format!("{} via {gateway}", ip.address),
        None => ip.address.to_string(),
    };
    outcome.result().ips.iter().map(text).collect()
}

#[test]
fn what_is_configured_is_given() {
    let ipam = ipam();
    let expected = json!({
        "cniVersion": "1.1.0",
        "ips": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00::5/64"}],
        "routes": ipam["routes"],
        "dns": ipam["dns"],
    });
    assert_eq!(adding(&config(&ipam)).run(&Static).json(), expected);
    for version in CniVersion::ALL {
        let mut config = config(&ipam);
        config["cniVersion"] = json!(version);
        assert_eq!(adding(&config).run(&Static).json()["cniVersion"], json!(version));
    }
}

#[test]
fn what_is_given_replaces_what_is_configured_in_gos_order() {
    let mut config = config(&ipam());
    let by_args = "IP=10.2.0.5/24, fd01::5/64";
    assert_eq!(
        addresses(&adding(&config).args(by_args).run(&Static)),
        ["10.1.0.5/24 via 10.1.0.1", "fd00::5/64", "10.2.0.5/24", "fd01::5/64"]
    );
    assert_eq!(addresses(&adding(&config).args("IP=;GATEWAY=").run(&Static)).len(), 2);
    config["args"] = json!({"cni": {"ips": ["10.3.0.5/24"]}});
    assert_eq!(addresses(&adding(&config).args(by_args).run(&Static)), ["10.3.0.5/24"]);
    let by_runtime = json!(["10.4.0.5/24", "10.4.0.6/24"]);
    let outcome = adding(&config).args(by_args).capability("ips", by_runtime).run(&Static);
    assert_eq!(addresses(&outcome), ["10.4.0.5/24", "10.4.0.6/24"]);
    // Routes and name resolution remain.
    assert_eq!(outcome.result().routes.len(), 2);
    assert_eq!(outcome.result().dns.domain, "a.example");
    // Nothing given is nothing replaced.
    config["args"] = json!({"cni": {"ips": []}});
    assert_eq!(addresses(&adding(&config).capability("ips", json!([])).run(&Static)).len(), 2);
    config["args"] = json!({"cni": null});
    assert_eq!(addresses(&adding(&config).run(&Static)).len(), 2);
}

#[test]
fn a_gateway_by_args_reaches_every_address_of_its_subnet() {
    let mut config = config(&ipam());
    let gateways = "GATEWAY=10.1.0.9, fd00::1,10.2.0.1,192.0.2.1";
    let outcome = adding(&config).args(&format!("IP=10.2.0.5/24;{gateways}")).run(&Static);
    // Go's plugin knows the last of them alone.
    assert_eq!(
        addresses(&outcome),
        ["10.1.0.5/24 via 10.1.0.9", "fd00::5/64 via fd00::1", "10.2.0.5/24 via 10.2.0.1"]
    );
    let outcome = adding(&config).args(gateways).capability("ips", json!(["10.2.0.7/24"])).run(&Static);
    assert_eq!(addresses(&outcome), ["10.2.0.7/24 via 10.2.0.1"]);
    config["args"] = json!({"cni": {"ips": ["10.2.0.8/24"]}});
    assert_eq!(addresses(&adding(&config).args(gateways).run(&Static)), ["10.2.0.8/24 via 10.2.0.1"]);
}

#[test]
fn c103_an_address_without_a_prefix_is_refused_and_the_reason_told() {
    let good = config(&ipam());
    let ips = json!(["10.2.2.43/24", "10.2.2.42"]);
    let outcome = adding(&good).capability("ips", ips).run(&Static);
    assert_eq!(
        outcome.assert_error(7).msg,
        "an entry in the 'ips' field is NOT in CIDR notation, got: '10.2.2.42'"
    );
    let mut by_config = good.clone();
    by_config["args"] = json!({"cni": {"ips": ["2001:db8::5"]}});
    let outcome = adding(&by_config).run(&Static);
    assert_eq!(
        outcome.assert_error(7).msg,
        "an entry in the 'ips' field is NOT in CIDR notation, got: '2001:db8::5'"
    );
    let outcome = adding(&good).args("IP=10.2.0.5/24,10.2.0.6").run(&Static);
    assert_eq!(
        outcome.assert_error(4).msg,
        "the 'ip' field is expected to be in CIDR notation, got: '10.2.0.6'"
    );
    let outcome = adding(&good).args("GATEWAY=10.2.0.5/24").run(&Static);
    assert_eq!(outcome.assert_error(4).msg, "invalid gateway address: 10.2.0.5/24");
    for (address, text) in
        [(json!({"address": "10.1.0.5"}), "10.1.0.5"), (json!({"gateway": "10.1.0.1"}), "")]
    {
        let outcome = adding(&config(&json!({"addresses": [address]}))).run(&Static);
        let expected = format!("the 'address' field is expected to be in CIDR notation, got: '{text}'");
        assert_eq!(outcome.assert_error(7).msg, expected);
    }
    let outcome =
        adding(&config(&json!({"addresses": [{"address": "10.1.0.5/24", "gateway": "bogus"}]}))).run(&Static);
    let msg = &outcome.assert_error(7).msg;
    assert!(msg.ends_with("ipam.addresses[0].gateway: invalid IP address: bogus"), "{msg}");
}

#[test]
fn check_finds_a_missing_address() {
    let config = config(&ipam());
    let check = |ips: Value| {
        let prev_result = json!({"cniVersion": "1.1.0", "ips": ips});
        Invocation::check("c1", "/run/netns/none", "eth0")
            .config(&config)
            .prev_result(prev_result)
            .run(&Static)
    };
    let v4 = json!({"address": "10.1.0.5/24", "gateway": "10.1.0.1"});
    let v6 = json!({"address": "fd00::5/64", "gateway": "fd00::1"});
    let other = json!({"address": "10.9.0.5/24"});
    check(json!([other, v6, v4])).assert_success();
    for (ips, expected) in [
        // Content with this one, Go's plugin is.
        (json!([v4]), "addr fd00::5 on interface eth0: prevResult does not have it"),
        (json!([]), "addr 10.1.0.5 on interface eth0: prevResult does not have it"),
        (
            json!([{"address": "10.1.0.5/25", "gateway": "10.1.0.1"}, v6]),
            "addr 10.1.0.5 on interface eth0: prevResult has it as 10.1.0.5/25, expected 10.1.0.5/24",
        ),
        (
            json!([{"address": "10.1.0.5/24", "gateway": "10.1.0.2"}, v6]),
            "addr 10.1.0.5 on interface eth0: prevResult has it with gateway 10.1.0.2, expected 10.1.0.1",
        ),
        (
            json!([{"address": "10.1.0.5/24"}, v6]),
            "addr 10.1.0.5 on interface eth0: prevResult has it without a gateway, expected 10.1.0.1",
        ),
    ] {
        assert_eq!(check(ips).assert_error(999).msg, format!("static: Failed to match {expected}"));
    }
    let without = Invocation::check("c1", "/run/netns/none", "eth0").config(&config).run(&Static);
    assert!(without.assert_error(7).msg.starts_with("Required prevResult missing"));
}

#[test]
fn check_goes_by_what_the_runtime_gave() {
    let config = config(&ipam());
    let prev_result = json!({"ips": [{"address": "10.4.0.5/24"}]});
    let call = Invocation::check("c1", "/run/netns/none", "eth0").config(&config).prev_result(prev_result);
    call.capability("ips", json!(["10.4.0.5/24"])).run(&Static).assert_success();
}

#[test]
fn old_versions_have_one_address_of_a_family() {
    let two = json!({"addresses": [{"address": "10.1.0.5/24"}, {"address": "10.1.0.6/24"}]});
    for version in CniVersion::ALL {
        let mut config = config(&two);
        config["cniVersion"] = json!(version);
        let outcome = adding(&config).run(&Static);
        if version < CniVersion::V0_3_0 {
            let expected = format!("CNI version {version} does not support more than 1 address per family");
            assert_eq!(outcome.assert_error(7).msg, expected);
        } else {
            outcome.assert_success();
        }
    }
    let mut none = config(&json!({}));
    none["cniVersion"] = json!("0.2.0");
    assert!(
        adding(&none).run(&Static).assert_error(999).msg.starts_with("cannot convert: no valid IP addresses")
    );
    // Routes and name resolution alone are something, where a result can say so.
    adding(&config(&json!({"routes": [{"dst": "0.0.0.0/0"}]}))).run(&Static).assert_success();
}

#[test]
fn a_mapped_address_is_the_one_it_holds() {
    let outcome = adding(&config(&json!({"addresses": [{"address": "::ffff:10.1.0.5/120"}]}))).run(&Static);
    assert_eq!(addresses(&outcome), ["10.1.0.5/24"]);
    let outcome = adding(&config(&json!({"addresses": [{"address": "::ffff:10.1.0.5/64"}]}))).run(&Static);
    outcome.assert_error(7);
}

#[test]
fn c105_a_configuration_without_ipam_is_told_and_is_no_panic() {
    let config = json!({
        "cniVersion": "1.1.0", "name": "n1", "type": "x", "runtimeConfig": {"ips": ["10.1.0.4/24"]},
        "args": {"cni": {"ips": ["10.1.0.4/24"]}}, "cni.dev/valid-attachments": [],
    });
    for call in [
        Invocation::add("c1", "/run/netns/none", "eth0").args("IP=10.1.0.4/24"),
        Invocation::check("c1", "/run/netns/none", "eth0").prev_result(json!({})),
        Invocation::status(),
    ] {
        let outcome = call.config(&config).run(&Static);
        assert_eq!(outcome.assert_error(7).msg, "IPAM config missing 'ipam' key");
    }
    // Nothing to give back, so nothing to fail for.
    Invocation::del("c1", "eth0").args("IP=10.1.0.4").config(&config).run(&Static).assert_success();
    Invocation::gc([]).config(&config).run(&Static).assert_success();
}

#[test]
fn status_looks_at_what_is_written_down() {
    Invocation::status().config(config(&ipam())).run(&Static).assert_success();
    let outcome =
        Invocation::status().config(config(&json!({"addresses": [{"address": "10.1.0.5"}]}))).run(&Static);
    outcome.assert_error(7);
}

#[test]
fn keys_are_found_in_any_letter_case_and_null_is_absent() {
    let ipam = json!({"Addresses": [{"ADDRESS": "10.1.0.5/24", "Gateway": ""}], "routes": null, "dns": null});
    assert_eq!(addresses(&adding(&config(&ipam)).run(&Static)), ["10.1.0.5/24"]);
}
