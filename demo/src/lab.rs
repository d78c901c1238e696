//! Where the demo takes place: namespaces that end with it, and a directory for plugins, configurations and state.

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use plugin_support::netns::NetNs;
use tempfile::TempDir;

use crate::print;

/// The argument by which the program knows that it runs inside.
pub(crate) const INSIDE: &str = "inside";

/// Starts this program again in namespaces of its own, as root of them, and gives its exit status.
pub(crate) fn enter() -> ExitCode {
    let own = ["--net", "--mount", "--fork", "--kill-child"];
    // An ordinary user is root in a user namespace of his own.
    let as_user: &[&str] = if is_root() { &[] } else { &["--user", "--map-root-user"] };
    let started = std::env::current_exe().and_then(|program| {
        Command::new("unshare").args(as_user).args(own).arg(program).arg(INSIDE).status()
    });
    match started {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) if !is_root() => {
            print::hint("the kernel may refuse user namespaces to ordinary users here: try again as root");
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            print::failure(&error);
            print::hint("`unshare` is needed; Debian has it in the package util-linux");
            ExitCode::FAILURE
        }
    }
}

/// Whether this process is root, as `/proc` tells.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// The host is this process's own network namespace; the container is another process's.
pub(crate) struct Lab {
    dir: TempDir,
    container: Child,
    container_netns: PathBuf,
}

impl Lab {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        // Whatever plugins keep under /run (locks, backups) must not be the machine's.
        let mounted = Command::new("mount").args(["-t", "tmpfs", "tmpfs", "/run"]).status()?;
        if !mounted.success() {
            return Err("a private /run cannot be mounted".into());
        }
        let dir = tempfile::Builder::new().prefix("cni-demo").tempdir_in("/run")?;
        let bin = dir.path().join("bin");
        fs::create_dir(&bin)?;
        let program = std::env::current_exe()?;
        for plugin in cni_plugins::PLUGINS {
            symlink(&program, bin.join(plugin.name))?;
        }
        let host = NetNs::current()?.netlink()?;
        host.set_up(&host.link("lo")?)?;
        let container = start_container()?;
        let container_netns = PathBuf::from(format!("/proc/{}/ns/net", container.id()));
        Ok(Self { dir, container, container_netns })
    }

    /// The directory of the plugins.
    pub(crate) fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    /// A path for state of some kind.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The path of the container's network namespace.
    pub(crate) fn container(&self) -> &Path {
        &self.container_netns
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Both only fail when the process is gone already.
        let _ = self.container.kill();
        let _ = self.container.wait();
    }
}

/// A process in a network namespace of its own, which ends with this one.
fn start_container() -> io::Result<Child> {
    let mut child = Command::new("unshare")
        .args(["--net", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // Once it echoes, it is inside.
    let mut echo = [0];
    if let (Some(stdin), Some(stdout)) = (&mut child.stdin, &mut child.stdout) {
        stdin.write_all(b"!")?;
        stdin.flush()?;
        stdout.read_exact(&mut echo)?;
    }
    Ok(child)
}
