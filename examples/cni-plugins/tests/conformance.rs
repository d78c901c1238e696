//! Every plugin of the program, as a process on the kernel, does what the spec demands. Needs root.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;

use cni_conformance::{Conformance, Outcome, Report};
use cni_plugins::PLUGINS;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cni-plugins");

/// How a plugin is tested.
struct Trial {
    config: Value,
    /// What an earlier plugin of the chain has made in each container, for a plugin that comes later.
    chained: bool,
    /// A link's kind that the kernel must know.
    driver: Option<&'static str>,
    ifname: &'static str,
    /// Checks that cannot be made, and why.
    except: &'static [(&'static str, &'static str)],
    /// Values of capabilities.
    capability: Option<(&'static str, Value)>,
}

impl Trial {
    fn of(config: Value) -> Self {
        Self { config, chained: false, driver: None, ifname: "eth0", except: &[], capability: None }
    }

    fn chained(config: Value) -> Self {
        Self { chained: true, ..Self::of(config) }
    }

    /// With an IPAM plugin; the checks have one of their own.
    fn with_addresses(mut config: Value) -> Self {
        config["ipam"] = json!({"type": "some-ipam"});
        Self::of(config)
    }
}

const ONE_DEVICE: &str = "there is one device, and so one interface";

/// A new plugin has no way around this list.
fn trial(plugin: &str) -> Trial {
    let rates = json!({
        "ingressRate": 8_000_000, "ingressBurst": 800_000, "egressRate": 8_000_000, "egressBurst": 800_000,
    });
    let mappings = json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]);
    let needs = |driver: &'static str, trial: Trial| Trial { driver: Some(driver), ..trial };
    match plugin {
        "bandwidth" => Trial::chained(rates),
        "bridge" => Trial::with_addresses(json!({"bridge": "br0", "isGateway": true})),
        "dummy" => needs("dummy", Trial::with_addresses(json!({}))),
        "firewall" => Trial::chained(json!({"backend": "iptables"})),
        "host-device" => Trial {
            except: &[("attachment-key", ONE_DEVICE), ("concurrent", ONE_DEVICE)],
            ..Trial::with_addresses(json!({"device": "ens5"}))
        },
        "host-local" => Trial::of(json!({"ipam": {"type": "host-local", "subnet": "10.44.0.0/24"}})),
        "ipvlan" => needs("ipvlan", Trial::with_addresses(json!({"master": "up0"}))),
        "loopback" => Trial { ifname: "lo", ..Trial::of(json!({})) },
        "macvlan" => Trial::with_addresses(json!({"master": "up0"})),
        "portmap" => Trial {
            capability: Some(("portMappings", mappings)),
            except: &[("concurrent", "one container has the port")],
            ..Trial::chained(json!({}))
        },
        "ptp" => Trial::with_addresses(json!({})),
        // Else the network goes with the table, as with Go's, and an ADD after DEL finds no way to the router.
        "sbr" => Trial::chained(json!({"addSourceHints": true})),
        "static" => {
            let addresses = json!([{"address": "10.1.0.5/16"}, {"address": "fd00::5/64"}]);
            Trial::of(json!({"ipam": {"type": "static", "addresses": addresses}}))
        }
        "tap" => Trial::with_addresses(json!({})),
        "tuning" => Trial::chained(json!({"mtu": 1400, "sysctl": {"net.ipv4.conf.all.log_martians": "1"}})),
        "vlan" => needs("vlan", Trial::with_addresses(json!({"master": "up0", "vlanId": 10}))),
        "vrf" => needs("vrf", Trial::chained(json!({"vrfname": "blue"}))),
        _ => panic!("how is {plugin:?} tested?"),
    }
}

/// A host with a link to elsewhere and a device, and two containers.
struct Lab {
    host: TestNetns,
    containers: [TestNetns; 2],
    dir: TempDir,
}

impl Lab {
    fn new() -> Option<Self> {
        let host = TestNetns::new()?;
        for line in [
            "link set lo up",
            "link add up0 type veth peer name cable",
            "link set up0 up",
            "link set cable up",
            "link add ens5 type veth peer name other",
        ] {
            host.ip(line);
        }
        let containers = [TestNetns::new()?, TestNetns::new()?];
        Some(Self { host, containers, dir: TempDir::new().unwrap() })
    }

    /// An interface in each container, whose other end is on the host.
    fn chain(&self) {
        for (number, container) in self.containers.iter().enumerate() {
            let process = container.path().iter().nth(2).unwrap().to_str().unwrap().to_owned();
            self.host.ip(&format!("link add host{number} type veth peer name eth0 netns {process}"));
            self.host.ip(&format!("link set host{number} up"));
            container.ip("addr add 10.1.0.5/16 dev eth0");
            container.ip("link set eth0 up");
        }
    }

    fn run(&self, plugin: &str, trial: &Trial) -> Report {
        let link = self.dir.path().join(plugin);
        symlink(PROGRAM, &link).unwrap();
        let mut config = trial.config.clone();
        config["name"] = "n".into();
        config["type"] = plugin.into();
        // Of whoever keeps files.
        let data = self.dir.path().join("data").to_str().unwrap().to_owned();
        if config["ipam"].is_object() {
            config["ipam"]["dataDir"] = data.clone().into();
        }
        if trial.chained {
            self.chain();
            config["dataDir"] = data.into();
            config["prevResult"] = json!({"cniVersion": "1.1.0",
                "interfaces": [{"name": "host0"}, {"name": "host1"}, {"name": "eth0", "sandbox": "/run/netns/x"}],
                "ips": [{"address": "10.1.0.5/16", "interface": 2, "gateway": "10.1.0.1"}],
                "routes": [{"dst": "0.0.0.0/0"}]});
        }
        let [first, second] = &self.containers;
        let kit = Conformance::of_program(link, config).unwrap().ifname(trial.ifname);
        let kit = kit.netns(first.path()).second_netns(second.path());
        let kit = trial.except.iter().fold(kit, |kit, (check, why)| kit.except(check, *why));
        let kit = trial.capability.iter().fold(kit, |kit, (name, value)| kit.capability(*name, value));
        self.host.run(|| kit.run()).unwrap()
    }

    /// Whether the kernel knows links of a kind.
    fn has_driver(&self, kind: &str) -> bool {
        let link = match kind {
            "ipvlan" => "link up0 type ipvlan",
            "vlan" => "link up0 type vlan id 9",
            "vrf" => "type vrf table 9",
            kind => &format!("type {kind}"),
        };
        let words = format!("link add probe {link}");
        let mut ip = std::process::Command::new("ip");
        ip.args(words.split(' ')).stderr(std::process::Stdio::null());
        let made = self.host.run(|| ip.status()).unwrap().unwrap().success();
        if made {
            self.host.ip("link del probe");
        }
        made
    }
}

/// Those that were really asked to do their work.
const MADE: [&str; 4] = ["add-result-version", "check-after-add", "del-twice", "version-echo"];

#[test]
fn c97_every_plugin_that_makes_an_interface_or_gives_addresses_conforms() {
    conform(|trial| !trial.chained);
}

#[test]
fn c97_every_plugin_of_a_chain_conforms() {
    conform(|trial| trial.chained);
}

fn conform(wanted: impl Fn(&Trial) -> bool) {
    for plugin in PLUGINS.iter().map(|plugin| plugin.name) {
        let trial = trial(plugin);
        if !wanted(&trial) {
            continue;
        }
        let Some(lab) = Lab::new() else { return };
        if trial.driver.is_some_and(|driver| !lab.has_driver(driver)) {
            // The plugin's own tests have a made-up kernel that has one.
            continue;
        }
        let report = lab.run(plugin, &trial);
        report.assert_passes();
        for check in MADE {
            let outcome = report.outcome(check);
            let is_passed = matches!(outcome, Some(Outcome::Passed { .. }));
            assert!(is_passed, "{plugin}: {check}: {outcome:?}\n{report}");
        }
    }
}
