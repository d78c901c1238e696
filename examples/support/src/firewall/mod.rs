//! Firewall programs: `iptables` and `nft`, one transaction a call. Which rules, a plugin decides.
//!
//! | module | decides |
//! | --- | --- |
//! | [`iptables`] | how rules become `iptables-restore` input and are read back |
//! | [`nft`] | how scripts reach `nft` and rules are read back |
//! | [`probe`] | which of the two works here |
//! | [`transact`] | what becomes of a change if somebody else was faster |
//! | this one | how a program is found and run |
//!
//! Everything that runs goes through [`Tools`], so that a test can script it. No shell is involved: arguments go to the
//! program as they are, scripts through its stdin.

pub mod iptables;
pub mod nft;
pub mod probe;
mod transaction;

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::{Error, Result};

pub use self::transaction::transact;

/// Where the programs live beside `PATH`, which a runtime's service may not hold.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The most bytes of a stream of such a program. The rules of ten thousand containers are some 10 MiB.
pub const MAX_OUTPUT_BYTES: u64 = 64 * 1024 * 1024;

/// What such a program gets of the environment: where it finds others and the bus of the system, and what iptables has for its
/// extensions and its lock.
const KEPT: [&str; 4] = ["DBUS_SYSTEM_BUS_ADDRESS", "PATH", "XTABLES_LIBDIR", "XTABLES_LOCKFILE"];

/// IPv4 or IPv6. Each has rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Runs programs. [`SystemTools`] does; tests have a scripted one.
pub trait Tools: fmt::Debug {
    /// Runs a program to its end. How it ended is in the [`Outcome`].
    ///
    /// # Errors
    ///
    /// [`Error::ToolMissing`] if it is not installed; another one if it could not be started.
    fn run(&self, call: &Call) -> Result<Outcome>;
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The program's name, without a directory.
    pub tool: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it reads from stdin.
    pub stdin: String,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it reported success.
    pub success: bool,
    /// In words: `exit status: 1`.
    pub status: String,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Call {
    /// A program with arguments and nothing on stdin.
    pub fn new<S: Into<String>>(tool: impl Into<String>, args: impl IntoIterator<Item = S>) -> Self {
        Self { tool: tool.into(), args: args.into_iter().map(Into::into).collect(), stdin: String::new() }
    }

    /// With this on stdin.
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<String>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// What the program wrote to stdout, if it reported success.
    fn succeed(&self, tools: &dyn Tools) -> Result<String> {
        let outcome = tools.run(self)?;
        if outcome.success { Ok(outcome.stdout) } else { Err(self.failure(&outcome)) }
    }

    /// The error for an outcome that is no success.
    fn failure(&self, outcome: &Outcome) -> Error {
        Error::Tool {
            attempt: format!("failed to run {self}"),
            status: outcome.status.clone(),
            stderr: outcome.stderr.trim().to_owned(),
        }
    }
}

/// The command line, for people.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        self.args.iter().try_for_each(|arg| {
            if arg.contains([' ', '"']) || arg.is_empty() {
                write!(f, " {arg:?}")
            } else {
                write!(f, " {arg}")
            }
        })
    }
}

/// The programs of this machine, run in the network namespace of the calling thread.
#[derive(Clone, Debug)]
pub struct SystemTools {
    directories: Vec<PathBuf>,
}

impl Default for SystemTools {
    /// Looks in the directories of `PATH`, then in those where administrators' programs are.
    fn default() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // A relative directory would be another one in each caller's working directory.
        let listed = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
        Self::in_directories(listed.chain(SBIN.map(PathBuf::from)))
    }
}

impl SystemTools {
    /// Looks in these directories alone, in this order.
    pub fn in_directories(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut unique = Vec::new();
        for directory in directories {
            if !unique.contains(&directory) {
                unique.push(directory);
            }
        }
        Self { directories: unique }
    }

    /// The path of a program.
    ///
    /// # Errors
    ///
    /// [`Error::ToolMissing`] if it is in none of the directories.
    pub fn find(&self, tool: &str) -> Result<PathBuf> {
        self.directories
            .iter()
            .map(|directory| directory.join(tool))
            .find(|path| is_executable(path))
            .ok_or_else(|| Error::ToolMissing { tool: tool.to_owned(), searched: self.directories.clone() })
    }
}

impl Tools for SystemTools {
    fn run(&self, call: &Call) -> Result<Outcome> {
        let failed = |source| Error::io(format!("failed to run {call}"), source);
        let kept = std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept));
        let mut child = Command::new(self.find(&call.tool)?)
            .args(&call.args)
            // A runtime's environment is nothing to these programs, and may have secrets in it.
            .env_clear()
            .envs(kept)
            // Messages are matched on, and read by whoever reads ours.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let running = Mutex::new(&mut child);
        // All three at once, as a program may answer before it has read everything.
        let (written, stdout, stderr) = thread::scope(|scope| {
            let writer =
                scope.spawn(|| stdin.map_or(Ok(()), |mut pipe| pipe.write_all(call.stdin.as_bytes())));
            let messages = scope.spawn(|| bounded("stderr", stderr, &running));
            let stdout = bounded("stdout", stdout, &running);
            (writer.join(), stdout, messages.join())
        });
        let status = child.wait().map_err(failed)?;
        match written.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            // Then the program had enough; its status tells whether that was success.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(failed(error)),
            _ => {}
        }
        Ok(Outcome {
            success: status.success(),
            status: status.to_string(),
            stdout: stdout.map_err(failed)?,
            stderr: stderr.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(failed)?,
        })
    }
}

/// All of a stream of a program, as text. If it is too long, or cannot be read, that is an error, and the end of the program.
fn bounded(name: &str, stream: Option<impl io::Read>, program: &Mutex<&mut Child>) -> io::Result<String> {
    let text = read_bounded(name, stream);
    if text.is_err() {
        // At once: it may not care that nobody reads, and the other streams end with it alone. Without it there is nothing to
        // kill.
        let _ = program.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }
    text
}

fn read_bounded(name: &str, stream: Option<impl io::Read>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > MAX_OUTPUT_BYTES {
        let message = format!("its {name} is larger than {MAX_OUTPUT_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests;
