//! Directories of state, of every plugin that has one: what is made there is for root alone; a link or a FIFO that is
//! planted in the place of a file leads nowhere and stops nothing; one that everyone can write to is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use cni_tests::bins::{self, Plugin::Ours};
use cni_tests::private_host::PrivateHost;
use serde_json::{Value, json};

/// Where a plugin keeps state.
struct State {
    plugin: &'static str,
    dir: &'static str,
    /// Directories of it that are as Go's are, for others to list.
    is_listed: bool,
}

const STATE: [State; 4] = [
    State { plugin: "firewall", dir: "/run/cni/firewall", is_listed: false },
    State { plugin: "host-local", dir: "/var/lib/cni/networks", is_listed: true },
    State { plugin: "portmap", dir: "/run/cni/portmap", is_listed: false },
    State { plugin: "tuning", dir: "/run/cni/tuning", is_listed: false },
];

/// A list in which each of them has something to keep.
fn list() -> Value {
    json!({"cniVersion": "1.1.0", "name": "mynet", "plugins": [
        {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "ipMasqBackend": "iptables",
            "ipam": {"type": "host-local", "subnet": "10.244.1.0/24"}},
        {"type": "tuning", "mtu": 1400},
        {"type": "portmap", "backend": "iptables", "capabilities": {"portMappings": true}},
        {"type": "firewall", "backend": "iptables"},
    ]})
}

fn host() -> Option<PrivateHost> {
    let plugins = ["cnitool", "bridge", "firewall", "host-local", "portmap", "tuning"].map(Ours);
    let host = PrivateHost::start(&["iptables-restore", "mkfifo"], &plugins)?;
    host.add_network(&list());
    Some(host)
}

fn call(host: &PrivateHost, command: &str, netns: &Path) -> cni_tests::private_host::Ran {
    let line = format!("umask 0; exec /opt/cni/bin/cnitool {command} mynet {}", netns.display());
    let ports = r#"{"portMappings": [{"hostPort": 8080, "containerPort": 80}]}"#;
    host.command(["bash", "-c", &line]).env("CAP_ARGS", ports).attempt()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Whether the code of a plugin, tests aside, has something to do with files of state.
fn keeps_files(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            return name != "tests" && keeps_files(&path);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let words = [
            "state_dir",
            "atomic::",
            "lock::Lock",
            "records::",
            "fs::write",
            "File::create",
            "create_dir",
            "DirBuilder",
        ];
        name != "tests.rs" && words.iter().any(|word| code.contains(word))
    })
}

#[test]
fn every_plugin_that_keeps_state_is_in_the_table() {
    let program = bins::build("cni-plugins");
    let said = |arguments: &[&str]| {
        let output = Command::new(&program).args(arguments).env_clear().output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = said(&["list"]);
    let mut keeping = Vec::new();
    for plugin in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        let by_code = keeps_files(&root().join("examples").join(plugin).join("src"));
        let by_word = said(&[plugin, "--describe"]).contains("\"dataDir\"");
        assert_eq!(by_code, by_word, "{plugin}: whatever keeps files has a key that says where");
        keeping.extend(by_code.then(|| plugin.to_owned()));
    }
    assert_eq!(keeping, STATE.map(|state| state.plugin), "STATE has them all, in their order");
}

#[test]
fn state_is_for_root_alone_whatever_the_umask() {
    let Some(host) = host() else { return };
    let netns = host.netns("c1");
    let added = call(&host, "add", &netns.path());
    assert!(added.success(), "{added}");

    let find = |words: &[&str]| host.run([&["find", "/var/lib/cni", "/run/cni"][..], words].concat()).stdout;
    let all = find(&["-type", "f"]);
    for state in &STATE {
        assert!(all.lines().any(|file| file.starts_with(&format!("{}/", state.dir))), "{}: {all}", state.dir);
        let mode = host.run(["stat", "-c", "%a", state.dir]).stdout;
        assert_eq!(mode.trim(), if state.is_listed { "755" } else { "700" }, "{}", state.dir);
    }
    for part in ["/results/mynet-", "/networks/mynet/10.244.1.2", ".idx"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    // Nobody else may read, write or list; the lock of Go's has the mode 0750, and nothing in it.
    assert_eq!(find(&["-type", "f", "-perm", "/077", "!", "-name", "lock"]), "");
    assert_eq!(find(&["-name", "lock", "-perm", "/027"]), "");
    assert_eq!(find(&["-name", "lock", "-size", "+0"]), "");
    // Directories that others may list are those that Go makes so; none can be written.
    assert_eq!(find(&["-type", "d", "-perm", "/022"]), "");
    for private in ["/var/lib/cni/results", "/var/lib/cni/.libcni-locks"] {
        assert_eq!(host.run(["stat", "-c", "%a", private]).stdout.trim(), "700", "{private}");
    }
    let deleted = call(&host, "del", &netns.path());
    assert!(deleted.success(), "{deleted}");
}

/// What is planted: a command of the shell, with the place as `$1`.
const PLANTS: [&str; 4] =
    ["ln -sfn /run/victim $1", "ln -fn /run/victim $1", "ln -sfn /run/made $1", "rm -f $1; mkfifo $1"];

#[test]
fn links_and_fifos_planted_among_the_state_of_plugins_lead_nowhere() {
    let Some(host) = host() else { return };
    let netns = host.netns("c1");
    let shell = |line: &str, place: &str| host.run(["bash", "-c", line, "bash", place]).stdout;
    host.run(["bash", "-c", "printf 'root:x:0:0\\n' >/run/victim; chmod 640 /run/victim"]);
    let victim = || {
        host.run(["bash", "-c", "stat -c '%i %a %y' /run/victim; cat /run/victim; ls /run/made 2>&1; true"])
            .stdout
    };
    let before = victim();

    // Which files there are is found out, not known; host-local's have a test of their own.
    let added = call(&host, "add", &netns.path());
    assert!(added.success(), "{added}");
    let dirs = STATE.iter().map(|state| state.dir).filter(|dir| dir.starts_with("/run"));
    let listed = host.run(["find", "/run/cni", "-type", "f"]).stdout;
    let (locks, records): (Vec<_>, Vec<_>) = listed.lines().partition(|path| path.ends_with("/lock"));
    for dir in dirs {
        assert!(records.iter().any(|path| path.starts_with(dir)), "{dir}: {records:?}");
    }
    assert!(locks.len() >= 2, "{locks:?}");
    let deleted = call(&host, "del", &netns.path());
    assert!(deleted.success(), "{deleted}");

    for plant in PLANTS {
        for record in &records {
            shell(plant, record);
        }
        // Before ADD, whose place it takes.
        let added = call(&host, "add", &netns.path());
        assert!(added.success(), "{plant}: {added}");
        assert_eq!(victim(), before, "{plant}");
        for record in &records {
            assert_eq!(shell("stat -c %F $1", record), "regular file\n", "{plant} {record}");
            shell(plant, record);
        }
        // And before DEL, which goes by what it is told instead.
        let deleted = call(&host, "del", &netns.path());
        assert!(deleted.success(), "{plant}: {deleted}");
        assert_eq!(victim(), before, "{plant}");
        assert_eq!(
            host.run(["find", "/run/cni", "!", "-type", "d", "!", "-name", "lock"]).stdout,
            "",
            "{plant}"
        );

        for lock in &locks {
            shell(plant, lock);
            let added = call(&host, "add", &netns.path());
            // A hard link and a FIFO are locked, and no more.
            assert_eq!(added.success(), !plant.starts_with("ln -s"), "{plant} {lock}: {added}");
            assert_eq!(victim(), before, "{plant} {lock}");
            shell("rm -f $1", lock);
            let deleted = call(&host, "del", &netns.path());
            assert!(deleted.success(), "{plant} {lock}: {deleted}");
        }
    }
}

#[test]
fn a_directory_of_state_that_everyone_can_write_to_is_refused() {
    let Some(host) = host() else { return };
    let netns = host.netns("c1");
    let shell = |line: &str, place: &str| host.run(["bash", "-c", line, "bash", place]).stdout;
    for State { plugin, dir, .. } in &STATE {
        // Itself, by its own network's directory, by one above, and by where a link leads.
        let (above, name) = dir.rsplit_once('/').unwrap();
        for (open, shut, told) in [
            ("mkdir -p $1; chmod 1777 $1", "chmod 755 $1", *dir),
            ("mkdir -p $1; chmod 777 ${1%/*}", "chmod 755 ${1%/*}", above),
            (
                "rm -rf $1 /run/open; mkdir -m 777 /run/open; mkdir -p ${1%/*}; ln -s /run/open $1",
                "rm -r $1 /run/open",
                "/run/open",
            ),
        ] {
            let what = format!("{plugin} {name}: {open}");
            // host-local keeps its files in a directory of the network, below one that may have the sticky bit.
            let place = if *plugin == "host-local" { format!("{dir}/mynet") } else { (*dir).to_owned() };
            let told = if told == *dir { &place } else { told };
            let told = if *plugin == "host-local" && told == above { dir } else { told };
            shell(open, &place);
            for (command, code) in [("add", "999"), ("status", "50")] {
                let refused = call(&host, command, &netns.path());
                assert!(!refused.success(), "{what}: {refused}");
                let text = &refused.stderr;
                assert!(
                    text.contains(&format!("{told:?}")) && text.contains("chmod o-w"),
                    "{what}: {refused}"
                );
                assert!(text.contains(&format!("(code {code})")), "{what}: {refused}");
            }
            // Whatever is there is taken away.
            let deleted = call(&host, "del", &netns.path());
            assert!(deleted.success(), "{what}: {deleted}");
            shell(shut, &place);
            let added = call(&host, "add", &netns.path());
            assert!(added.success(), "{what}: {added}");
            let deleted = call(&host, "del", &netns.path());
            assert!(deleted.success(), "{what}: {deleted}");
        }
    }
}

#[test]
fn state_may_lie_below_a_directory_with_the_sticky_bit_and_behind_a_link() {
    let Some(host) = host() else { return };
    let netns = host.netns("c1");
    let mut list = list();
    host.run(["bash", "-c", "mkdir -m 1777 /run/tmp; mkdir -m 700 /run/disk; ln -s /run/disk /run/link"]);
    list["plugins"][0]["ipam"]["dataDir"] = json!("/run/tmp");
    list["plugins"][1]["dataDir"] = json!("/run/tmp/tuning");
    list["plugins"][2]["dataDir"] = json!("/run/link");
    list["plugins"][3]["dataDir"] = json!("/run/link/deep/firewall");
    host.add_network(&list);
    for command in ["status", "add", "check"] {
        let ran = call(&host, command, &netns.path());
        assert!(ran.success(), "{ran}");
    }
    let files = host.run(["find", "/run/tmp", "/run/disk", "-type", "f"]).stdout;
    for part in ["/run/tmp/mynet/10.244.1.2", "/run/tmp/tuning/", "/run/disk/deep/firewall/", "/run/disk/"] {
        assert!(files.contains(part), "{part}: {files}");
    }
    assert!(!files.contains(".idx"), "an index there could be anybody's: {files}");
    let deleted = call(&host, "del", &netns.path());
    assert!(deleted.success(), "{deleted}");
    assert_eq!(host.run(["find", "/run/tmp", "/run/disk", "-name", "*.json"]).stdout, "");
}
