//! What the checks find in Go's plugins is what `docs/conformance-of-go-plugins.md` says.
//!
//! Each plugin runs in network namespaces of the test's own: one plays the host, two are containers.

use std::path::Path;
use std::process::Command;

use cni_conformance::{Conformance, Report};
use plugin_support::testing::{TestNetns, skip};
use serde_json::{Value, json};
use tempfile::TempDir;

const DOCUMENT: &str = include_str!("../../../docs/conformance-of-go-plugins.md");

/// The release that the document is about.
const RELEASE: &str = "1.1.1";

/// Where Debian has Go's plugins.
fn is_installed() -> bool {
    let asked =
        Command::new("dpkg-query").args(["-W", "-f", "${Version}", "containernetworking-plugins"]).output();
    let version =
        asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let is_that = version.starts_with(RELEASE) && Path::new("/usr/lib/cni/bridge").exists();
    if !is_that {
        skip(&format!("needs Debian's containernetworking-plugins {RELEASE}"));
    }
    is_that
}

/// The checks that a plugin fails, as the document has them: those of every plugin, and those of its row.
fn documented(plugin: &str) -> Vec<&'static str> {
    let words = |text: &'static str| text.split('`').skip(1).step_by(2);
    let row = |first: &str| {
        let start = format!("| {first} |");
        let row = DOCUMENT.lines().find(|line| line.starts_with(&start));
        row.unwrap_or_else(|| panic!("the document has no row {first:?}")).rsplit('|').nth(1).unwrap()
    };
    let mut ids: Vec<_> = words(row("every one")).chain(words(row(&format!("`{plugin}`")))).collect();
    ids.sort_unstable();
    ids
}

/// The host and two containers.
struct Lab {
    host: TestNetns,
    containers: [TestNetns; 2],
    dir: TempDir,
}

impl Lab {
    fn new() -> Option<Self> {
        let containers = [TestNetns::new()?, TestNetns::new()?];
        Some(Self { host: TestNetns::new()?, containers, dir: TempDir::new().unwrap() })
    }

    /// An interface in each container, for plugins that come later in a chain; the other end is on the host.
    fn with_interfaces(self) -> Self {
        for (container, peer) in self.containers.iter().zip(["vha", "vhb"]) {
            let process = container.path().iter().nth(2).unwrap().to_str().unwrap();
            self.host.ip(&format!("link add {peer} type veth peer name eth0 netns {process}"));
            self.host.ip(&format!("link set {peer} up"));
            container.ip("addr add 10.1.0.5/16 dev eth0");
            container.ip("link set eth0 up");
            container.ip("link set lo up");
        }
        self
    }

    fn run(
        &self,
        plugin: &str,
        config: Value,
        change: impl FnOnce(Conformance<'static>) -> Conformance<'static>,
    ) -> Report {
        let kit = Conformance::of_program(Path::new("/usr/lib/cni").join(plugin), config).unwrap();
        let [first, second] = &self.containers;
        let kit = change(kit.netns(first.path()).second_netns(second.path()));
        self.host.run(|| kit.run()).unwrap()
    }

    /// A host-local of which nothing stays.
    fn ipam(&self) -> Value {
        json!({"type": "host-local", "subnet": "10.44.0.0/24", "dataDir": self.dir.path().join("ipam")})
    }
}

#[track_caller]
fn assert_documented(plugin: &str, report: &Report) {
    let mut found: Vec<_> = report.failed().map(|check| check.id).collect();
    found.sort_unstable();
    assert_eq!(found, documented(plugin), "{plugin}\n{report}");
}

fn same(kit: Conformance<'static>) -> Conformance<'static> {
    kit
}

#[test]
fn plugins_that_make_interfaces_fail_what_the_document_says() {
    if !is_installed() {
        return;
    }
    for plugin in ["bridge", "ptp", "macvlan", "host-device"] {
        let Some(lab) = Lab::new() else { return };
        let mut config = json!({"name": "n", "type": plugin, "ipam": lab.ipam()});
        match plugin {
            "bridge" => config["isGateway"] = true.into(),
            "macvlan" => {
                lab.host.ip("link add m0 type bridge");
                lab.host.ip("link set m0 up");
                config["master"] = "m0".into();
            }
            "host-device" => {
                lab.host.ip("link add d0 type veth peer name d1");
                config["device"] = "d0".into();
            }
            _ => {}
        }
        // There is one device, and so one interface.
        let one_device = |kit: Conformance<'static>| kit.except("attachment-key", "there is one device");
        let report = lab.run(plugin, config, if plugin == "host-device" { one_device } else { same });
        assert_documented(plugin, &report);
    }
    let Some(lab) = Lab::new() else { return };
    let report = lab.run("loopback", json!({"name": "lo", "type": "loopback"}), |kit| kit.ifname("lo"));
    assert_documented("loopback", &report);
}

#[test]
fn ipam_plugins_fail_what_the_document_says() {
    if !is_installed() {
        return;
    }
    let Some(lab) = Lab::new() else { return };
    let report = lab.run("host-local", json!({"name": "n", "type": "bridge", "ipam": lab.ipam()}), same);
    assert_documented("host-local", &report);
    let ipam =
        json!({"type": "static", "addresses": [{"address": "10.1.0.5/16"}, {"address": "fd00::5/64"}]});
    let report = lab.run("static", json!({"name": "n", "type": "bridge", "ipam": ipam}), same);
    assert_documented("static", &report);
}

#[test]
fn chained_plugins_fail_what_the_document_says() {
    if !is_installed() {
        return;
    }
    let mappings = json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]);
    for (plugin, keys) in [
        ("tuning", json!({"mtu": 1400, "sysctl": {"net.ipv4.conf.all.log_martians": "1"}})),
        ("portmap", json!({})),
        ("firewall", json!({"backend": "iptables"})),
        ("sbr", json!({})),
        ("bandwidth", json!({"ingressRate": 1_000_000, "ingressBurst": 1_000_000})),
    ] {
        let Some(lab) = Lab::new().map(Lab::with_interfaces) else { return };
        let mut config = json!({"cniVersion": "1.0.0", "name": "n", "type": plugin, "dataDir": lab.dir.path(),
            "prevResult": {"cniVersion": "1.0.0",
                "interfaces": [{"name": "vha"}, {"name": "eth0", "sandbox": "/run/netns/x"}],
                "ips": [{"address": "10.1.0.5/16", "interface": 1, "gateway": "10.1.0.1"}],
                "routes": [{"dst": "0.0.0.0/0"}]}});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let mappings = mappings.clone();
        let report = lab.run(plugin, config, |kit| match plugin {
            "portmap" => kit.capability("portMappings", mappings),
            _ => kit,
        });
        assert_documented(plugin, &report);
    }
}
