//! What several tests need: a folder with files, a client with scripted plugins.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cni_invoke::testing::{Reply, ScriptedExec};
use libcni::{Client, ClientBuilder, Environment, Network, RuntimeConf};
use tempfile::TempDir;

/// A folder that goes away with its test.
pub(crate) struct Dir(TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with these files; folders on the way are made.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let dir = Self::new();
        for (name, content) in files {
            dir.write(name, content);
        }
        dir
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap()
    }

    /// The names in a folder of it, sorted; none if it does not exist.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.join(folder)) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A client whose plugins are scripted, whose cache is in the folder, and whose plugins inherit nothing.
pub(crate) fn builder(dir: &Dir, exec: &Arc<ScriptedExec>) -> ClientBuilder {
    Client::builder()
        .plugin_dirs(["/opt/cni/bin"])
        .cache_dir(dir.path())
        .exec(exec.clone())
        .environment(Environment::new())
}

pub(crate) fn client(dir: &Dir, exec: &Arc<ScriptedExec>) -> Client {
    builder(dir, exec).build()
}

/// A network `net1` with plugins of these types.
pub(crate) fn network(version: &str, plugins: &[&str]) -> Network {
    let plugins: Vec<_> = plugins.iter().map(|plugin| serde_json::json!({"type": plugin})).collect();
    let list = serde_json::json!({"cniVersion": version, "name": "net1", "plugins": plugins});
    Network::from_list(list.to_string().as_bytes()).unwrap()
}

pub(crate) fn rt(container_id: &str, ifname: &str) -> RuntimeConf {
    RuntimeConf::new(container_id, ifname).unwrap().with_netns(format!("/run/netns/{container_id}"))
}

/// An error and its causes on one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// `ADD a`, `DEL b`, …
pub(crate) fn runs(exec: &ScriptedExec) -> Vec<String> {
    exec.calls().iter().map(|call| format!("{} {}", call.command(), call.plugin())).collect()
}

/// A result with one address in a version that has `ips`.
pub(crate) fn result(version: &str, address: &str) -> serde_json::Value {
    serde_json::json!({
        "cniVersion": version,
        "interfaces": [{"name": "eth0", "sandbox": "/run/netns/c1"}],
        "ips": [{"address": address, "interface": 0}],
    })
}

/// The text of a good cache file.
pub(crate) fn cached(network: &str, container_id: &str, ifname: &str, result: &serde_json::Value) -> String {
    serde_json::json!({
        "kind": "cniCacheV1", "networkName": network, "containerId": container_id, "ifName": ifname,
        "netns": format!("/run/netns/{container_id}"), "config": "e30=", "result": result,
    })
    .to_string()
}

/// Plugins that answer ADD with their own address, and everything else with success.
pub(crate) fn chain() -> ScriptedExec {
    ScriptedExec::new().otherwise(|call| match call.command() {
        cni_types::Command::Add => {
            let config = call.config();
            let mut result = config.get("prevResult").cloned().unwrap_or_else(|| serde_json::json!({}));
            result["cniVersion"] = config.get("cniVersion").cloned().unwrap_or_default();
            let number = call.plugin().as_str().as_bytes()[0] - b'a' + 1;
            let ips = result["ips"].as_array().cloned().unwrap_or_default();
            let address = serde_json::json!({"address": format!("10.0.0.{number}/24")});
            result["ips"] = [ips, vec![address]].concat().into();
            Reply::json(result)
        }
        _ => Reply::nothing(),
    })
}
