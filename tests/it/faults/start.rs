//! Plugins that are found and cannot be started.

use std::fs;

use serde_json::Value;

use super::call::Call;
use super::inject::Injector;
use super::node::{Node, told};

/// What execve(2) may answer, why, and how it is told.
const ERRORS: [(&str, &str); 7] = [
    // The program, or its interpreter, was removed since it was found.
    ("ENOENT", "does not exist: No such file or directory"),
    // Its file system lets nothing be run, or a security module does not.
    ("EACCES", "cannot start it: Permission denied"),
    // It is one of another machine.
    ("ENOEXEC", "neither a program of this machine nor a script that starts with '#!': Exec format error"),
    // The environment has no room.
    ("E2BIG", "an environment variable, or all of them together, are too long: Argument list too long"),
    ("ENOMEM", "cannot start it: Cannot allocate memory"),
    // The user has too many processes.
    ("EAGAIN", "cannot start it: Resource temporarily unavailable"),
    // The library cannot be read.
    ("EIO", "cannot start it: Input/output error"),
];

/// A node whose list has the plugin with addresses first: if the second cannot be started, there is something to lose.
fn node(dir: &std::path::Path) -> Node {
    let node = Node::start(dir, "1.1.0");
    let path = node.path("net.d/n1.conflist");
    let mut list: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let plugins = list["plugins"].as_array_mut().unwrap();
    plugins.reverse();
    // Which hands on the result of the first.
    let debug = node.path("noop.json");
    plugins[1]["debugFile"] = debug.to_str().into();
    fs::write(path, list.to_string()).unwrap();
    fs::write(debug, r#"{"ReportResult": "PASSTHROUGH"}"#).unwrap();
    node
}

fn without_undo(call: Call) -> Call {
    let words = call.words.iter().filter(|word| *word != "--undo").cloned().collect();
    Call { words, ..call }
}

#[test]
fn what_was_done_before_is_known_and_the_next_del_or_gc_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let node = node(dir.path());
    // The addresses that are reserved when the first, or the second, cannot be started.
    let commands = [
        ("ADD", node.add(), [0, 2]),
        ("ADD without undo", without_undo(node.add()), [0, 2]),
        ("CHECK", node.check(), [2, 2]),
        ("DEL", node.del(), [2, 2]),
        // The GC of the one that can be started does what the DEL of the other has not come to.
        ("GC", node.gc(), [2, 0]),
    ];
    let mut faults = 0;
    for (error, text) in ERRORS {
        for (name, call, addresses) in &commands {
            for (plugin, addresses) in ["host-local", "noop"].into_iter().zip(addresses) {
                for cleaner in [node.del(), node.gc()] {
                    if !name.starts_with("ADD") {
                        node.add().good();
                    }
                    let what = format!("{name}, {error} for {plugin}");
                    let outcome = injector.at(call, &node.plugin_path(plugin), "execve", error);
                    let outcome = outcome.unwrap_or_else(|| panic!("{what}: it was not started"));
                    assert_eq!(outcome.status.code(), Some(1), "{what}: {outcome:?}");
                    told(&outcome, false).unwrap();
                    let is_told =
                        |line: &str| line.contains(&format!("plugin \"{plugin}\"")) && line.contains(text);
                    assert!(outcome.stderr.lines().any(is_told), "{what}: {outcome:?}");
                    node.whole().unwrap();
                    assert_eq!(node.addresses().unwrap(), *addresses, "{what}: {outcome:?}");
                    cleaner.good();
                    node.clean().unwrap_or_else(|why| panic!("{what}: {why}"));
                    faults += 1;
                }
            }
        }
    }
    node.gc().good();
    node.swept().unwrap();
    super::tell(faults, "the start of plugins");
}

/// For five seconds, as whoever writes the file may be about to be done.
#[test]
fn a_file_that_stays_busy_is_waited_for_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let node = node(dir.path());
    let add = without_undo(node.add());
    let outcome = injector.at(&add, &node.plugin_path("noop"), "execve", "ETXTBSY").unwrap();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("the file was still open for writing after 5"), "{outcome:?}");
    assert_eq!(node.addresses().unwrap(), 2);
    node.del().good();
    node.clean().unwrap();
}
