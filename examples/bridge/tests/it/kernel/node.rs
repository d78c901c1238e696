//! A namespace that plays a node, and calls of plugins inside it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use bridge::Bridge;
use cni_skel::testing::{DelegateReply, Invocation, Outcome};
use plugin_support::firewall::SystemTools;
use plugin_support::testing::{TestNetns, skip};
use serde_json::{Value, json};

/// A node.
pub(crate) struct Node {
    pub(crate) netns: TestNetns,
}

/// A plugin's binary, and where it finds its IPAM plugin.
pub(crate) struct Binary<'a> {
    pub(crate) path: &'a Path,
    pub(crate) cni_path: &'a str,
}

/// What a plugin's process answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) stdout: Value,
    pub(crate) stderr: String,
    pub(crate) success: bool,
}

/// Whether these programs are here; says so if not.
pub(crate) fn has_tools(programs: &[&str]) -> bool {
    let missing = programs.iter().find_map(|program| SystemTools::default().find(program).err());
    missing.inspect(|error| skip(&error.to_string())).is_none()
}

impl Node {
    pub(crate) fn new() -> Option<Self> {
        let netns = TestNetns::new()?;
        netns.ip("link set lo up");
        Some(Self { netns })
    }

    /// Runs the plugin in this process, with an IPAM plugin that always gives the same.
    pub(crate) fn run(&self, call: Invocation, addresses: &Value) -> Outcome {
        let addresses = addresses.clone();
        let call = call.delegate("host-local", move |call| match call.command() {
            cni_skel::types::Command::Add => call.reply(&addresses),
            _ => DelegateReply::nothing(),
        });
        self.netns.run(|| call.run(&Bridge::default())).unwrap()
    }

    pub(crate) fn add(&self, id: &str, netns: &TestNetns, config: &Value, addresses: &Value) -> Outcome {
        let outcome = self.run(Invocation::add(id, netns.path(), "eth0").config(config), addresses);
        outcome.assert_success();
        outcome
    }

    pub(crate) fn check(&self, id: &str, netns: &TestNetns, config: &Value, added: &Outcome) -> Outcome {
        let call = Invocation::check(id, netns.path(), "eth0").config(config).prev_result(added.json());
        self.run(call, &json!({}))
    }

    pub(crate) fn del(&self, id: &str, netns: &TestNetns, config: &Value) {
        let call = Invocation::del(id, "eth0").netns(netns.path()).config(config);
        self.run(call, &json!({})).assert_success();
    }

    /// Runs a plugin's binary.
    pub(crate) fn call(
        &self,
        binary: &Binary<'_>,
        command: &str,
        id: &str,
        netns: &Path,
        config: &Value,
    ) -> Answer {
        let mut process = Command::new(binary.path);
        process
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", id)
            .env("CNI_NETNS", netns)
            .env("CNI_IFNAME", "eth0")
            .env("CNI_PATH", binary.cni_path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.netns.run(|| process.spawn()).unwrap().unwrap();
        child.stdin.take().unwrap().write_all(config.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let stdout = if output.stdout.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Answer { stdout, stderr, success: output.status.success() }
    }

    /// The names of the node's links.
    pub(crate) fn links(&self) -> Vec<String> {
        self.netns.netlink().unwrap().links().unwrap().into_iter().map(|link| link.name).collect()
    }

    /// All rules of the firewall that a container has.
    pub(crate) fn rules(&self) -> String {
        let save = |program: &str, args: &[&str]| self.netns.command(program, args);
        let text = [
            save("iptables-save", &["-t", "nat"]),
            save("ip6tables-save", &["-t", "nat"]),
            save("nft", &["list", "ruleset"]),
        ];
        let of_container =
            |line: &&str| line.contains("CNI-") || line.contains("masquerade") || line.contains("veth");
        text.join("\n").lines().filter(of_container).collect::<Vec<_>>().join("\n")
    }
}

impl Answer {
    /// The result, if it is none of an error.
    #[track_caller]
    pub(crate) fn result(self) -> Value {
        assert!(self.success, "{self:?}");
        self.stdout
    }
}

/// Whether a program can reach an address from a namespace, at last: on a busy machine, an answer takes its time.
pub(crate) fn pings(netns: &TestNetns, address: &str) -> bool {
    answers(netns, &["-c", "1", "-w", "20", address])
}

/// Whether it cannot: nothing answers within a second.
pub(crate) fn is_cut_off(netns: &TestNetns, address: &str) -> bool {
    !answers(netns, &["-c", "1", "-W", "1", address])
}

fn answers(netns: &TestNetns, args: &[&str]) -> bool {
    let mut ping = Command::new("ping");
    ping.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    netns.run(|| ping.status()).unwrap().unwrap().success()
}
