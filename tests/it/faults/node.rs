//! A node in a directory of its own: a network of host-local and a plugin after it, one attachment that is to stay, and
//! another that faults are about.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use cni_tests::bins;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use super::call::{Call, Outcome};

/// The attachment that faults are about.
const SUBJECT: &str = "c1";
/// The attachment that is to stay.
const OTHER: &str = "c2";
const NETWORK: &str = "n1";

pub(super) struct Node {
    dir: PathBuf,
    runtime: PathBuf,
    plugin: PathBuf,
    /// What is there when the other attachment is alone.
    alone: BTreeMap<String, Vec<u8>>,
}

impl Node {
    /// A node in an empty directory, which has the other attachment.
    pub(super) fn start(dir: &Path, version: &str) -> Self {
        let node = Self::empty(dir, version);
        node.runtime(&["add", NETWORK, &node.netns(OTHER)]).good();
        let alone = node.state();
        assert_eq!(alone.len(), 3, "a record and two addresses: {alone:?}");
        Self { alone, ..node }
    }

    /// A node without any attachment.
    pub(super) fn empty(dir: &Path, version: &str) -> Self {
        let [runtime, plugin, _] = ["cnitool", "host-local", "noop"].map(bins::build);
        let node = Self { dir: dir.to_owned(), runtime, plugin, alone: BTreeMap::new() };
        for name in ["net.d", "cni", "data"] {
            fs::create_dir_all(dir.join(name)).unwrap();
        }
        let ipam = json!({
            "type": "host-local",
            "dataDir": dir.join("data"),
            "ranges": [[{"subnet": "10.1.0.0/28"}], [{"subnet": "fd00::/124"}]],
        });
        let mut conf = json!({"cniVersion": version, "name": NETWORK, "type": "host-local", "ipam": ipam});
        node.write("plugin.json", &conf);
        conf["cni.dev/valid-attachments"] =
            json!([{"containerID": node.container_id(OTHER), "ifname": "eth0"}]);
        node.write("gc.json", &conf);
        let plugins = json!([{"type": "noop"}, {"type": "host-local", "ipam": ipam}]);
        node.write("net.d/n1.conflist", &json!({"cniVersion": version, "name": NETWORK, "plugins": plugins}));
        node
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn write(&self, name: &str, value: &Value) {
        fs::write(self.path(name), value.to_string()).unwrap();
    }

    fn netns(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Where the runtime finds a plugin.
    pub(super) fn plugin_path(&self, name: &str) -> PathBuf {
        self.plugin.with_file_name(name)
    }

    fn runtime(&self, words: &[&str]) -> Call {
        let mut call = Call::new(&self.runtime, words);
        call.env.push(("CNI_PATH", self.plugin.parent().unwrap().into()));
        call.env.push(("NETCONFPATH", self.path("net.d").into()));
        call.env.push(("CNI_CACHE_DIR", self.path("cni").into()));
        call
    }

    pub(super) fn add(&self) -> Call {
        self.runtime(&["add", "--undo", NETWORK, &self.netns(SUBJECT)])
    }

    pub(super) fn check(&self) -> Call {
        self.runtime(&["check", NETWORK, &self.netns(SUBJECT)])
    }

    pub(super) fn del(&self) -> Call {
        self.runtime(&["del", NETWORK, &self.netns(SUBJECT)])
    }

    /// GC that keeps the other attachment.
    pub(super) fn gc(&self) -> Call {
        self.runtime(&["gc", NETWORK, &self.netns(OTHER)])
    }

    /// A call of host-local alone; of its attachment no runtime knows.
    pub(super) fn plugin(&self, command: &str) -> Call {
        let mut call = Call::new(&self.plugin, &[]);
        let gc = command == "GC";
        call.stdin = self.path(if gc { "gc.json" } else { "plugin.json" });
        call.env.push(("CNI_COMMAND", command.into()));
        call.env.push(("CNI_PATH", "/none".into()));
        if !gc {
            let attachment = [("CNI_CONTAINERID", SUBJECT), ("CNI_IFNAME", "eth0"), ("CNI_NETNS", "/none")];
            call.env.extend(attachment.map(|(name, value)| (name, value.into())));
        }
        call
    }

    /// Records and reservations, by their paths.
    pub(super) fn state(&self) -> BTreeMap<String, Vec<u8>> {
        let mut state = BTreeMap::new();
        for dir in ["cni/results", "data/n1"] {
            let entries = fs::read_dir(self.path(dir)).into_iter().flatten();
            for entry in entries.map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                if !name.starts_with(".") && !name.starts_with("last_reserved_ip.") && name != "lock" {
                    state.insert(format!("{dir}/{name}"), fs::read(entry.path()).unwrap());
                }
            }
        }
        state
    }

    /// What is there when the other attachment is alone.
    pub(super) fn alone(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.alone
    }

    /// What is there besides what the other attachment has, which must be as it was.
    pub(super) fn rest(&self) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let mut state = self.state();
        for (path, content) in &self.alone {
            if state.remove(path).as_ref() != Some(content) {
                return Err(format!("{path} of the other attachment is not as it was"));
            }
        }
        Ok(state)
    }

    /// The addresses that the attachment has, which faults are about.
    pub(super) fn addresses(&self) -> Result<usize, String> {
        Ok(self.rest()?.keys().filter(|path| path.starts_with("data/")).count())
    }

    /// Whether each file that is there is a whole one.
    pub(super) fn whole(&self) -> Result<(), String> {
        for (path, content) in self.rest()? {
            let is_whole = if path.starts_with("cni/") {
                serde_json::from_slice::<Value>(&content).is_ok_and(|record| record["kind"].is_string())
            } else {
                let ids = [SUBJECT.to_owned(), self.container_id(SUBJECT)];
                ids.iter().any(|id| format!("{id}\r\neth0").as_bytes() == content)
            };
            if !is_whole {
                return Err(format!("{path} is not whole: {:?}", String::from_utf8_lossy(&content)));
            }
        }
        for set in 0..2 {
            // Not there before the first address was given out.
            let Ok(last) = fs::read_to_string(self.path(&format!("data/n1/last_reserved_ip.{set}"))) else {
                continue;
            };
            last.parse::<IpAddr>().map_err(|_| format!("last_reserved_ip.{set} is not whole: {last:?}"))?;
        }
        Ok(())
    }

    /// Whether nothing is there but what the other attachment has.
    pub(super) fn clean(&self) -> Result<(), String> {
        let rest = self.rest()?;
        if rest.is_empty() {
            Ok(())
        } else {
            Err(format!("{:?} is left", rest.into_keys().collect::<Vec<_>>()))
        }
    }

    /// Whether GC has removed what killed processes left: half-written files, and locks of containers.
    pub(super) fn swept(&self) -> Result<(), String> {
        for dir in ["cni/results", "cni/.libcni-locks", "data/n1"] {
            for entry in fs::read_dir(self.path(dir)).into_iter().flatten().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                if [".libcni-", ".tmp-", "c-", "~"].iter().any(|prefix| name.starts_with(prefix)) {
                    return Err(format!("{dir}/{name} is left"));
                }
            }
        }
        Ok(())
    }

    /// The container ID that cnitool makes of a path.
    fn container_id(&self, name: &str) -> String {
        let digest = Sha512::digest(self.netns(name));
        digest.iter().take(10).fold("cnitool-".to_owned(), |id, byte| format!("{id}{byte:02x}"))
    }
}

/// Whether a call that ended by itself told the truth: a failure is told, and its object is one.
pub(super) fn told(outcome: &Outcome, is_plugin: bool) -> Result<(), String> {
    let has_error = if is_plugin {
        let object: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        object["code"].is_u64() && object["msg"].is_string()
    } else {
        outcome.stderr.contains("error: ")
    };
    // Not if there is nowhere to tell it.
    let has_error = has_error || outcome.stdout.is_empty() && outcome.stderr.contains("cannot write");
    match outcome.status.code() {
        Some(0) => Ok(()),
        Some(1) if has_error => Ok(()),
        _ => Err(format!("it ended untold: {outcome:?}")),
    }
}
