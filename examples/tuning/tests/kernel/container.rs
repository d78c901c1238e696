//! A container with an interface.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cni_skel::testing::{Invocation, Outcome};
use plugin_support::kernel::Kernel;
use plugin_support::netlink::Link;
use plugin_support::testing::{TestNetns, skip};
use serde_json::{Value, json};
use tuning::Tuning;

/// The interface, whose name is one that a dotted sysctl key cannot hold.
pub(crate) const IFNAME: &str = "eth0.100";

pub(crate) struct Container {
    /// Where the other end is.
    pub(crate) host: TestNetns,
    pub(crate) netns: TestNetns,
    pub(crate) dir: tempfile::TempDir,
}

impl Container {
    /// A container, unless root is missing.
    pub(crate) fn new() -> Option<Self> {
        let (host, netns) = (TestNetns::new()?, TestNetns::new()?);
        let path = netns.path().to_str().unwrap().to_owned();
        // `/proc/PID/ns/net`
        let pid = path.split('/').nth(2).unwrap();
        host.ip(&format!("link add peer0 type veth peer name {IFNAME} netns {pid}"));
        host.ip("link set peer0 up");
        netns.ip(&format!("link set {IFNAME} up"));
        Some(Self { host, netns, dir: tempfile::tempdir().unwrap() })
    }

    pub(crate) fn run(&self, invocation: Invocation) -> Outcome {
        let plugin = Tuning::on(Kernel::default(), self.dir.path().join("allowlist.conf"));
        self.host.run(|| invocation.run(&plugin)).unwrap()
    }

    pub(crate) fn config(&self, keys: &Value) -> Value {
        let data_dir = self.dir.path().join("data");
        let mut config =
            json!({"cniVersion": "1.0.0", "name": "net1", "type": "tuning", "dataDir": data_dir});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    }

    pub(crate) fn add(&self, keys: &Value) -> Invocation {
        Invocation::add("c1", self.netns.path(), IFNAME).config(self.config(keys)).prev_result(self.result())
    }

    pub(crate) fn check(&self, keys: &Value) -> Invocation {
        Invocation::check("c1", self.netns.path(), IFNAME)
            .config(self.config(keys))
            .prev_result(self.result())
    }

    pub(crate) fn del(&self) -> Invocation {
        Invocation::del("c1", IFNAME).netns(self.netns.path()).config(self.config(&json!({})))
    }

    /// What a plugin that has made the interface would say.
    pub(crate) fn result(&self) -> Value {
        let mac = self.link().mac.unwrap().to_string();
        json!({
            "cniVersion": "1.0.0",
            "interfaces": [{"name": "peer0"}, {"name": IFNAME, "mac": mac, "sandbox": "/run/netns/x"}],
            "ips": [{"interface": 1, "address": "10.2.0.2/24"}],
        })
    }

    pub(crate) fn link(&self) -> Link {
        self.netns.netlink().unwrap().link(IFNAME).unwrap()
    }

    pub(crate) fn sysctl(&self, key: &str) -> String {
        self.netns.sysctl().read(key).unwrap()
    }

    pub(crate) fn backup(&self) -> PathBuf {
        self.dir.path().join("data").join(format!("c1_{IFNAME}.json"))
    }

    /// Runs Go's plugin and gives its stdout, or what it failed with; `None` after saying that it is not here.
    pub(crate) fn go(&self, command: &str, keys: &Value) -> Option<Result<String, String>> {
        const PLUGIN: &str = "/usr/lib/cni/tuning";
        if !Path::new(PLUGIN).exists() {
            skip(&format!("no program {PLUGIN:?} (Debian: containernetworking-plugins)"));
            return None;
        }
        let mut config = self.config(keys);
        config["prevResult"] = self.result();
        let mut plugin = Command::new(PLUGIN);
        plugin
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", "c1")
            .env("CNI_NETNS", self.netns.path())
            .env("CNI_IFNAME", IFNAME)
            .env("CNI_PATH", "/usr/lib/cni")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.host.run(|| plugin.spawn()).unwrap().unwrap();
        child.stdin.take().unwrap().write_all(config.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        Some(if output.status.success() { Ok(stdout) } else { Err(stdout) })
    }
}
