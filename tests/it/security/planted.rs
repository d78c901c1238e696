//! Symbolic and hard links, planted where the runtime and host-local keep state: what they lead to is neither changed nor
//! made. `state` has the other plugins.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use cni_invoke::{Exec, Exit, FindError, Invocation, Output, RunError};
use cni_tests::bins;
use cni_types::PluginType;
use libcni::{Client, Network, RuntimeConf, SearchPath};
use serde_json::json;

/// A file that belongs to somebody else, and what is known of it.
struct Victim {
    path: PathBuf,
    before: (u64, u32, i64, i64, Vec<u8>),
}

impl Victim {
    fn new(dir: &Path) -> Self {
        let path = dir.join("victim");
        std::fs::write(&path, "root:x:0:0\n").unwrap();
        let before = Self::look(&path);
        Self { path, before }
    }

    /// All but the number of links and what changes with it.
    fn look(path: &Path) -> (u64, u32, i64, i64, Vec<u8>) {
        let found = path.metadata().unwrap();
        (found.ino(), found.mode(), found.mtime(), found.mtime_nsec(), std::fs::read(path).unwrap())
    }

    /// In place of each name: a symbolic link to the file, a hard link to it, a symbolic link to what is not there.
    fn plant(&self, kind: usize, place: &Path) {
        let _ = std::fs::remove_file(place);
        match kind {
            0 => symlink(&self.path, place).unwrap(),
            1 => std::fs::hard_link(&self.path, place).unwrap(),
            _ => symlink(self.path.with_file_name("made"), place).unwrap(),
        }
    }

    fn assert_unharmed(&self, what: &str) {
        assert_eq!(Self::look(&self.path), self.before, "{what}");
        assert!(!self.path.with_file_name("made").exists(), "{what}");
    }
}

/// Every plugin exists and succeeds.
struct Good;

impl Exec for Good {
    fn find(&self, plugin: &PluginType, _: &SearchPath) -> Result<PathBuf, FindError> {
        Ok(PathBuf::from("/opt/cni/bin").join(plugin.as_str()))
    }

    fn run(&self, _: &Invocation<'_>) -> Result<Output, RunError> {
        Ok(Output::new(Exit::SUCCESS, r#"{"cniVersion":"1.0.0"}"#))
    }
}

#[test]
fn links_planted_in_the_cache_lead_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let victim = Victim::new(dir.path());
    let network = Network::from_list(
        json!({"cniVersion": "1.0.0", "name": "n1", "plugins": [{"type": "bridge"}]}).to_string().as_bytes(),
    )
    .unwrap();
    let rt = RuntimeConf::new("c1", "eth0").unwrap().with_netns("/run/netns/c1");
    // Which files there are is found out, not known.
    let names = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let client = |cache: &Path| Client::builder().cache_dir(cache).exec(Arc::new(Good)).build();
    let probe = dir.path().join("probe");
    client(&probe).add(&network, &rt).unwrap();
    let mut places: Vec<PathBuf> = Vec::new();
    for folder in ["results", ".libcni-locks"] {
        places.extend(
            names(&probe.join(folder)).iter().map(|path| path.strip_prefix(&probe).unwrap().to_owned()),
        );
    }
    // The record of an ADD under way, and the container's lock, which are there no longer.
    places.extend(["results/~2.2.n1-c1-eth0", ".libcni-locks/c-c1"].map(PathBuf::from));
    assert!(places.len() >= 5, "{places:?}");

    for place in &places {
        for kind in 0..3 {
            let what = format!("{place:?} {kind}");
            let cache =
                dir.path().join(format!("cache-{kind}-{}", place.display().to_string().replace('/', "_")));
            std::fs::create_dir_all(cache.join(place.parent().unwrap())).unwrap();
            victim.plant(kind, &cache.join(place));
            let client = client(&cache);
            let added = client.add(&network, &rt);
            if place.starts_with("results") {
                added.unwrap();
                client.del(&network, &rt).unwrap();
                assert_eq!(names(&cache.join("results")), [""; 0].map(PathBuf::from), "{what}");
            } else {
                assert!(added.is_err(), "{what}: a lock is no link");
            }
            victim.assert_unharmed(&what);
        }
    }
}

#[test]
fn links_planted_in_the_store_lead_nowhere() {
    let program = bins::build("host-local");
    for kind in 0..3 {
        let dir = tempfile::tempdir().unwrap();
        let victim = Victim::new(dir.path());
        let data = dir.path().join("data");
        std::fs::create_dir_all(data.join("n1")).unwrap();
        let config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "bridge",
            "ipam": {"type": "host-local", "dataDir": data, "subnet": "10.9.0.0/29"}});
        let call = |command: &str| {
            let mut plugin = Command::new(&program);
            plugin
                .env_clear()
                .env("CNI_COMMAND", command)
                .env("CNI_CONTAINERID", "c1")
                .env("CNI_IFNAME", "eth0");
            plugin.env("CNI_NETNS", "/run/netns/none").env("CNI_PATH", "/none");
            plugin.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = plugin.spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), config.to_string().as_bytes())
                .unwrap();
            child.wait_with_output().unwrap()
        };
        for name in ["n1/10.9.0.2", "n1/last_reserved_ip.0", ".n1.idx", "n1/.tmp-abcdef"] {
            victim.plant(kind, &data.join(name));
        }
        let added = call("ADD");
        assert!(added.status.success(), "{kind}: {added:?}");
        let text = String::from_utf8_lossy(&added.stdout).into_owned();
        // The address has a file of its name, whatever that is.
        assert!(text.contains("10.9.0.3/29"), "{kind}: {text}");
        victim.assert_unharmed("ADD");
        let deleted = call("DEL");
        assert!(deleted.status.success(), "{kind}: {deleted:?}");
        victim.assert_unharmed("DEL");

        victim.plant(kind, &data.join("n1/lock"));
        // A hard link is locked, and no more.
        assert_eq!(call("ADD").status.success(), kind == 1, "{kind}: a lock is no symbolic link");
        victim.assert_unharmed("ADD with a lock");
        call("DEL");
        victim.assert_unharmed("DEL with a lock");
    }
}
