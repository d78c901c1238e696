//! Plugins whose stderr is looked through before it is passed on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use libcni::cni_invoke::{Environment, Exec, FindError, Invocation, Output, RunError, Until};
use libcni::cni_types::PluginType;
use libcni::{ProcessExec, SearchPath};

use crate::output::Console;

/// The longest line that is waited for, in bytes: a plugin may never end one.
const LONGEST_LINE: usize = 64 * 1024;

/// Runs plugins, and hides what is secret in what they print on stderr, line by line.
pub(crate) struct Redacting {
    exec: ProcessExec,
    console: Console,
}

impl Redacting {
    pub(crate) fn new(exec: ProcessExec, console: Console) -> Self {
        Self { exec, console }
    }
}

impl Exec for Redacting {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        self.exec.find(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        self.console.redaction().learn_call(invocation.environment, invocation.stdin);
        // Of each run its own: plugins that run side by side do not end each other's lines.
        let begun = Arc::new(Mutex::new(Vec::new()));
        let (console, kept) = (self.console, Arc::clone(&begun));
        let sink = move |part: &[u8]| {
            let mut line = kept.lock().unwrap_or_else(PoisonError::into_inner);
            line.extend_from_slice(part);
            let ended = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let told = if line.len() - ended > LONGEST_LINE { line.len() } else { ended };
            let lines: Vec<u8> = line.drain(..told).collect();
            console.pass_on(&lines);
        };
        let outcome = self.exec.clone().with_stderr(sink).run(invocation);
        self.console.pass_on(&begun.lock().unwrap_or_else(PoisonError::into_inner));
        outcome
    }

    fn describe(&self, program: &Path, environment: &Environment, until: &Until) -> Result<Output, RunError> {
        self.exec.describe(program, environment, until)
    }
}
