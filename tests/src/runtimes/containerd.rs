//! The daemon containerd on a private host: its configuration, start, and log. Its clients are in other
//! modules.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::private_host::{Background, HostCommand, PrivateHost};

/// How long the daemon may take until it listens: it takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running containerd. It ends with its host.
#[derive(Debug)]
pub(super) struct Containerd {
    host: PrivateHost,
    daemon: Background,
}

impl Containerd {
    /// Starts the daemon with `plugins` as the tail of its configuration, and waits until it listens.
    pub(super) fn start(host: PrivateHost, plugins: &str) -> Self {
        let (root, state) = (host.dir().join("containerd-root"), host.dir().join("containerd-state"));
        let socket = socket(&host);
        let conf = format!(
            "version = 2\nroot = {root:?}\nstate = {state:?}\n{plugins}\n\
             [grpc]\naddress = {socket:?}\n"
        );
        let path = host.dir().join("containerd.toml");
        std::fs::write(&path, conf).expect("the host's directory can be written");
        let daemon = host.command(["containerd".as_ref(), "--config".as_ref(), path.as_os_str()]).spawn();
        let started = Self { host, daemon };
        started.wait_until_listening();
        started
    }

    /// Where the daemon listens; the path holds inside and outside the host.
    pub(super) fn socket(&self) -> PathBuf {
        socket(&self.host)
    }

    /// A command of the daemon's client in containerd's namespace `namespace`.
    pub(super) fn ctr(&self, namespace: &str, words: &[&str]) -> HostCommand {
        let socket = self.socket();
        let socket = socket.to_str().expect("the host's directory has an ordinary name");
        self.host.command(["ctr", "--address", socket, "--namespace", namespace].iter().chain(words))
    }

    fn wait_until_listening(&self) {
        let deadline = Instant::now() + PATIENCE;
        while let Err(e) = UnixStream::connect(self.socket()) {
            assert!(Instant::now() < deadline, "containerd does not listen: {e}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        // Why a test failed often stands in the daemon's log alone.
        let log = self.daemon.stderr();
        let lines: Vec<&str> = log.lines().filter(|line| !line.contains("level=info")).collect();
        let report = format!("containerd's warnings and errors:\n{}\n", lines.join("\n"));
        let _ = std::io::Write::write_all(&mut std::io::stderr(), report.as_bytes());
    }
}

fn socket(host: &PrivateHost) -> PathBuf {
    host.dir().join("containerd.sock")
}
