//! Real processes that run real plugins on one cache directory: operations on a container take turns, GC is alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use libcni::{Attachment, Client, Environment, Network};

use crate::support::{Dir, rt};

/// What a child is to do: a folder, then a container, or `gc`.
const TASK: &str = "LIBCNI_TEST_EXCLUSION";

/// Says so if it is not alone where it should be.
const PLUGIN: &str = r#"#!/bin/sh
cat > /dev/null
if [ "$CNI_COMMAND" = GC ]; then
    for busy in "$STATE"/busy-*; do
        [ -e "$busy" ] && echo "GC beside $busy" >> "$STATE/overlaps"
    done
    echo gc >> "$STATE/runs"
    exit 0
fi
mkdir "$STATE/busy-$CNI_CONTAINERID" || echo "$CNI_COMMAND beside another on $CNI_CONTAINERID" >> "$STATE/overlaps"
[ "$CNI_COMMAND" = ADD ] && echo '{"cniVersion": "1.1.0"}'
echo "$CNI_COMMAND" >> "$STATE/runs"
rmdir "$STATE/busy-$CNI_CONTAINERID"
"#;

const TURNS: usize = 8;

fn network() -> Network {
    Network::from_list(br#"{"cniVersion":"1.1.0","name":"net1","plugins":[{"type":"p"},{"type":"p"}]}"#)
        .unwrap()
}

fn client(dir: &Path) -> Client {
    let mut environment = Environment::new();
    environment.set("STATE", dir.join("state"));
    environment.set("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    Client::builder()
        .plugin_dirs([dir.join("bin")])
        .cache_dir(dir.join("cni"))
        .environment(environment)
        .build()
}

/// Does nothing but in a child of the test below.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (dir, what) = task.split_once('\n').unwrap();
    let client = client(Path::new(dir));
    for _ in 0..TURNS {
        if what == "gc" {
            let valid = [Attachment::new("c1", "eth0"), Attachment::new("c2", "eth0")];
            client.gc(&network(), &valid).unwrap();
        } else {
            client.add(&network(), &rt(what, "eth0")).unwrap();
            client.check(&network(), &rt(what, "eth0")).unwrap_or_else(|error| {
                // The other process on this container may have deleted it in between.
                assert!(matches!(error, libcni::Error::NotCached { .. }), "{error}");
            });
            client.del(&network(), &rt(what, "eth0")).unwrap();
        }
    }
}

#[test]
fn processes_take_turns_on_a_container_and_gc_is_alone() {
    let dir = Dir::with(&[("state/runs", ""), ("bin/p", PLUGIN)]);
    fs::set_permissions(dir.join("bin/p"), fs::Permissions::from_mode(0o755)).unwrap();
    let children: Vec<_> = ["c1", "c1", "c2", "gc"]
        .into_iter()
        .map(|what| {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "exclusion::child", "--test-threads=1"]);
            child
                .env(TASK, format!("{}\n{what}", dir.path().display()))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let runs = dir.read("state/runs");
    let count = |command: &str| runs.lines().filter(|line| *line == command).count();
    assert_eq!((count("ADD"), count("DEL"), count("gc")), (3 * 2 * TURNS, 3 * 2 * TURNS, 2 * TURNS));
    assert_eq!(dir.names("state"), ["runs"], "{:?}", fs::read_to_string(dir.join("state/overlaps")));
    assert_eq!(dir.names("cni/results"), Vec::<String>::new());
    assert_eq!(dir.names("cni/.libcni-locks"), ["all", "gate"]);
}
