//! Running code inside a network namespace, on the real kernel.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cni_skel::Netns;

/// A process in a network namespace of its own, until it is dropped.
struct Container(Child);

impl Container {
    /// Skips the test where a namespace cannot be had, or not be entered.
    fn new() -> Option<Self> {
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "sh", "-c", "echo ready; read line"]);
        let started = unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let why = match started {
            Ok(child) => {
                let mut container = Self(child);
                let mut ready = [0; 6];
                let stdout = container.0.stdout.as_mut().unwrap();
                if stdout.read_exact(&mut ready).is_ok() {
                    return Some(container);
                }
                "no network namespace can be made here".to_owned()
            }
            Err(error) => format!("unshare cannot be run: {error}"),
        };
        assert!(std::env::var_os("CNI_TEST_REQUIRE").is_none_or(|value| value != "1"), "required, but {why}");
        let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
        None
    }

    fn netns(&self) -> Netns {
        Netns::new(format!("/proc/{}/ns/net", self.0.id()))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The namespace of the calling thread.
fn here() -> PathBuf {
    std::fs::read_link("/proc/thread-self/ns/net").unwrap()
}

#[test]
fn a_closure_runs_inside_and_its_caller_stays_outside() {
    let Some(container) = Container::new() else { return };
    let (netns, outside) = (container.netns(), here());
    let mut seen = Vec::new();
    let inside = netns.run(|| {
        seen.push("borrowed");
        here()
    });
    assert_eq!(inside.unwrap(), std::fs::read_link(netns.path()).unwrap());
    assert_eq!((seen.as_slice(), here()), (&["borrowed"][..], outside.clone()));
    let panicked = std::panic::catch_unwind(|| netns.run(|| panic!("inside")));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"inside"));
    assert_eq!(here(), outside);
}

#[test]
fn c30_what_is_no_namespace_is_told_and_nothing_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let file = std::env::current_exe().unwrap();
    for path in [dir.path(), &fifo, &file, Path::new("/dev/null"), Path::new("/proc/self/ns/mnt")] {
        let error = Netns::new(path).run(|| unreachable!("there is nothing to be inside of")).unwrap_err();
        assert_eq!(error.to_string(), format!("{path:?} is no network namespace"));
    }
    let error = Netns::new(dir.path().join("gone")).run(|| ()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("failed to open netns"), "{error}");
}
