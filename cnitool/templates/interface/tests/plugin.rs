//! The plugin without root and without a network namespace: its kernel is a map.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cni_skel::testing::{Invocation, conformance};
use cni_skel::types::Command;
use cni_skel::{Cidr, Error, MacAddr, Netns, Result};
use my_plugin::MyPlugin;
use my_plugin::kernel::{Kernel, Link, Pair};
use serde_json::{Value, json};

/// What was attached, by the name of the host's end.
#[derive(Clone, Debug, Default)]
struct Attached(Arc<Mutex<BTreeMap<String, Pair>>>);

impl Attached {
    fn pairs(&self) -> Vec<Pair> {
        self.0.lock().unwrap().values().cloned().collect()
    }
}

impl Kernel for Attached {
    fn attach(&self, pair: &Pair) -> Result<[Link; 2]> {
        let mut attached = self.0.lock().unwrap();
        if attached
            .values()
            .any(|one| (&one.netns, &one.ifname) == (&pair.netns, &pair.ifname))
        {
            return Err(Error::message("File exists"));
        }
        attached.insert(pair.host_end.clone(), pair.clone());
        let link = |index: u32, name: &str| {
            let mac = MacAddr::new([2, 0, 0, 0, 0, u8::try_from(index).unwrap()]);
            Link {
                index,
                name: name.to_owned(),
                alias: Some(pair.alias.clone()),
                mac,
                up: true,
            }
        };
        Ok([link(1, &pair.host_end), link(2, &pair.ifname)])
    }

    fn check(&self, _: &Netns, ifname: &str, host_end: &str, addresses: &[Cidr]) -> Result<()> {
        let attached = self.0.lock().unwrap();
        let pair = attached
            .get(host_end)
            .ok_or_else(|| Error::message(format!("{ifname} is missing")))?;
        let actual: Vec<_> = pair.gateways.iter().map(|gateway| gateway.of).collect();
        if actual == addresses {
            Ok(())
        } else {
            Err(Error::message(format!("{ifname} has {actual:?}")))
        }
    }

    fn detach(&self, host_end: &str) -> Result<()> {
        self.0.lock().unwrap().remove(host_end);
        Ok(())
    }

    fn host_ends(&self, alias: &str) -> Result<Vec<String>> {
        Ok(self
            .pairs()
            .into_iter()
            .filter(|pair| pair.alias == alias)
            .map(|pair| pair.host_end)
            .collect())
    }
}

fn config() -> Value {
    serde_json::from_str(include_str!("../conformance.json")).unwrap()
}

/// ADD with an IPAM plugin that gives out one address.
fn add(kernel: &Attached, config: Value) -> cni_skel::testing::Outcome {
    Invocation::add("c1", "/run/netns/c1", "eth0")
        .config(config)
        .delegate("host-local", |call| match call.command() {
            Command::Add => call.reply(json!({
                "ips": [{"address": "10.77.0.5/24", "gateway": "10.77.0.1"}],
                "routes": [{"dst": "0.0.0.0/0"}],
            })),
            _ => call.reply(json!({})),
        })
        .run(&MyPlugin::on(kernel.clone()))
}

#[test]
fn keeps_the_spec() {
    conformance(&MyPlugin::on(Attached::default()), config()).assert_passes();
}

#[test]
fn add_makes_what_the_ipam_plugin_says() {
    let kernel = Attached::default();
    let mut config = config();
    config["mtu"] = json!(1400);
    let outcome = add(&kernel, config);
    outcome.assert_success();

    let [pair] = &kernel.pairs()[..] else {
        panic!("{kernel:?}")
    };
    assert_eq!(
        (pair.ifname.as_str(), pair.mtu, pair.host_end.len()),
        ("eth0", Some(1400), 15)
    );
    assert_eq!(pair.gateways[0].address.to_string(), "10.77.0.1");
    assert_eq!(
        pair.routes[0].1, pair.gateways[0].address,
        "by default through the gateway"
    );

    let result = outcome.result();
    let eth0 = result.container_interface("eth0").unwrap();
    assert_eq!(
        result.ips_of(eth0).next().unwrap().address.to_string(),
        "10.77.0.5/24"
    );
    assert_eq!(result.routes.len(), 1);
}

#[test]
fn a_failed_add_gives_the_address_back() {
    let kernel = Attached::default();
    add(&kernel, config()).assert_success();
    let outcome = add(&kernel, config());
    let error = outcome.assert_error(999);
    assert!(error.msg.contains("File exists"), "{error}");
    let commands: Vec<_> = outcome
        .delegate_calls()
        .iter()
        .map(|call| call.command())
        .collect();
    assert_eq!(commands, [Command::Add, Command::Del]);
    assert_eq!(kernel.pairs().len(), 1, "what was there before stays");
}

#[test]
fn gc_leaves_valid_attachments_and_other_networks_alone() {
    let kernel = Attached::default();
    add(&kernel, config()).assert_success();
    let gc = |name: &str, valid: Vec<(&str, &str)>| {
        let mut config = config();
        config["cniVersion"] = json!("1.1.0");
        config["name"] = json!(name);
        let gc = Invocation::gc(valid).config(config);
        gc.delegate("host-local", |call| call.reply(json!({})))
            .run(&MyPlugin::on(kernel.clone()))
    };
    gc("my-plugin-net", vec![("c1", "eth0")]).assert_success();
    gc("another-net", vec![]).assert_success();
    assert_eq!(kernel.pairs().len(), 1);
    gc("my-plugin-net", vec![]).assert_success();
    assert!(kernel.pairs().is_empty());
}
