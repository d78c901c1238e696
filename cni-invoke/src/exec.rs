//! How a plugin is found and run: one trait, and what goes in and comes out.
//!
//! Nothing else in the workspace starts a plugin, so whoever gives another [`Exec`] scripts them all. What an answer
//! *means* is decided elsewhere: this layer deals in bytes and exit statuses.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cni_types::{Command, PluginType};

use crate::environment::Environment;
use crate::excerpt::{Printed, Tail};
use crate::find::{FindError, SearchPath};
use crate::until::{Interruption, Until};

/// Finds plugins and runs them.
///
/// [`ProcessExec`](crate::ProcessExec) runs real ones. Tests give another: the recording one of the feature `testing`,
/// or their own.
///
/// ```
/// use std::path::PathBuf;
/// use cni_invoke::{Exec, Exit, FindError, Invocation, Output, RunError, SearchPath};
/// use cni_types::PluginType;
///
/// /// Every plugin exists, and answers with nothing.
/// struct Silent;
///
/// impl Exec for Silent {
///     fn find(&self, plugin: &PluginType, _: &SearchPath) -> Result<PathBuf, FindError> {
///         Ok(PathBuf::from("/silent").join(plugin.as_str()))
///     }
///     fn run(&self, _: &Invocation<'_>) -> Result<Output, RunError> {
///         Ok(Output::new(Exit::SUCCESS, ""))
///     }
/// }
/// ```
pub trait Exec: Send + Sync {
    /// The path of a plugin's binary.
    ///
    /// # Errors
    ///
    /// When no directory of the search path has it.
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError>;

    /// Runs a plugin to its end. An exit status other than 0 is no error here.
    ///
    /// # Errors
    ///
    /// When it could not be started, or did not come to its own end: the deadline passed, the caller cancelled, or it
    /// printed too much.
    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError>;

    /// Runs a plugin beside the protocol, as a person would to learn what it is: with the only argument
    /// [`--describe`](cni_types::DESCRIBE), nothing on stdin and this environment, which has no `CNI_COMMAND`.
    ///
    /// By default the plugin knows no such question, and says nothing.
    ///
    /// # Errors
    ///
    /// As for [`run`](Exec::run).
    fn describe(&self, program: &Path, environment: &Environment, until: &Until) -> Result<Output, RunError> {
        let _ = (program, environment, until);
        Ok(Output::new(Exit::SUCCESS, ""))
    }
}

impl<E: Exec + ?Sized> Exec for &E {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        (**self).find(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        (**self).run(invocation)
    }

    fn describe(&self, program: &Path, environment: &Environment, until: &Until) -> Result<Output, RunError> {
        (**self).describe(program, environment, until)
    }
}

impl<E: Exec + ?Sized> Exec for Box<E> {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        (**self).find(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        (**self).run(invocation)
    }

    fn describe(&self, program: &Path, environment: &Environment, until: &Until) -> Result<Output, RunError> {
        (**self).describe(program, environment, until)
    }
}

impl<E: Exec + ?Sized> Exec for Arc<E> {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        (**self).find(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        (**self).run(invocation)
    }

    fn describe(&self, program: &Path, environment: &Environment, until: &Until) -> Result<Output, RunError> {
        (**self).describe(program, environment, until)
    }
}

/// So that types which hold one can derive `Debug`.
impl fmt::Debug for dyn Exec + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dyn Exec")
    }
}

/// One run of a plugin.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Invocation<'a> {
    /// The plugin's type, for messages and scripts.
    pub plugin: &'a PluginType,
    /// The binary, as [`Exec::find`] gave it.
    pub program: &'a Path,
    /// The command, as `CNI_COMMAND` in the environment has it, too.
    pub command: Command,
    /// The whole environment of the plugin; nothing is inherited beside it.
    pub environment: &'a Environment,
    /// What the plugin reads on stdin, byte for byte.
    pub stdin: &'a [u8],
    /// When the plugin must be done.
    pub until: &'a Until,
}

impl<'a> Invocation<'a> {
    /// A run with nothing on stdin, without a bound in time.
    pub fn new(
        plugin: &'a PluginType,
        program: &'a Path,
        command: Command,
        environment: &'a Environment,
    ) -> Self {
        Self { plugin, program, command, environment, stdin: b"", until: &Until::FOREVER }
    }

    /// The same run with these bytes on stdin.
    #[must_use]
    pub fn with_stdin(self, stdin: &'a [u8]) -> Self {
        Self { stdin, ..self }
    }

    /// The same run with a bound in time.
    #[must_use]
    pub fn with_until(self, until: &'a Until) -> Self {
        Self { until, ..self }
    }
}

/// What came of a plugin that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// All of stdout.
    pub stdout: Vec<u8>,
    /// The end of stderr; all of it has been passed through already.
    pub stderr: Tail,
}

impl Output {
    /// An output with nothing on stderr.
    pub fn new(exit: Exit, stdout: impl Into<Vec<u8>>) -> Self {
        Self { exit, stdout: stdout.into(), stderr: Tail::default() }
    }

    /// The same output with this on stderr.
    #[must_use]
    pub fn with_stderr(mut self, stderr: impl Into<Tail>) -> Self {
        self.stderr = stderr.into();
        self
    }
}

/// How a process ended.
///
/// ```
/// use cni_invoke::Exit;
/// assert_eq!(Exit::Code(2).to_string(), "exit status 2");
/// assert_eq!(Exit::Signal(9).to_string(), "signal 9 (SIGKILL)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the kernel knows no third way")]
pub enum Exit {
    /// By itself, with a status.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Exit {
    /// Status 0.
    pub const SUCCESS: Self = Self::Code(0);

    /// Whether the status is 0.
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "signal {signal} ({name})"),
                None => write!(f, "signal {signal}"),
            },
        }
    }
}

/// The names of those signals that kill, by their numbers on all architectures of Linux that Rust's `std` has but MIPS.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 if !cfg!(any(target_arch = "mips", target_arch = "mips64")) => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 if !cfg!(any(target_arch = "mips", target_arch = "mips64")) => "SIGXCPU",
        31 if !cfg!(any(target_arch = "mips", target_arch = "mips64")) => "SIGSYS",
        _ => return None,
    })
}

/// A plugin could not be started, or did not come to its own end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The binary was open for writing for as long as it was tried.
    #[error("cannot start it: the file was still open for writing after {} ms", waited.as_millis())]
    Busy {
        /// How long it was tried.
        waited: Duration,
        /// The last answer of the kernel.
        source: io::Error,
    },
    /// It ran, and was killed with its whole process group.
    #[error("killed: {why}")]
    Interrupted {
        /// Why.
        why: Interruption,
        /// What it had printed by then.
        printed: Printed,
    },
    /// Reading from it or writing to it failed; it was killed with its whole process group.
    #[error("cannot {attempt}")]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// It did not run at all: the deadline had passed, or the caller had cancelled, before it was started.
    #[error("not executed: {why}")]
    NotExecuted {
        /// Why.
        why: Interruption,
    },
    /// It printed more than is allowed; unless it had ended already it was killed with its whole process group.
    #[error("it printed more than {limit} bytes on stdout")]
    OutputTooLarge {
        /// The limit, in bytes.
        limit: usize,
        /// What it had printed by then.
        printed: Printed,
    },
    /// The kernel refused to start it.
    #[error("cannot start it{}", hint.map(|hint| format!(": {hint}")).unwrap_or_default())]
    Start {
        /// What that means, where the kernel's words mislead.
        hint: Option<&'static str>,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl RunError {
    /// Whether the plugin was started at all, so that it may have left something behind.
    pub fn was_started(&self) -> bool {
        match self {
            Self::Interrupted { .. } | Self::Io { .. } | Self::OutputTooLarge { .. } => true,
            Self::Busy { .. } | Self::NotExecuted { .. } | Self::Start { .. } => false,
        }
    }

    /// What it had printed before it was killed.
    pub fn printed(&self) -> Option<&Printed> {
        match self {
            Self::Interrupted { printed, .. } | Self::OutputTooLarge { printed, .. } => Some(printed),
            Self::Busy { .. } | Self::Io { .. } | Self::NotExecuted { .. } | Self::Start { .. } => None,
        }
    }
}
