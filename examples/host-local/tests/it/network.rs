//! A network in a data directory of its own, and calls for it.

use std::fs;
use std::path::PathBuf;

use cni_skel::testing::{Invocation, Outcome};
use host_local::HostLocal;
use serde_json::{Value, json};

/// A network named `n1`. Its directory goes when this does.
pub(crate) struct Network {
    root: tempfile::TempDir,
    version: &'static str,
    ipam: Value,
}

impl Network {
    /// A network with these keys of `ipam`, in the newest version.
    pub(crate) fn new(ipam: Value) -> Self {
        Self { root: tempfile::tempdir().unwrap(), version: "1.1.0", ipam }
    }

    /// A network with one range set for each text: subnets of a pool, separated by spaces.
    pub(crate) fn of(sets: &[&str]) -> Self {
        let pool =
            |set: &&str| -> Vec<Value> { set.split(' ').map(|subnet| json!({"subnet": subnet})).collect() };
        Self::new(json!({"ranges": sets.iter().map(pool).collect::<Vec<_>>()}))
    }

    pub(crate) fn in_version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// The same directory with other keys of `ipam`.
    pub(crate) fn change(&mut self, ipam: Value) {
        self.ipam = ipam;
    }

    /// The configuration as a plugin gets it.
    pub(crate) fn config(&self) -> Value {
        let mut ipam = self.ipam.clone();
        ipam["type"] = json!("host-local");
        ipam["dataDir"] = json!(self.data_dir());
        let mut config = json!({"name": "n1", "type": "bridge", "ipam": ipam});
        if !self.version.is_empty() {
            config["cniVersion"] = json!(self.version);
        }
        config
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.root.path().join("networks")
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.data_dir().join("n1").join(file)
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        fs::create_dir_all(self.path("")).unwrap();
        fs::write(self.path(file), content).unwrap();
    }

    /// Names and contents of the files in the network's directory, in order, without the lock.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let Ok(entries) = fs::read_dir(self.path("")) else { return Vec::new() };
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "lock" && self.path(name).is_file())
            .map(|name| (name.clone(), self.read(&name)))
            .collect();
        files.sort();
        files
    }

    /// The addresses that are reserved, in order of their names.
    pub(crate) fn reserved(&self) -> Vec<String> {
        let names = self.files().into_iter().map(|(name, _)| name);
        names.filter(|name| name.parse::<std::net::IpAddr>().is_ok()).collect()
    }

    pub(crate) fn add(&self, id: &str) -> Outcome {
        self.adding(id, "eth0").run(&HostLocal)
    }

    pub(crate) fn adding(&self, id: &str, ifname: &str) -> Invocation {
        Invocation::add(id, "/run/netns/none", ifname).config(self.config())
    }

    /// The addresses that an ADD gives, with their prefix.
    pub(crate) fn addresses(&self, id: &str) -> Vec<String> {
        let outcome = self.add(id);
        outcome.assert_success();
        outcome.result().ips.iter().map(|ip| ip.address.to_string()).collect()
    }

    pub(crate) fn del(&self, id: &str) -> Outcome {
        Invocation::del(id, "eth0").config(self.config()).run(&HostLocal)
    }

    pub(crate) fn check(&self, id: &str, prev_result: Value) -> Outcome {
        Invocation::check(id, "/run/netns/none", "eth0")
            .config(self.config())
            .prev_result(prev_result)
            .run(&HostLocal)
    }

    pub(crate) fn gc(&self, valid: &[(&str, &str)]) -> Outcome {
        Invocation::gc(valid.iter().copied()).config(self.config()).run(&HostLocal)
    }

    pub(crate) fn status(&self) -> Outcome {
        Invocation::status().config(self.config()).run(&HostLocal)
    }
}
