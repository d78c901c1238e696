//! A network namespace for one test, gone with its value.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::process::{Child, Command, Stdio};

use super::skip;
use crate::firewall::SystemTools;
use crate::netns::NetNs;

/// A fresh network namespace with nothing but `lo`, which is down. It ends with the value.
///
/// Use it for the container's side and, as tests must not touch the host's namespace, for the host's side as well: run
/// what is under test inside by [`NetNs::run`]. [`NetNs::path`] can be handed to other processes.
///
/// ```no_run
/// # fn test() {
/// use plugin_support::testing::TestNetns;
///
/// let (Some(host), Some(container)) = (TestNetns::new(), TestNetns::new()) else { return };
/// assert_ne!(*host, *container);
/// let links = host.netlink().unwrap().links().unwrap();
/// assert_eq!(links[0].name, "lo");
/// # }
/// ```
#[derive(Debug)]
pub struct TestNetns {
    netns: NetNs,
    keeper: Child,
}

impl TestNetns {
    /// A new namespace, or `None` after saying that the test is skipped, for want of `CAP_SYS_ADMIN` or a program.
    ///
    /// # Panics
    ///
    /// If there should be one but is not; see also [`skip`].
    pub fn new() -> Option<Self> {
        for program in ["unshare", "ip"] {
            if let Err(error) = SystemTools::default().find(program) {
                skip(&error.to_string());
                return None;
            }
        }
        // The process keeps the namespace at a path that no other test can get, and ends when this process does: its
        // stdin is closed then.
        let mut keeper = Command::new("unshare")
            .args(["--net", "cat"])
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("failed to run \"unshare\": {error}"));
        if let Err(echo) = echoes(&mut keeper) {
            let output = keeper.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(stderr.contains("not permitted"), "failed to make a network namespace: {stderr}{echo}");
            skip("a network namespace needs CAP_SYS_ADMIN");
            return None;
        }
        let netns =
            NetNs::open(format!("/proc/{}/ns/net", keeper.id())).unwrap_or_else(|error| panic!("{error}"));
        Some(Self { netns, keeper })
    }

    /// Runs a program inside and returns its stdout, without the final line end.
    ///
    /// # Panics
    ///
    /// If it does not succeed.
    pub fn command<I, S>(&self, program: &str, args: I) -> String
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(program);
        command.args(args);
        // A child is in the namespace of the thread that starts it.
        let output = self
            .run(|| command.output())
            .unwrap_or_else(|error| panic!("{error}"))
            .unwrap_or_else(|error| panic!("failed to run {program:?}: {error}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {}: {stderr}", output.status);
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs `ip` inside with arguments that are separated by spaces, and returns its stdout.
    ///
    /// # Panics
    ///
    /// If it does not succeed.
    pub fn ip(&self, args: &str) -> String {
        self.command("ip", args.split_whitespace())
    }
}

impl Deref for TestNetns {
    type Target = NetNs;

    fn deref(&self) -> &NetNs {
        &self.netns
    }
}

impl Drop for TestNetns {
    /// Nothing is at the path any more when this returns.
    fn drop(&mut self) {
        // Both only fail if the process is gone already.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

/// Once `cat` answers, it has been started, and inside the namespace.
fn echoes(keeper: &mut Child) -> io::Result<()> {
    let (Some(stdin), Some(stdout)) = (&mut keeper.stdin, &mut keeper.stdout) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    stdin.write_all(b"?")?;
    stdout.read_exact(&mut [0])
}
