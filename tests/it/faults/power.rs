//! A node that is started anew, having lost what was kept in memory or what was on its disk, or whose power was cut.

use std::fs;

use super::call::Call;
use super::inject::Injector;
use super::node::Node;

/// Removes what was on a file system that is gone, and calls DEL, then GC as if DEL had never been.
fn lost(version: &str, dirs: &[&str]) {
    for cleaner in [Node::del, Node::gc] {
        let dir = tempfile::tempdir().unwrap();
        let node = Node::start(dir.path(), version);
        node.add().good();
        for dir in dirs {
            fs::remove_dir_all(node.path(dir)).unwrap();
        }
        cleaner(&node).good();
        node.swept().unwrap();
        let state = node.state();
        let is_others = |path: &String| node.alone().contains_key(path);
        assert!(state.keys().all(is_others), "{dirs:?} was lost: {:?} is left", state.keys());
        node.add().good();
        node.check().good();
        node.del().good();
    }
}

/// host-local's `dataDir` is often in `/run`.
#[test]
fn addresses_are_lost_and_the_cache_is_kept() {
    lost("1.0.0", &["data"]);
    lost("1.1.0", &["data"]);
}

/// Only the plugins can tell then, from 1.1.0 on.
#[test]
fn the_cache_is_lost_and_addresses_are_kept() {
    lost("1.1.0", &["cni"]);
}

/// Before 1.1.0 a plugin is not told what is valid. Whoever lost the cache has the runtime's word alone, whose DEL needs none.
#[test]
fn a_network_of_1_0_0_keeps_its_addresses_until_del_when_the_cache_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path(), "1.0.0");
    node.add().good();
    fs::remove_dir_all(node.path("cni")).unwrap();
    // GC has done all that it can, and says that it was not much.
    let outcome = node.gc().good();
    assert!(outcome.stderr.contains("the plugins of network \"n1\" were not called"), "{outcome:?}");
    let addresses = || node.state().keys().filter(|path| path.starts_with("data/")).count();
    assert_eq!(addresses(), 4, "those of both attachments");
    // Nobody else is given them, and the container must give its own back first.
    let outcome = node.add().run();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("duplicate allocation is not allowed"), "{outcome:?}");
    // With `--undo`, that was done; without, it is what the runtime does.
    assert_eq!(addresses(), 2, "of the other alone");
    node.add().good();
    node.check().good();
    fs::remove_dir_all(node.path("cni")).unwrap();
    node.del().good();
    assert_eq!(addresses(), 2, "of the other alone");
    assert!(node.state().keys().all(|path| node.alone().contains_key(path)), "{:?}", node.state().keys());
}

#[test]
fn both_are_lost() {
    lost("1.0.0", &["cni", "data"]);
    lost("1.1.0", &["cni", "data"]);
}

/// What a call does that its order on the disk rests on, with the directories' names for the files in them.
fn steps(node: &Node, injector: &Injector, call: &Call) -> Vec<String> {
    let dir = node.path("");
    let trace = injector
        .trace(call, "?fsync,?fdatasync,?rename,?renameat,?renameat2,?unlink,?unlinkat,?clone3,?vfork");
    let step = |line: &String| {
        let (name, rest) = line.split_once('(')?;
        let path = rest.split(['"', '<', '>']).find_map(|part| part.strip_prefix(dir.to_str()?))?;
        let is_dir = node.path(path).is_dir();
        let (parent, _) = path.rsplit_once('/').filter(|_| !is_dir).unwrap_or((path, ""));
        let name = name.strip_suffix("at2").or_else(|| name.strip_suffix("at")).unwrap_or(name);
        Some(format!("{name} {}{parent}", if is_dir { "" } else { "in " }))
    };
    let started = |line: &String| ["clone3", "vfork"].iter().any(|call| line.starts_with(call));
    trace
        .iter()
        .filter_map(|line| if started(line) { Some("start".to_owned()) } else { step(line) })
        .collect()
}

#[test]
fn what_a_power_cut_must_not_undo_is_on_the_disk_first() {
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let node = Node::start(dir.path(), "1.1.0");
    // That there is an ADD is on the disk before a plugin is started. So is its result before it takes that record's place,
    // and from there its own: whichever of the two renames a power cut keeps, a record is there.
    let mut add = steps(&node, &injector, &node.add());
    add.retain(|step| step == "start" || step.ends_with("cni/results"));
    let [written, named, waited] = ["fsync in cni/results", "rename in cni/results", "fsync cni/results"];
    assert_eq!(add, [written, named, waited, "start", "start", written, named, named]);
    node.del().good();
    // Addresses that are given back are so on the disk before DEL, or GC, is answered.
    for command in ["DEL", "GC"] {
        node.plugin("ADD").good();
        let del = steps(&node, &injector, &node.plugin(command));
        assert_eq!(del, ["unlink in data/n1", "unlink in data/n1", "fsync data/n1"], "{command}");
    }
}
