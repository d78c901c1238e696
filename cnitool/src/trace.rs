//! What `--trace` records: each run of a plugin, as the library tells of it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use libcni::cni_invoke::{ErrorKind, Exit, RunError};
use libcni::cni_types::{Command, PluginType, env};
use libcni::{Observer, PluginEnd, PluginRun, Warning};

use crate::output::{Console, TraceFormat, changes};

/// Looks on while plugins run.
pub(crate) struct Watcher {
    console: Console,
    format: Option<TraceFormat>,
    start: Instant,
    runs: Mutex<Vec<Run>>,
}

/// One run of a plugin.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) command: Command,
    pub(crate) plugin: PluginType,
    /// Container and interface, for the commands that are about one attachment.
    pub(crate) attachment: Option<(String, String)>,
    /// When it began, from the start of the program on.
    pub(crate) start: Duration,
    pub(crate) duration: Duration,
    pub(crate) ending: Ending,
    /// What it made of the result, for ADD.
    pub(crate) changes: Option<Vec<String>>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself; whether that was a success.
    Exit(Exit, bool),
    /// There is no such plugin.
    NotFound,
    NotStarted,
    /// It was killed, or lost.
    Stopped,
}

impl Watcher {
    pub(crate) fn new(console: Console, format: Option<TraceFormat>) -> Self {
        Self { console, format, start: Instant::now(), runs: Mutex::default() }
    }

    /// Prints what is recorded.
    pub(crate) fn finish(&self) {
        if self.format == Some(TraceFormat::Text) {
            let mut runs = std::mem::take(&mut *self.lock());
            runs.sort_by_key(|run| run.start);
            self.console.trace(&runs, self.start.elapsed());
        }
    }

    /// What is told of a run may have in it what the plugin was given, or what it gives to the next.
    fn learn(&self, run: &PluginRun<'_>, end: &PluginEnd<'_>) {
        let redaction = self.console.redaction();
        redaction.learn_call(run.environment, run.stdin);
        if let Some(output) = end.output {
            redaction.learn_document(&output.stdout);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Watcher {
    fn plugin_finished(&self, run: &PluginRun<'_>, end: &PluginEnd<'_>) {
        if self.format.is_some() || end.error.is_some() {
            self.learn(run, end);
        }
        let Some(format) = self.format else { return };
        let recorded = Run::new(run, end, self.start.elapsed());
        let mut runs = self.lock();
        if format == TraceFormat::Json {
            self.console.trace_event(runs.len() + 1, &recorded, run, end);
        }
        runs.push(recorded);
    }

    fn warning(&self, warning: &Warning) {
        self.console.warn(warning);
    }
}

impl Run {
    fn new(run: &PluginRun<'_>, end: &PluginEnd<'_>, now: Duration) -> Self {
        let variable = |name| run.environment.find(name).map(|value| value.to_string_lossy().into_owned());
        let container_id = variable(env::CONTAINER_ID).filter(|id| !id.is_empty());
        Self {
            command: run.command,
            plugin: run.plugin.clone(),
            attachment: container_id.map(|id| (id, variable(env::IFNAME).unwrap_or_default())),
            start: now.saturating_sub(end.duration),
            duration: end.duration,
            ending: Ending::new(end),
            changes: end.result.map(|after| changes(end.before, after)),
        }
    }
}

impl Ending {
    fn new(end: &PluginEnd<'_>) -> Self {
        if let Some(output) = end.output {
            return Self::Exit(output.exit, end.error.is_none());
        }
        match end.error.map(libcni::cni_invoke::Error::kind) {
            Some(ErrorKind::Find(_)) => Self::NotFound,
            Some(ErrorKind::Run(RunError::Interrupted { .. } | RunError::OutputTooLarge { .. })) => {
                Self::Stopped
            }
            Some(ErrorKind::Run(error)) if error.was_started() => Self::Stopped,
            _ => Self::NotStarted,
        }
    }
}
