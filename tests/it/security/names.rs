//! Names that lead somewhere: as plugin type, IPAM type, network name, container ID, interface name or sysctl key, given to
//! the real plugins and to `cnitool`. Each is refused, and nothing outside is made, changed or run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cni_tests::bins;
use serde_json::{Value, json};

/// Names that lead out of a directory, or are none.
const HOSTILE: [&str; 9] =
    ["../victim", "..", ".", "/etc/passwd", "a/b", "a/../../victim", "../../../../../../../tmp", "x/", "./x"];

/// A directory with what must not change, around those that plugins may write to.
struct Jail(tempfile::TempDir);

impl Jail {
    fn new() -> Self {
        let jail = Self(tempfile::tempdir().unwrap());
        for dir in ["bin", "net.d", "cache", "data", "tuning", "portmap"] {
            std::fs::create_dir(jail.path(dir)).unwrap();
        }
        // What would be run by `../victim`, and tells.
        let victim = format!("#!/bin/sh\ntouch {}\necho '{{}}'\n", jail.path("was-run").display());
        std::fs::write(jail.path("victim"), victim).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(jail.path("victim"), mode).unwrap();
        jail
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Every file that there is, and what stands in it.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut dirs = vec![self.0.path().to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path.clone());
                    files.push((path, Vec::new()));
                } else {
                    let bytes = std::fs::read(&path).unwrap();
                    files.push((path, bytes));
                }
            }
        }
        files.sort();
        files
    }

    /// A configuration for any of the plugins.
    fn config(&self, plugin: &str) -> Value {
        json!({
            "cniVersion": "1.1.0", "name": "n1", "type": plugin,
            "ipam": {"type": "host-local", "dataDir": self.path("data"), "subnet": "10.9.0.0/24"},
            "dataDir": self.path(plugin),
            "runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]},
            "prevResult": {"cniVersion": "1.1.0", "interfaces": [{"name": "eth0", "sandbox": "/run/netns/none"}],
                "ips": [{"interface": 0, "address": "10.9.0.2/24"}]},
            "cni.dev/valid-attachments": [],
        })
    }
}

fn call(program: &Path, command: &str, variables: &[(&str, &str)], search: &Path, config: &Value) -> Output {
    let mut plugin = Command::new(program);
    plugin.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    plugin.env("CNI_COMMAND", command).env("CNI_CONTAINERID", "c1").env("CNI_IFNAME", "eth0");
    plugin.env("CNI_NETNS", "/run/netns/none").env("CNI_PATH", search);
    plugin.envs(variables.iter().copied());
    plugin.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = plugin.spawn().unwrap();
    // A plugin that refuses its environment reads no more.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), config.to_string().as_bytes());
    child.wait_with_output().unwrap()
}

fn refused(output: &Output, codes: &[u64], what: &str) {
    let error: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{what}: {e}: {output:?}"));
    assert!(!output.status.success(), "{what}: {output:?}");
    assert!(codes.contains(&error["code"].as_u64().unwrap()), "{what}: {error}");
}

#[test]
fn no_hostile_name_gets_past_a_plugin() {
    let jail = Jail::new();
    let before = jail.files();
    let plugins = ["bridge", "host-local", "portmap", "tuning"];
    for plugin in plugins {
        let program = bins::build(plugin);
        for command in ["ADD", "DEL", "CHECK"] {
            for name in HOSTILE {
                let what = format!("{plugin} {command} {name:?}");
                for variable in ["CNI_CONTAINERID", "CNI_IFNAME"] {
                    let output =
                        call(&program, command, &[(variable, name)], &jail.path("bin"), &jail.config(plugin));
                    // `./x` is as bad as the rest: a name has no slash.
                    refused(&output, &[4], &what);
                }
                let mut config = jail.config(plugin);
                config["name"] = name.into();
                refused(&call(&program, command, &[], &jail.path("bin"), &config), &[7], &what);
            }
        }
    }
    assert_eq!(jail.files(), before);
}

#[test]
fn no_sysctl_key_leads_out_of_the_networks_settings() {
    let jail = Jail::new();
    let before = jail.files();
    let program = bins::build("tuning");
    for key in [
        "net/../kernel/hostname",
        "net.ipv4.//.//.kernel.hostname",
        "../../tmp/x",
        "/net/x",
        "kernel.hostname",
        "net/IFNAME/../../kernel/x",
    ] {
        let mut config = jail.config("tuning");
        config["sysctl"] = json!({key: "1"});
        let output = call(&program, "ADD", &[], &jail.path("bin"), &config);
        let error: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(error["msg"].as_str().unwrap().contains("invalid net sysctl key"), "{key}: {error}");
    }
    assert_eq!(jail.files(), before);
}

#[test]
fn cve_2021_20206_a_plugin_type_is_never_a_path() {
    let jail = Jail::new();
    let (bridge, cnitool) = (bins::build("bridge"), bins::build("cnitool"));
    for name in HOSTILE {
        // As IPAM plugin of a plugin.
        let mut config = jail.config("bridge");
        config["ipam"] = json!({"type": name});
        let output = call(&bridge, "STATUS", &[], &jail.path("bin"), &config);
        refused(&output, &[7], &format!("{name:?}"));
        // In a list, and as IPAM plugin of one.
        for plugin in [json!({"type": name}), json!({"type": "bridge", "ipam": {"type": name}})] {
            let list = json!({"cniVersion": "1.0.0", "name": "n1", "plugins": [plugin]});
            std::fs::write(jail.path("net.d/10.conflist"), list.to_string()).unwrap();
            for words in
                [&["validate"][..], &["add", "n1", "/run/netns/none"], &["del", "n1", "/run/netns/none"]]
            {
                let output = Command::new(&cnitool)
                    .args(words)
                    .env_clear()
                    .env("CNI_PATH", jail.path("bin"))
                    .env("NETCONFPATH", jail.path("net.d"))
                    .env("CNI_CACHE_DIR", jail.path("cache"))
                    .output()
                    .unwrap();
                assert!(!output.status.success() || words[0] == "del", "{name:?}: {output:?}");
            }
        }
        assert!(!jail.path("was-run").exists(), "{name:?} was run");
    }
    // It would have been seen: where it is a plugin, it runs.
    std::fs::copy(jail.path("victim"), jail.path("bin/victim")).unwrap();
    let mut config = jail.config("bridge");
    config["ipam"] = json!({"type": "victim"});
    call(&bridge, "STATUS", &[], &jail.path("bin"), &config);
    assert!(jail.path("was-run").exists());
}
