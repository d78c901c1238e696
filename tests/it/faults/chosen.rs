//! Errors at chosen calls of the kernel, of which it matters what is made of them.

use std::fs;

use super::call::Call;
use super::inject::{Fault, Injector, Kind};
use super::node::{Node, told};

/// Whether each flush of a call, in order, is one of a directory.
fn flushes(injector: &Injector, call: &Call) -> Vec<bool> {
    let trace = injector.trace(call, "fsync");
    // Signals are written down, too.
    let path =
        |line: &String| Some(line.strip_prefix("fsync(")?.split_once('<')?.1.split_once('>')?.0.to_owned());
    let paths = trace.iter().filter_map(path);
    paths.map(|path| fs::metadata(path).is_ok_and(|found| found.is_dir())).collect()
}

/// `undo` brings back what was before the call.
fn assert_flushes(injector: &Injector, call: &Call, is_plugin: bool, undo: impl Fn()) {
    let flushes = flushes(injector, call);
    assert!(flushes.contains(&true), "{call:?}");
    undo();
    for (at, of_directory) in flushes.into_iter().enumerate() {
        for (error, is_good) in [("EINVAL", of_directory), ("EIO", false)] {
            let fault = Fault { call: "fsync", number: at + 1, kind: Kind::Error(error) };
            let outcome = injector.run(call, fault).unwrap();
            assert_eq!(
                outcome.status.success(),
                is_good,
                "{fault}, of a directory: {of_directory}, {outcome:?}"
            );
            told(&outcome, is_plugin).unwrap();
            undo();
        }
    }
}

/// EINVAL is how a file system says that it cannot flush directories. A flush that has failed, or one of a file, is another matter.
#[test]
fn a_directory_that_cannot_be_flushed_is_as_good_as_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let node = Node::start(dir.path(), "1.1.0");
    assert_flushes(&injector, &node.add(), false, || {
        node.del().good();
    });
    for command in ["DEL", "GC"] {
        let attach = || {
            node.plugin("DEL").good();
            node.plugin("ADD").good();
        };
        attach();
        assert_flushes(&injector, &node.plugin(command), true, attach);
    }
}

/// Where nothing is reserved, and there was no room for the lock, DEL and GC have nothing to do; any other failure may hide what
/// is reserved.
#[test]
fn a_lock_that_cannot_be_had_is_told_unless_there_was_no_room_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let node = Node::empty(dir.path(), "1.1.0");
    let lock = node.path("data/n1/lock");
    for (error, is_good) in [
        ("ENOSPC", true),
        ("EDQUOT", true),
        ("EROFS", true),
        ("ENOENT", true),
        ("EACCES", false),
        ("EIO", false),
        ("EMFILE", false),
        ("ENFILE", false),
    ] {
        for command in ["DEL", "GC"] {
            fs::create_dir_all(node.path("data/n1")).unwrap();
            let call = node.plugin(command);
            let outcome = injector.at(&call, &lock, "openat", error).unwrap();
            assert_eq!(outcome.status.success(), is_good, "{command}, {error}: {outcome:?}");
            told(&outcome, true).unwrap();
            assert!(!lock.exists());

            node.plugin("ADD").good();
            // The directory is there, and so is what is reserved in it.
            if error != "ENOENT" {
                let outcome = injector.at(&call, &lock, "openat", error).unwrap();
                assert_eq!(outcome.status.code(), Some(1), "{command}, {error}: {outcome:?}");
                assert!(
                    outcome.stdout.contains("failed to open lock file"),
                    "{command}, {error}: {outcome:?}"
                );
            }
            node.plugin("DEL").good();
            fs::remove_file(&lock).unwrap();
        }
    }
}
