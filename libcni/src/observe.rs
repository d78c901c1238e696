//! Looking on while plugins are run: each run as it begins and ends, and what is not an error but odd.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cni_invoke::{Environment, Exec, FindError, Invocation, Output, RunError, SearchPath};
use cni_types::{Command, PluginType, VersionedResult};

use crate::lint::Loss;

/// Is told what operations do. Every method does nothing by default.
///
/// Without an observer nothing is recorded, so it costs nothing. Methods are called from the threads that run plugins,
/// several at a time during GC, and must not call operations of the same cache directory.
///
/// ```
/// use libcni::{Observer, PluginEnd, PluginRun};
///
/// struct Log;
///
/// impl Observer for Log {
///     fn plugin_finished(&self, run: &PluginRun<'_>, end: &PluginEnd<'_>) {
///         let verdict = if end.error.is_some() { "failed" } else { "done" };
///         eprintln!("{} {} {verdict} after {} ms", run.command, run.plugin, end.duration.as_millis());
///     }
/// }
/// ```
pub trait Observer: Send + Sync {
    /// A plugin is about to be started.
    fn plugin_started(&self, run: &PluginRun<'_>) {
        let _ = run;
    }

    /// A plugin has come to its end, or could not be started.
    fn plugin_finished(&self, run: &PluginRun<'_>, end: &PluginEnd<'_>) {
        let _ = (run, end);
    }

    /// Something is odd, but the operation goes on.
    fn warning(&self, warning: &Warning) {
        let _ = warning;
    }
}

/// So that types which hold one can derive `Debug`.
impl fmt::Debug for dyn Observer + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dyn Observer")
    }
}

/// One run of a plugin.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PluginRun<'a> {
    /// The network's name; `None` when a plugin is asked for its versions by itself.
    pub network: Option<&'a str>,
    /// The plugin's type.
    pub plugin: &'a PluginType,
    /// The plugin's place in the list, from 0.
    pub position: usize,
    /// How many plugins the list has.
    pub plugins: usize,
    /// The command.
    pub command: Command,
    /// The plugin's binary; `None` if it was not found.
    pub program: Option<&'a Path>,
    /// The whole environment.
    pub environment: &'a Environment,
    /// What the plugin reads on stdin.
    pub stdin: &'a [u8],
}

/// How a run of a plugin ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PluginEnd<'a> {
    /// How long it took.
    pub duration: Duration,
    /// What came out; `None` if it did not come to its own end.
    pub output: Option<&'a Output>,
    /// Why the run was no success.
    pub error: Option<&'a cni_invoke::Error>,
    /// The result of the plugins before, for ADD.
    pub before: Option<&'a VersionedResult>,
    /// The result after this plugin, for ADD.
    pub result: Option<&'a VersionedResult>,
}

/// Something that is odd, but does not stop an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The cached result cannot be used; DEL goes on without one.
    CacheUnusable {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// A plugin's result lacks what the result of the plugins before it had. The spec lets a plugin modify the result it
    /// is given, but plugins that print only their own break CHECK and DEL for the others.
    Dropped {
        /// The network's name.
        network: String,
        /// The plugin.
        plugin: PluginType,
        /// What is missing.
        losses: Vec<Loss>,
    },
    /// The operation goes on without the lock that keeps others off.
    NotLocked {
        /// Why.
        why: String,
    },
    /// A file of the cache could not be removed.
    NotRemoved {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// A file of the cache is left alone, because it cannot be told what it is for.
    RecordSkipped {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// Another operation is under way, which must come to its end first.
    Waiting {
        /// The lock file.
        file: PathBuf,
        /// The process that has the lock, if it says so.
        holder: Option<u32>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CacheUnusable { file, why } => {
                write!(f, "going on without the cached result in {}: {why}", file.display())
            }
            Self::Dropped { network, plugin, losses } => {
                write!(f, "network {network:?}: the result of plugin {:?} lacks ", plugin.as_str())?;
                for (at, loss) in losses.iter().enumerate() {
                    write!(f, "{}{loss}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str(", which the plugins before it had reported")
            }
            Self::NotLocked { why } => write!(f, "going on without a lock: {why}"),
            Self::NotRemoved { file, why } => write!(f, "cannot remove {}: {why}", file.display()),
            Self::Waiting { file, holder: Some(process) } => {
                write!(f, "waiting for process {process}, which has the lock {}", file.display())
            }
            Self::Waiting { file, holder: None } => write!(f, "waiting for the lock {}", file.display()),
            Self::RecordSkipped { file, why } => write!(f, "leaving {} alone: {why}", file.display()),
        }
    }
}

/// An [`Exec`] that tells an observer of the one run it is made for, and keeps what is needed to tell of its end.
pub(crate) struct Watch<'a> {
    exec: &'a dyn Exec,
    observer: &'a dyn Observer,
    about: PluginRun<'a>,
    seen: Mutex<Option<Seen>>,
}

struct Seen {
    program: PathBuf,
    environment: Environment,
    duration: Duration,
    output: Option<Output>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(exec: &'a dyn Exec, observer: &'a dyn Observer, about: PluginRun<'a>) -> Self {
        Self { exec, observer, about, seen: Mutex::new(None) }
    }

    /// Tells how the run ended.
    pub(crate) fn finish(
        self,
        error: Option<&cni_invoke::Error>,
        before: Option<&VersionedResult>,
        result: Option<&VersionedResult>,
    ) {
        let seen = self.seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut run = self.about;
        if let Some(seen) = &seen {
            run = PluginRun { program: Some(&seen.program), environment: &seen.environment, ..run };
        }
        let duration = seen.as_ref().map_or(Duration::ZERO, |seen| seen.duration);
        let output = seen.as_ref().and_then(|seen| seen.output.as_ref());
        self.observer.plugin_finished(&run, &PluginEnd { duration, output, error, before, result });
    }
}

impl Exec for Watch<'_> {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        self.exec.find(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        let run = PluginRun {
            program: Some(invocation.program),
            environment: invocation.environment,
            ..self.about
        };
        self.observer.plugin_started(&run);
        let start = Instant::now();
        let outcome = self.exec.run(invocation);
        let seen = Seen {
            program: invocation.program.to_owned(),
            environment: invocation.environment.clone(),
            duration: start.elapsed(),
            output: outcome.as_ref().ok().cloned(),
        };
        *self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(seen);
        outcome
    }
}
