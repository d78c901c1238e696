//! A process that dies anywhere in ADD, DEL or GC leaves nothing behind that the next DEL or GC does not clean up.
//!
//! The dying process is this test binary again, running [`child`] alone, and it dies by SIGKILL. The plugins are scripts
//! that keep a file for each attachment they have made.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::KILL_AT;
use crate::{Attachment, Client, Environment, Network, RuntimeConf};

/// What a child is to do: a folder, then a command.
const TASK: &str = "LIBCNI_UNIT_TEST_CRASH";

const PLUGIN: &str = r#"#!/bin/sh
cat > /dev/null
made="$STATE/$CNI_CONTAINERID-$CNI_IFNAME-${0##*/}"
case "$CNI_COMMAND" in
ADD)
    echo made > "$made"
    if [ -e "$STATE/../fail-in-${0##*/}" ]; then echo '{"code": 11, "msg": "busy"}'; exit 1; fi
    if [ -e "$STATE/../die-in-${0##*/}" ]; then kill -9 "$PPID"; fi
    echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.5/16"}]}'
    ;;
DEL)
    rm -f "$made"
    if [ -e "$STATE/../die-in-${0##*/}" ]; then kill -9 "$PPID"; fi
    ;;
esac
"#;

struct Host {
    dir: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["bin", "state"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        for plugin in ["first", "second"] {
            let path = dir.path().join("bin").join(plugin);
            fs::write(&path, PLUGIN).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs a command in a process that dies at a place. Whether it did.
    fn dies(&self, command: &str, at: usize) -> bool {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "failpoint::tests::child", "--nocapture", "--test-threads=1"]);
        child.env(TASK, format!("{}\n{command}", self.dir.path().display())).env(KILL_AT, at.to_string());
        let output = child.stdin(Stdio::null()).output().unwrap();
        let died = output.status.signal() == Some(9);
        assert!(died || output.status.success(), "{command} at {at}: {output:?}");
        died
    }

    /// Nothing but the one attachment that is to stay is left.
    fn is_clean(&self, what: &str) {
        assert_eq!(self.names("state"), ["c2-eth0-first", "c2-eth0-second"], "{what}");
        assert_eq!(self.names("cni/results"), ["net1-c2-eth0"], "{what}");
        assert_eq!(self.names("cni/.libcni-locks"), ["all", "gate"], "{what}");
    }
}

fn client(dir: &Path) -> Client {
    let mut environment = Environment::new();
    environment.set("STATE", dir.join("state"));
    environment.set("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    Client::builder()
        .plugin_dirs([dir.join("bin")])
        .cache_dir(dir.join("cni"))
        .environment(environment)
        .parallelism(std::num::NonZeroUsize::MIN)
        .build()
}

fn network() -> Network {
    Network::from_list(
        br#"{"cniVersion":"1.0.0","name":"net1","plugins":[{"type":"first"},{"type":"second"}]}"#,
    )
    .unwrap()
}

fn rt(id: &str) -> RuntimeConf {
    RuntimeConf::new(id, "eth0").unwrap().with_netns("/run/netns/x")
}

/// What is to survive every GC.
fn valid() -> [Attachment; 1] {
    [Attachment::new("c2", "eth0")]
}

/// Does nothing but in a child of the tests below.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (dir, command) = task.split_once('\n').unwrap();
    let client = client(Path::new(dir));
    match command {
        "add" => drop(client.add(&network(), &rt("c1")).unwrap()),
        "add and undo" => drop(client.add_or_undo(&network(), &rt("c1")).unwrap_err()),
        "del" => client.del(&network(), &rt("c1")).unwrap(),
        "gc" => drop(client.gc(&network(), &valid()).unwrap()),
        other => panic!("unknown command {other}"),
    }
}

/// Kills a command at one place after the other, until it comes to its end, and cleans up each time.
fn kill_everywhere(command: &str, at_least: usize) {
    for clean_up in ["del", "gc"] {
        let host = Host::new();
        let client = client(host.dir.path());
        client.add(&network(), &rt("c2")).unwrap();
        if command == "add and undo" {
            fs::write(host.path("fail-in-second"), "").unwrap();
        }
        let mut at = 0;
        loop {
            if !command.starts_with("add") {
                client.add(&network(), &rt("c1")).unwrap();
            }
            let died = host.dies(command, at);
            match clean_up {
                "del" => client.del(&network(), &rt("c1")).unwrap(),
                _ => drop(client.gc(&network(), &valid()).unwrap()),
            }
            // What only GC removes are files of writers that died in the middle of a file; they are nobody's.
            if clean_up == "del" {
                client.gc(&network(), &[valid(), [rt("c1").attachment()]].concat()).unwrap();
            }
            host.is_clean(&format!("{command} killed at place {at}, then {clean_up}"));
            if !died {
                break;
            }
            at += 1;
        }
        assert!(at >= at_least, "{command} has only {at} places");
    }
}

#[test]
fn whatever_a_killed_add_leaves_is_cleaned_up() {
    kill_everywhere("add", 10);
}

#[test]
fn whatever_a_killed_add_leaves_that_was_to_be_undone_is_cleaned_up() {
    kill_everywhere("add and undo", 10);
}

#[test]
fn whatever_a_killed_del_leaves_is_cleaned_up() {
    kill_everywhere("del", 6);
}

#[test]
fn whatever_a_killed_gc_leaves_is_cleaned_up() {
    kill_everywhere("gc", 5);
}

#[test]
fn a_runtime_that_is_killed_while_a_plugin_runs_can_be_cleaned_up_after() {
    for command in ["add", "del", "gc"] {
        for plugin in ["first", "second"] {
            let host = Host::new();
            let client = client(host.dir.path());
            client.add(&network(), &rt("c2")).unwrap();
            if command != "add" {
                client.add(&network(), &rt("c1")).unwrap();
            }
            let mark = host.path(&format!("die-in-{plugin}"));
            fs::write(&mark, "").unwrap();
            assert!(host.dies(command, usize::MAX), "{command} {plugin}");
            fs::remove_file(&mark).unwrap();
            let report = client.gc(&network(), &valid()).unwrap();
            assert_eq!(report.deleted, [rt("c1").attachment()], "{command} {plugin}");
            host.is_clean(&format!("{command} killed while {plugin} ran"));
        }
    }
}

#[test]
fn a_killed_del_has_not_forgotten_the_result() {
    let host = Host::new();
    let client = client(host.dir.path());
    client.add(&network(), &rt("c1")).unwrap();
    fs::write(host.path("die-in-second"), "").unwrap();
    assert!(host.dies("del", usize::MAX));
    assert!(client.cached_result(&network(), &rt("c1")).unwrap().is_some());
}
