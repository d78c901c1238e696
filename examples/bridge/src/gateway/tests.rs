use plugin_support::kernel::Kernel;
use plugin_support::netlink::{BridgeOptions, LinkKind, NewLink};
use plugin_support::testing::FakeKernel;

use super::*;

fn cidr(text: &str) -> Cidr {
    text.parse().unwrap()
}

fn settings(is_gateway: bool, is_default_gateway: bool) -> Settings {
    let keys = serde_json::json!({"isGateway": is_gateway, "isDefaultGateway": is_default_gateway});
    let config = serde_json::from_value(keys).unwrap();
    Settings::new(&config, &cni_skel::types::config::PluginConfig::default()).unwrap()
}

/// A made-up host whose bridge has these addresses.
fn bridge(addresses: &[&str]) -> (FakeKernel, Handle, Link) {
    let fake = FakeKernel::new();
    let netlink = Kernel::from(&fake).current().unwrap().netlink().unwrap();
    netlink.create(&NewLink::new("cni0", LinkKind::Bridge(BridgeOptions::default())).up()).unwrap();
    let link = netlink.link("cni0").unwrap();
    for address in addresses {
        netlink.add_address(&link, &NewAddress::new(network(cidr(address)))).unwrap();
    }
    (fake, netlink, link)
}

fn plan(existing: &[&str], wanted: &[&str], force: bool) -> Result<(Vec<String>, Vec<String>)> {
    let (_fake, netlink, link) = bridge(existing);
    let wanted: Vec<_> = wanted.iter().map(|text| cidr(text)).collect();
    let plan = Plan::new(&link, &netlink.addresses(&link).unwrap(), &wanted, force)?;
    let text = |list: &[IpNetwork]| list.iter().map(ToString::to_string).collect();
    Ok((text(&plan.remove), text(&plan.add)))
}

#[test]
fn a_gateway_that_ipam_does_not_name_is_the_first_address() {
    let mut ips = ["10.1.0.5/16", "fd00::5/64"].map(|text| IpConfig::new(cidr(text))).to_vec();
    let mut routes = Vec::new();
    let gateways = complete(&mut ips, &mut routes, &settings(true, false));
    assert_eq!(gateways, ["10.1.0.1/16", "fd00::1/64"].map(cidr));
    assert_eq!(ips[0].gateway, Some("10.1.0.1".parse().unwrap()));
    assert_eq!(routes, []);
    // Without isGateway, what IPAM says stays as it is.
    let mut ips = vec![IpConfig::new(cidr("10.1.0.5/16"))];
    assert_eq!(complete(&mut ips, &mut routes, &settings(false, false)), []);
    assert_eq!(ips[0].gateway, None);
}

#[test]
fn a_default_gateway_adds_the_route_that_is_missing() {
    let of = |routes: &[&str]| {
        let mut ips =
            ["10.1.0.5/16", "10.2.0.5/16", "fd00::5/64"].map(|text| IpConfig::new(cidr(text))).to_vec();
        let mut routes: Vec<_> = routes.iter().map(|dst| Route::new(cidr(dst))).collect();
        complete(&mut ips, &mut routes, &settings(true, true));
        let text = |route: &Route| format!("{} {:?}", route.dst, route.gw.map(|gw| gw.to_string()));
        routes.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), [r#"0.0.0.0/0 Some("10.1.0.1")"#, r#"::/0 Some("fd00::1")"#]);
    // Go's plugin adds a second one here, which the kernel refuses.
    assert_eq!(of(&["0.0.0.0/0"]), ["0.0.0.0/0 None", r#"::/0 Some("fd00::1")"#]);
    assert_eq!(of(&["::/0", "0.0.0.0/0"]), ["::/0 None", "0.0.0.0/0 None"]);
}

#[test]
fn c67_another_address_contradicts() {
    let none = || (Vec::new(), Vec::new());
    assert_eq!(plan(&[], &["10.1.0.1/24"], false).unwrap(), (vec![], vec!["10.1.0.1/24".to_owned()]));
    assert_eq!(plan(&["10.1.0.1/24"], &["10.1.0.1/24"], false).unwrap(), none());
    let error = plan(&["10.1.0.1/24"], &["10.2.0.1/24"], false).unwrap_err().to_object();
    assert!(
        error.msg.starts_with(r#""cni0" already has an IP address different from 10.2.0.1/24"#),
        "{error}"
    );
    assert_eq!(
        plan(&["10.1.0.1/24"], &["10.2.0.1/24"], true).unwrap(),
        (vec!["10.1.0.1/24".to_owned()], vec!["10.2.0.1/24".to_owned()])
    );
}

#[test]
fn c67_an_ipv6_address_contradicts_only_if_the_networks_overlap() {
    let existing = ["fe80::1/64", "fd01::1/64", "10.1.0.1/24"];
    assert_eq!(plan(&existing, &["fd00::1/64"], false).unwrap().1, ["fd00::1/64"]);
    for other in ["fd00::2/64", "fd00::2/112", "fd00::2/48"] {
        assert!(plan(&[other], &["fd00::1/64"], false).is_err(), "{other}");
        assert_eq!(plan(&[other], &["fd00::1/64"], true).unwrap().0, [other]);
    }
}

#[test]
fn several_gateways_of_one_network_do_not_contradict_each_other() {
    let wanted = ["10.1.0.1/24", "10.2.0.1/24"];
    assert_eq!(plan(&[], &wanted, false).unwrap().1, wanted);
    assert_eq!(plan(&["10.2.0.1/24"], &wanted, true).unwrap(), (vec![], vec!["10.1.0.1/24".to_owned()]));
}

#[test]
fn a_change_of_addresses_that_fails_is_undone() {
    let (fake, netlink, link) = bridge(&["10.1.0.1/24"]);
    let wanted = ["10.2.0.1/24", "10.3.0.1/24"].map(cidr);
    let plan = Plan::new(&link, &netlink.addresses(&link).unwrap(), &wanted, true).unwrap();
    fake.refuse("add address 10.3.0.1/24", 28);
    let error = plan.apply(&netlink, &link, false).unwrap_err().to_object();
    assert!(error.msg.starts_with(r#"could not add IP address to "cni0""#), "{error}");
    let left: Vec<_> =
        netlink.addresses(&link).unwrap().iter().map(|address| address.network.to_string()).collect();
    assert_eq!(left, ["10.1.0.1/24"]);
    plan.apply(&netlink, &link, false).unwrap();
    assert_eq!(netlink.addresses(&link).unwrap().len(), 2);
    // Another container's ADD does the same.
    plan.apply(&netlink, &link, false).unwrap();
}
