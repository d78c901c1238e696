//! Every spec version of the runtime that ran ADD, of the configuration now, and of the plugin: an attachment that was made
//! and cached under the first is checked and removed under the second, by a plugin that knows the third alone, each a
//! process. What is to come of it is computed here from the spec's words.

use std::path::{Path, PathBuf};

use cni_invoke::Environment;
use cni_tests::bins;
use cni_tests::vectors::case::decode_base64;
use libcni::{Client, Network, RuntimeConf};
use serde_json::{Value, json};

const VERSIONS: [&str; 7] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

/// The layouts that results have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// `ip4` and `ip6`.
    Families,
    /// `ips` with a version of IP.
    Versioned,
    /// `ips` without.
    Plain,
}

fn layout(version: &str) -> Layout {
    match version {
        "0.1.0" | "0.2.0" => Layout::Families,
        "0.3.0" | "0.3.1" | "0.4.0" => Layout::Versioned,
        _ => Layout::Plain,
    }
}

/// One address, as each layout has it.
fn result(version: &str) -> Value {
    let interfaces = json!([{"name": "eth0", "mac": "00:11:22:33:44:55", "sandbox": "/run/netns/none"}]);
    match layout(version) {
        Layout::Families => {
            json!({"cniVersion": version, "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1"}})
        }
        Layout::Versioned => json!({"cniVersion": version, "interfaces": interfaces,
            "ips": [{"version": "4", "interface": 0, "address": "10.1.0.5/16", "gateway": "10.1.0.1"}]}),
        Layout::Plain => json!({"cniVersion": version, "interfaces": interfaces,
            "ips": [{"interface": 0, "address": "10.1.0.5/16", "gateway": "10.1.0.1"}]}),
    }
}

/// The address and its gateway, where the layout of a version has them.
fn address<'a>(version: &str, result: &'a Value) -> [&'a Value; 2] {
    match layout(version) {
        Layout::Families => [&result["ip4"]["ip"], &result["ip4"]["gateway"]],
        Layout::Versioned | Layout::Plain => [&result["ips"][0]["address"], &result["ips"][0]["gateway"]],
    }
}

/// CHECK came with 0.4.0.
fn has_check(version: &str) -> bool {
    !["0.1.0", "0.2.0", "0.3.0", "0.3.1"].contains(&version)
}

/// GC and STATUS came with 1.1.0.
fn has_gc_and_status(version: &str) -> bool {
    version == "1.1.0"
}

struct Machine {
    dir: tempfile::TempDir,
    client: Client,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let plugin = bins::build("noop");
        let plugin_dir = plugin.parent().unwrap().to_owned();
        let client = Client::builder().plugin_dirs([plugin_dir]).cache_dir(dir.path().join("cache")).build();
        Self { dir, client }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The network as its file says it in a version.
    fn network(&self, version: &str) -> Network {
        let plugin = json!({"type": "noop", "debugFile": self.path("debug"), "commandLog": self.path("log")});
        let list = json!({"cniVersion": version, "name": "n1", "plugins": [plugin]});
        Network::from_list(list.to_string().as_bytes()).unwrap()
    }

    /// A plugin that knows one version, and answers ADD with a result of another.
    fn plugin(&self, known: &str, answer: &str) {
        let debug = json!({"ReportVersionSupport": [known], "ReportResult": result(answer).to_string()});
        std::fs::write(self.path("debug"), debug.to_string()).unwrap();
        let _ = std::fs::remove_file(self.path("log"));
    }

    /// What the plugin was called with: commands, and configurations.
    fn calls(&self) -> Vec<(String, Value)> {
        let Ok(log) = std::fs::read(self.path("log")) else { return Vec::new() };
        let log: Vec<Value> = serde_json::from_slice(&log).unwrap();
        let stdin = |call: &Value| decode_base64(call["CmdArgs"]["StdinData"].as_str().unwrap()).unwrap();
        let call = |call: &Value| {
            let config = serde_json::from_slice(&stdin(call)).unwrap_or(Value::Null);
            (call["Command"].as_str().unwrap().to_owned(), config)
        };
        log.iter().map(call).collect()
    }

    /// The configuration of the one call of a command, if it reached the plugin.
    fn call(&self, command: &str) -> Option<Value> {
        let mut calls = self.calls().into_iter().filter(|(called, _)| called == command);
        let found = calls.next().map(|(_, config)| config);
        assert!(calls.next().is_none(), "{command} twice");
        found
    }
}

fn cached(dir: &Path) -> usize {
    std::fs::read_dir(dir).map_or(0, Iterator::count)
}

#[test]
fn every_version_of_runtime_configuration_and_plugin_meets_every_other() {
    let machine = Machine::new();
    let rt = RuntimeConf::new("c1", "eth0").unwrap().with_netns("/run/netns/none");
    let results = machine.path("cache/results");
    let mut met = 0;
    for then in VERSIONS {
        for now in VERSIONS {
            for known in VERSIONS {
                let what = format!("added under {then}, configuration {now}, plugin {known}");
                machine.plugin(then, then);
                machine.client.add(&machine.network(then), &rt).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(cached(&results), 1, "{what}");

                machine.plugin(known, now);
                let network = machine.network(now);
                // A plugin that does not know the configuration's version must refuse it, with code 1.
                let fits = known == now;
                let outcomes = [
                    (
                        "CHECK",
                        has_check(now),
                        machine.client.check(&network, &rt).map(drop).map_err(|e| e.to_string()),
                    ),
                    ("DEL", true, machine.client.del(&network, &rt).map(drop).map_err(|e| e.to_string())),
                ];
                for (command, is_known, outcome) in outcomes {
                    let what = format!("{what}, {command}: {outcome:?}");
                    let sent = machine.call(command);
                    if !is_known {
                        // There was no such command: the runtime must not run it.
                        assert!(sent.is_none(), "{what}");
                        continue;
                    }
                    assert_eq!(outcome.is_ok(), fits, "{what}");
                    if let Some(config) = sent {
                        // The version of the configuration, and the result of then in the layout of now. Before 0.4.0,
                        // DEL had no prevResult.
                        assert_eq!(config["cniVersion"], now, "{what}");
                        let prev_result = &config["prevResult"];
                        if has_check(now) {
                            assert_eq!(prev_result["cniVersion"], now, "{what}");
                            assert_eq!(
                                address(now, prev_result),
                                [&json!("10.1.0.5/16"), &json!("10.1.0.1")],
                                "{what}"
                            );
                        } else {
                            assert_eq!(prev_result, &Value::Null, "{what}");
                        }
                    } else {
                        assert!(!fits, "{what}: it has not come to the plugin");
                    }
                }
                // What was not removed can be: by the plugin that knows the version.
                assert_eq!(cached(&results), usize::from(!fits), "{what}");
                if !fits {
                    machine.plugin(now, now);
                    machine.client.del(&network, &rt).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(cached(&results), 0, "{what}");
                }
                met += 1;
            }
        }
    }
    assert_eq!(met, 7 * 7 * 7);
    println!("{met} meetings");
}

#[test]
fn every_version_of_configuration_and_plugin_is_added_to_or_refused() {
    let machine = Machine::new();
    let rt = RuntimeConf::new("c1", "eth0").unwrap().with_netns("/run/netns/none");
    for now in VERSIONS {
        for known in VERSIONS {
            let what = format!("configuration {now}, plugin {known}");
            machine.plugin(known, now);
            let network = machine.network(now);
            let added = machine.client.add(&network, &rt).map(libcni_result);
            assert_eq!(added.is_ok(), known == now, "{what}: {added:?}");
            assert_eq!(is_valid(now, known), known == now, "{what}");
            if let Ok(added) = added {
                assert_eq!(added["cniVersion"], now, "{what}");
                assert_eq!(address(now, &added), [&json!("10.1.0.5/16"), &json!("10.1.0.1")], "{what}");
            }
            for (command, outcome) in [
                ("STATUS", machine.client.status(&network).map_err(|e| e.to_string())),
                ("GC", machine.client.gc(&network, &[rt.attachment()]).map(drop).map_err(|e| e.to_string())),
            ] {
                let what = format!("{what}, {command}: {outcome:?}");
                if has_gc_and_status(now) {
                    assert_eq!(outcome.is_ok(), known == now, "{what}");
                } else {
                    assert!(machine.call(command).is_none(), "{what}: there was no such command");
                }
            }
            machine.plugin(now, now);
            machine.client.del(&network, &rt).unwrap();
        }
    }
}

/// What validation says of a configuration and a plugin that answers VERSION with one version.
fn is_valid(now: &str, known: &str) -> bool {
    let plugin = bins::build("vec-plugin");
    let dir = tempfile::tempdir().unwrap();
    let environment: Environment = [("VEC_VERSIONS", known)].into_iter().collect();
    let client = Client::builder().plugin_dirs([plugin.parent().unwrap()]).environment(environment);
    let list = json!({"cniVersion": now, "name": "n1", "plugins": [{"type": "vec-plugin"}]});
    let network = Network::from_list(list.to_string().as_bytes()).unwrap();
    client.cache_dir(dir.path()).build().validate(&network).is_ok()
}

fn libcni_result(result: cni_types::VersionedResult) -> Value {
    serde_json::to_value(result).unwrap()
}
