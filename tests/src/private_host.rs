//! A host of a test's own: a child in new mount, network and process namespaces plays the machine, with private
//! `/run`, `/etc`, `/opt`, `/var/lib` and `/dev/shm`. Whatever runs in it is killed by the kernel when the test
//! ends, however it ends, and takes its mounts, links and rules along. What a test does in it is the test's
//! business.

mod command;
mod footprint;
mod setup;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Once};

use serde_json::Value;
use tempfile::TempDir;

pub use self::command::{Background, HostCommand, Ran};
pub use self::footprint::Footprint;
use crate::bins::Plugin;
use crate::need;

/// The programs that every private host uses.
const PROGRAMS: [&str; 12] = [
    "bash",
    "busybox",
    "env",
    "ip",
    "ip6tables-save",
    "iptables-save",
    "mount",
    "nft",
    "nsenter",
    "sysctl",
    "timeout",
    "unshare",
];

/// A handle to a host of a test's own; see the [module](self). The host ends with its last handle.
#[derive(Clone, Debug)]
pub struct PrivateHost(Arc<Host>);

#[derive(Debug)]
struct Host {
    /// Holds the namespaces. Its child, process 1 of the host, ends at the end of its standard input, which
    /// comes when this test drops the host, panics or is killed: then the kernel kills every process of the
    /// host.
    anchor: Child,
    /// Processes started in the background, reaped at the end.
    background: Mutex<Vec<command::Shared>>,
    dir: TempDir,
    /// Whether there is a root file system for containers; not every test has any.
    rootfs: Once,
}

impl PrivateHost {
    /// A host with `plugins` in its plugin directory, for a test that needs `programs`; `None` (and the test is
    /// skipped) where something of that is missing.
    ///
    /// # Panics
    ///
    /// Where the test is required to run, and where the host cannot be set up although all is there.
    #[must_use]
    pub fn start(programs: &[&str], plugins: &[Plugin]) -> Option<Self> {
        match Self::try_start(programs, plugins) {
            Ok(host) => Some(host),
            Err(why) => {
                need::skip(why);
                None
            }
        }
    }

    fn try_start(programs: &[&str], plugins: &[Plugin]) -> Result<Self, String> {
        need::root()?;
        for name in PROGRAMS.iter().chain(programs) {
            need::program(name)?;
        }
        let binaries: Vec<PathBuf> = plugins.iter().map(Plugin::path).collect::<Result<_, _>>()?;

        let dir =
            tempfile::Builder::new().prefix("cni-").tempdir().expect("a temporary directory can be made");
        let (background, rootfs) = (Mutex::new(Vec::new()), Once::new());
        let host = Self(Arc::new(Host { anchor: anchor()?, background, dir, rootfs }));
        host.set_up();
        binaries.iter().for_each(|binary| host.install(binary));
        Ok(host)
    }

    /// The host's directory; it has the same path inside and outside the host.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.0.dir.path()
    }

    /// A word that no other host has, for names that the kernel shares between namespaces (control groups).
    #[must_use]
    pub fn id(&self) -> &str {
        name_of(&self.0.dir)
    }

    /// Where plugins are: also `/opt/cni/bin` inside the host.
    #[must_use]
    pub fn plugin_dir(&self) -> PathBuf {
        self.dir().join("bin")
    }

    /// Where network configurations are: also `/etc/cni/net.d` inside the host.
    #[must_use]
    pub fn conf_dir(&self) -> PathBuf {
        self.dir().join("net.d")
    }

    /// A root file system for containers: busybox with the commands that the tests use.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    #[must_use]
    pub fn rootfs(&self) -> PathBuf {
        let root = self.dir().join("root");
        self.0.rootfs.call_once(|| setup::make_rootfs(&root));
        root
    }

    /// Puts each of `plugins` into the plugin directory, in place of one of the same name.
    ///
    /// # Panics
    ///
    /// If one is not installed on this machine. [`PrivateHost::start`] tells that before a test begins.
    pub fn install_all(&self, plugins: &[Plugin]) {
        for plugin in plugins {
            self.install(&plugin.path().expect("the test has asked for it"));
        }
    }

    /// Puts the plugin at `binary` into the plugin directory, in place of one of the same name.
    ///
    /// # Panics
    ///
    /// If it is not there.
    pub fn install(&self, binary: &Path) {
        let name = binary.file_name().expect("a plugin has a file name");
        let target = self.plugin_dir().join(name);
        // A new file, not new content: the old one may be running.
        let _ = std::fs::remove_file(&target);
        // The same file, if it is on the same disk: who builds the binary again makes a new one.
        if std::fs::hard_link(binary, &target).is_err() {
            let copied = std::fs::copy(binary, &target);
            copied.unwrap_or_else(|e| panic!("cannot install {}: {e}", binary.display()));
        }
    }

    /// Writes the network configuration list into the configuration directory, in place of one of the same
    /// name.
    ///
    /// # Panics
    ///
    /// If the list has no name or cannot be written.
    pub fn add_network(&self, conflist: &Value) {
        let name = conflist["name"].as_str().expect("a network has a name");
        let path = self.conf_dir().join(format!("10-{name}.conflist"));
        // Somebody may be reading it.
        let new = path.with_extension("new");
        std::fs::write(&new, format!("{conflist:#}")).expect("the configuration can be written");
        std::fs::rename(new, path).expect("the configuration can be replaced");
    }

    /// The path by which the test itself sees what is at `path` inside the host.
    #[must_use]
    pub fn from_outside(&self, path: &str) -> PathBuf {
        let root = format!("/proc/{}/root", self.0.anchor.id());
        Path::new(&root).join(path.trim_start_matches('/'))
    }

    /// Runs `words` in the host.
    ///
    /// # Panics
    ///
    /// Unless the program ends with status 0.
    pub fn run<W: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Ran {
        self.command(words).run()
    }

    /// A program to run in the host, for a test that gives it an environment or standard input, or expects it
    /// to fail.
    pub fn command<W: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = W>) -> HostCommand {
        HostCommand::new(self.clone(), words)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Ends process 1, and the kernel everything else; the wait returns after that.
        drop(self.anchor.stdin.take());
        let _ = self.anchor.wait();
        let background = self.background.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        for process in background.drain(..) {
            let _ = process.lock().unwrap_or_else(std::sync::PoisonError::into_inner).wait();
        }
        setup::remove_control_groups(name_of(&self.dir));
    }
}

fn name_of(dir: &TempDir) -> &str {
    dir.path().file_name().and_then(|name| name.to_str()).expect("tempfile makes names of letters and digits")
}

/// Starts the process that holds the namespaces, and waits until they are there.
fn anchor() -> Result<Child, String> {
    let mut anchor = Command::new("unshare")
        .args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
        // bash, since process 1 has to reap orphans, and it does.
        .args(["bash", "-c", "echo ready; read -r _"])
        .env_clear()
        .env("PATH", need::PROGRAM_PATH)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot run unshare: {e}"))?;

    let mut line = String::new();
    if let Some(stdout) = anchor.stdout.take() {
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    if line == "ready\n" {
        return Ok(anchor);
    }
    let mut why = String::new();
    if let Some(mut stderr) = anchor.stderr.take() {
        let _ = stderr.read_to_string(&mut why);
    }
    let _ = anchor.wait();
    Err(format!("needs new namespaces: {}", why.trim()))
}
