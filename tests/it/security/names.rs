//! Names that lead somewhere: as plugin type, IPAM type, network name, container ID, interface name or sysctl key, given to
//! the real plugins and to `cnitool`. Each is refused, and nothing outside is made, changed or run.

use std::os::unix::fs::MetadataExt as _;
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
        for dir in ["bin", "net.d", "cache", "data"] {
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

    /// Every file that there is, with its mode, and what stands in it; of a link, where it leads.
    fn files(&self) -> Vec<(PathBuf, u32, Vec<u8>)> {
        let mut files = Vec::new();
        let mut paths = vec![self.0.path().to_owned()];
        while let Some(path) = paths.pop() {
            let found = path.symlink_metadata().unwrap();
            let bytes = if found.is_dir() {
                paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            } else if found.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                std::fs::read(&path).unwrap()
            };
            files.push((path, found.mode(), bytes));
        }
        files.sort();
        files
    }

    /// A configuration for any of the plugins.
    fn config(&self, plugin: &str) -> Value {
        json!({
            "cniVersion": "1.1.0", "name": "n1", "type": plugin,
            "ipam": {"type": "host-local", "dataDir": self.path("data"), "subnet": "10.9.0.0/24"},
            "dataDir": self.path(plugin), "master": "lo", "device": "lo", "vrfname": "vrf0", "vlanId": 5,
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

/// The plugins of the one program, each as it would be called by a runtime.
fn plugins(jail: &Jail) -> Vec<(String, PathBuf)> {
    let program = bins::build("cni-plugins");
    let listed = Command::new(&program).arg("list").env_clear().output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    let plugins: Vec<_> = names
        .map(|name| {
            let path = jail.path("bin").join(name);
            std::os::unix::fs::symlink(&program, &path).unwrap();
            (name.to_owned(), path)
        })
        .collect();
    assert!(plugins.len() >= 17, "{listed}");
    plugins
}

#[test]
fn no_hostile_name_gets_past_a_plugin() {
    let jail = Jail::new();
    let plugins = plugins(&jail);
    let before = jail.files();
    for (plugin, program) in &plugins {
        for command in ["ADD", "DEL", "CHECK"] {
            for name in HOSTILE {
                let what = format!("{plugin} {command} {name:?}");
                for variable in ["CNI_CONTAINERID", "CNI_IFNAME"] {
                    let output =
                        call(program, command, &[(variable, name)], &jail.path("bin"), &jail.config(plugin));
                    // `./x` is as bad as the rest: a name has no slash.
                    refused(&output, &[4], &what);
                }
                let mut config = jail.config(plugin);
                config["name"] = name.into();
                refused(&call(program, command, &[], &jail.path("bin"), &config), &[7], &what);
            }
        }
        for command in ["STATUS", "GC"] {
            for name in HOSTILE {
                let mut config = jail.config(plugin);
                config["name"] = name.into();
                let output = call(program, command, &[], &jail.path("bin"), &config);
                refused(&output, &[7], &format!("{plugin} {command} {name:?}"));
            }
        }
    }
    assert_eq!(jail.files(), before);
}

#[test]
fn no_type_of_an_ipam_plugin_leads_out_of_the_plugin_directories() {
    let jail = Jail::new();
    let plugins = plugins(&jail);
    std::fs::copy(jail.path("victim"), jail.path("bin/victim")).unwrap();
    let was_run = jail.path("was-run");
    let status = |plugin: &str, program: &Path, ipam: &str| {
        let mut config = jail.config(plugin);
        config["ipam"] = json!({"type": ipam});
        call(program, "STATUS", &[], &jail.path("bin"), &config)
    };
    let mut delegating = 0;
    for (plugin, program) in &plugins {
        // Which plugins have others for addresses is seen by their doing so.
        status(plugin, program, "victim");
        let delegates = std::fs::remove_file(&was_run).is_ok();
        delegating += usize::from(delegates);
        let before = jail.files();
        for name in HOSTILE {
            let what = format!("{plugin} {name:?}");
            let output = status(plugin, program, name);
            if delegates {
                refused(&output, &[7], &what);
            }
            assert!(!was_run.exists(), "{what}: was run");
        }
        assert_eq!(jail.files(), before, "{plugin}");
    }
    assert_eq!(delegating, 8, "bridge, dummy, host-device, ipvlan, macvlan, ptp, tap, vlan");
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
