//! Streams that are closed, full, or lead nowhere.

use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::call::{Call, Outcome};
use super::node::{Node, told};

/// Both programs, and what cleans up after them.
fn both(node: &Node) -> [(bool, Call, Call); 2] {
    [(false, node.add(), node.del()), (true, node.plugin("ADD"), node.plugin("DEL"))]
}

/// Runs by a shell that closes or redirects streams.
fn with(call: &Call, redirection: &str) -> Outcome {
    call.under(&["sh", "-c", &format!("exec \"$0\" \"$@\" {redirection}")]).run()
}

#[test]
fn stdout_on_a_full_disk_is_an_error_and_del_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path(), "1.1.0");
    for (is_plugin, add, del) in both(&node) {
        let outcome = with(&add, ">/dev/full");
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains("No space left on device"), "{outcome:?}");
        node.whole().unwrap();
        // Nothing is asked for that could not be written.
        if is_plugin {
            with(&del, ">/dev/full")
        } else {
            del.run()
        };
        node.clean().unwrap();
    }
}

#[test]
fn stdout_that_takes_nothing_more_or_that_nobody_reads_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path(), "1.1.0");
    let full = || {
        let (reader, writer) = std::io::pipe().unwrap();
        let writer = OwnedFd::from(writer);
        fcntl_setfl(&writer, fcntl_getfl(&writer).unwrap() | OFlags::NONBLOCK).unwrap();
        while rustix::io::write(&writer, &[0; 4096]).is_ok() {}
        (Some(reader), writer)
    };
    let closed = || (None, OwnedFd::from(std::io::pipe().unwrap().1));
    for stdout in [&full as &dyn Fn() -> _, &closed] {
        for (_, add, del) in both(&node) {
            let (reader, writer) = stdout();
            let child = add.command().stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
            let output = child.wait_with_output().unwrap();
            drop(reader);
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            node.whole().unwrap();
            del.good();
            node.clean().unwrap();
        }
    }
}

/// A stream that is closed when a program is started is `/dev/null` once its `main` runs: Rust's standard library sees to that,
/// so that no file that is opened later takes its number. What is done is done, and told to nobody.
#[test]
fn streams_that_are_closed_from_the_start_harm_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path(), "1.1.0");
    for (is_plugin, add, del) in both(&node) {
        for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let outcome = with(&add, closed);
            // Without stdin a plugin has no configuration.
            let needed = is_plugin && closed.contains("<&-");
            assert_eq!(outcome.status.success(), !needed, "{closed}: {outcome:?}");
            if closed == "<&-" {
                told(&outcome, is_plugin).unwrap();
            }
            assert_eq!(node.addresses().unwrap(), if needed { 0 } else { 2 }, "{closed}");
            node.whole().unwrap();
            if !needed {
                assert_eq!(with(&del, closed).status.code(), Some(0), "{closed}");
            }
            node.clean().unwrap();
        }
    }
}
