//! Runs plugins as processes: how one is started, and the knobs of that. The run itself is in [`child`].

mod child;
mod exit_notice;

use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cni_types::{DESCRIBE, PluginType};
use rustix::io::Errno;

use crate::environment::Environment;
use crate::exec::{Exec, Invocation, Output, RunError};
use crate::find::{FindError, SearchPath, find_plugin};
use crate::until::Until;

/// How long the first wait for a busy file is; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Runs plugins as processes.
///
/// - A plugin has a process group of its own. When the deadline passes, the caller cancels or there is too much output,
///   the whole group is killed.
/// - The run is over when the plugin's process ends, whoever else still holds its stdout or stderr open.
/// - "Text file busy" is tried again: the file is being written by an installer, or the writing end has leaked into
///   another process that is just being started.
/// - stderr is passed on as it comes.
///
/// ```
/// use std::time::Duration;
/// use cni_invoke::ProcessExec;
///
/// let exec = ProcessExec::new()
///     .with_stdout_limit(1024 * 1024)
///     .with_stderr(|part| { /* log it */ });
/// ```
#[doc(alias = "RawExec")]
#[doc(alias = "DefaultExec")]
#[derive(Clone)]
pub struct ProcessExec {
    stdout_limit: usize,
    busy_patience: Duration,
    own_group: bool,
    stderr: Sink,
}

/// What takes the plugin's stderr, part by part.
type Sink = Arc<dyn Fn(&[u8]) + Send + Sync>;

impl ProcessExec {
    /// How many bytes of stdout are taken by default: 16 MiB.
    pub const STDOUT_LIMIT: usize = 16 * 1024 * 1024;

    /// How long a busy file is tried by default: 5 seconds.
    pub const BUSY_PATIENCE: Duration = Duration::from_secs(5);

    /// For a runtime. stderr goes to that of this process.
    pub fn new() -> Self {
        Self {
            stdout_limit: Self::STDOUT_LIMIT,
            busy_patience: Self::BUSY_PATIENCE,
            own_group: true,
            stderr: Arc::new(|part| {
                // Nobody can be told that stderr is closed.
                let _ = io::stderr().lock().write_all(part);
            }),
        }
    }

    /// For a plugin that calls another: the delegate stays in the plugin's process group, so that a runtime which kills
    /// the plugin reaches the delegate, too. A bound of the plugin's own kills the delegate's process alone.
    pub fn for_delegates() -> Self {
        Self { own_group: false, ..Self::new() }
    }

    /// Takes at most this many bytes of stdout; a plugin that prints more is killed.
    #[must_use]
    pub fn with_stdout_limit(self, bytes: usize) -> Self {
        Self { stdout_limit: bytes, ..self }
    }

    /// Tries a busy file for this long.
    #[must_use]
    pub fn with_busy_patience(self, patience: Duration) -> Self {
        Self { busy_patience: patience, ..self }
    }

    /// Gives stderr to a function, part by part as it comes, instead of passing it on to stderr of this process.
    ///
    /// The function is called on the thread that runs the plugin: as long as it does not return, nobody looks at the
    /// clock.
    #[must_use]
    pub fn with_stderr(self, sink: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self { stderr: Arc::new(sink), ..self }
    }

    fn spawn(
        &self,
        program: &Path,
        arguments: &[&str],
        environment: &Environment,
        until: &Until,
    ) -> Result<Child, RunError> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(environment.iter())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.own_group {
            command.process_group(0);
        }
        retry_while_busy(self.busy_patience, until, || command.spawn()).map_err(|error| match error {
            RunError::Start { source, .. } => RunError::Start { hint: start_hint(program, &source), source },
            other => other,
        })
    }
}

/// Starts something, again and again as long as its file is busy. The whole patience is used up, in waits that double.
fn retry_while_busy<T>(
    patience: Duration,
    until: &Until,
    mut start: impl FnMut() -> io::Result<T>,
) -> Result<T, RunError> {
    let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
    loop {
        // Not only before the first attempt: the pauses end early when it is over.
        if let Some(why) = until.interruption() {
            return Err(RunError::NotExecuted { why });
        }
        match start() {
            Ok(started) => return Ok(started),
            Err(source) if source.kind() != io::ErrorKind::ExecutableFileBusy => {
                return Err(RunError::Start { hint: None, source });
            }
            Err(source) if waited >= patience => return Err(RunError::Busy { waited, source }),
            Err(_) => {}
        }
        let this_pause = pause.min(patience - waited);
        until.sleep(this_pause);
        waited += this_pause;
        pause *= 2;
    }
}

impl Default for ProcessExec {
    fn default() -> Self {
        Self::new()
    }
}

impl Exec for ProcessExec {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        find_plugin(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        let Invocation { program, environment, stdin, until, .. } = *invocation;
        let process = self.spawn(program, &[], environment, until)?;
        child::attend(process, self, stdin, until)
    }

    fn describe(&self, program: &Path, environment: &Environment, until: &Until) -> Result<Output, RunError> {
        let process = self.spawn(program, &[DESCRIBE], environment, until)?;
        child::attend(process, self, b"", until)
    }
}

impl fmt::Debug for ProcessExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stdout_limit, busy_patience, own_group, stderr: _ } = self;
        f.debug_struct("ProcessExec")
            .field("stdout_limit", stdout_limit)
            .field("busy_patience", busy_patience)
            .field("own_group", own_group)
            .finish_non_exhaustive()
    }
}

/// What the kernel's answer means where it is misleading.
fn start_hint(program: &Path, source: &io::Error) -> Option<&'static str> {
    const ENOEXEC: i32 = Errno::NOEXEC.raw_os_error();
    const E2BIG: i32 = Errno::TOOBIG.raw_os_error();
    if source.kind() == io::ErrorKind::NotFound && program.exists() {
        Some("its interpreter, as the first line or the ELF header names it, does not exist")
    } else if source.raw_os_error() == Some(ENOEXEC) {
        Some("neither a program of this machine nor a script that starts with '#!'")
    } else if source.raw_os_error() == Some(E2BIG) {
        // The kernel speaks of arguments, of which there are none.
        Some("an environment variable, or all of them together, are too long")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
