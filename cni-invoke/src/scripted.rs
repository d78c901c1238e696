//! Plugins as a test tells them to be: no process is run, and every call is recorded.
//!
//! Only with the feature `testing`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cni_types::{Command, ErrorCode, ErrorObject, PluginType};
use serde::Serialize;

use crate::environment::Environment;
use crate::excerpt::Printed;
use crate::exec::{Exec, Exit, Invocation, Output, RunError};
use crate::find::{FindError, Miss, SearchPath, refusal};
use crate::until::Interruption;

/// An [`Exec`] that answers as it is told.
///
/// A plugin is found in the first directory of the search path once something is told of it. Of two answers that fit a
/// call, the one that was told first is given; a call that none fits succeeds with nothing on stdout.
///
/// ```
/// use cni_invoke::testing::{Reply, ScriptedExec};
/// use cni_invoke::{Environment, Request, SearchPath};
/// use cni_types::{Command, ErrorCode, PluginType};
///
/// let exec = ScriptedExec::new()
///     .on("host-local", Command::Del, |_| Reply::error(ErrorCode::TRY_AGAIN, "the pool is locked"))
///     .plugin("host-local", |call| call.reply(serde_json::json!({"ips": [{"address": "10.1.0.5/16"}]})));
///
/// let plugin = PluginType::new("host-local")?;
/// let environment: Environment = [("CNI_PATH", "/opt/cni/bin"), ("CNI_IFNAME", "eth0")].into_iter().collect();
/// let request = Request::new(&plugin, &environment, br#"{"cniVersion":"1.0.0"}"#);
/// assert_eq!(cni_invoke::add(&exec, &request)?.into_add_result().ips.len(), 1);
/// assert!(cni_invoke::del(&exec, &request).unwrap_err().object().unwrap().is_try_again());
///
/// let calls = exec.calls();
/// assert_eq!(calls[1].command(), Command::Del);
/// assert_eq!(calls[1].var("CNI_IFNAME").unwrap(), "eth0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct ScriptedExec {
    scripts: Vec<Script>,
    fallback: Option<Answer>,
    missing: BTreeSet<String>,
    calls: Mutex<Vec<RecordedCall>>,
}

struct Script {
    plugin: String,
    command: Option<Command>,
    answer: Answer,
}

type Answer = Box<dyn Fn(&RecordedCall) -> Reply + Send + Sync>;

impl ScriptedExec {
    /// No plugin exists.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers every command to a plugin.
    #[must_use]
    pub fn plugin(
        self,
        plugin: &str,
        answer: impl Fn(&RecordedCall) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.script(plugin, None, Box::new(answer))
    }

    /// Answers one command to a plugin.
    #[must_use]
    pub fn on(
        self,
        plugin: &str,
        command: Command,
        answer: impl Fn(&RecordedCall) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.script(plugin, Some(command), Box::new(answer))
    }

    /// Lets every plugin exist, and answers what nothing else answers.
    #[must_use]
    pub fn otherwise(mut self, answer: impl Fn(&RecordedCall) -> Reply + Send + Sync + 'static) -> Self {
        self.fallback = Some(Box::new(answer));
        self
    }

    /// Lets a plugin not exist, whatever else is told of it.
    #[must_use]
    pub fn missing(mut self, plugin: &str) -> Self {
        self.missing.insert(plugin.to_owned());
        self
    }

    /// The calls so far, in the order in which they began.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.lock().clone()
    }

    fn script(mut self, plugin: &str, command: Option<Command>, answer: Answer) -> Self {
        self.scripts.push(Script { plugin: plugin.to_owned(), command, answer });
        self
    }

    /// A test that panicked in an answer has failed already; the record is good all the same.
    fn lock(&self) -> MutexGuard<'_, Vec<RecordedCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exec for ScriptedExec {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        let known =
            self.fallback.is_some() || self.scripts.iter().any(|script| script.plugin == plugin.as_str());
        let known = known && !self.missing.contains(plugin.as_str());
        match search_path.dirs().iter().find(|dir| refusal(dir).is_none()) {
            Some(dir) if known => Ok(dir.join(plugin.as_str())),
            _ => {
                let searched = search_path.dirs().iter();
                let searched =
                    searched.map(|dir| (dir.clone(), refusal(dir).unwrap_or(Miss::Absent))).collect();
                Err(FindError { plugin: plugin.clone(), searched })
            }
        }
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        if let Some(why) = invocation.until.interruption() {
            return Err(RunError::NotExecuted { why });
        }
        let call = RecordedCall {
            plugin: invocation.plugin.clone(),
            program: invocation.program.to_owned(),
            command: invocation.command,
            environment: invocation.environment.clone(),
            stdin: invocation.stdin.to_vec(),
        };
        self.lock().push(call.clone());
        let fits = |script: &&Script| {
            script.plugin == call.plugin.as_str()
                && script.command.is_none_or(|command| command == call.command)
        };
        let answer = self.scripts.iter().find(fits).map(|script| &script.answer).or(self.fallback.as_ref());
        answer.map_or_else(Reply::nothing, |answer| answer(&call)).outcome
    }
}

impl fmt::Debug for ScriptedExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plugins: BTreeSet<_> = self.scripts.iter().map(|script| &script.plugin).collect();
        f.debug_struct("ScriptedExec").field("plugins", &plugins).finish_non_exhaustive()
    }
}

/// One call of a plugin, as a [`ScriptedExec`] saw it.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    plugin: PluginType,
    program: PathBuf,
    command: Command,
    environment: Environment,
    stdin: Vec<u8>,
}

impl RecordedCall {
    /// The plugin's type.
    pub fn plugin(&self) -> &PluginType {
        &self.plugin
    }

    /// The binary that would have been run.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command.
    pub fn command(&self) -> Command {
        self.command
    }

    /// The whole environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// All of stdin.
    pub fn stdin(&self) -> &[u8] {
        &self.stdin
    }

    /// A variable of the environment.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.environment.find(name)
    }

    /// The configuration on stdin.
    ///
    /// # Panics
    ///
    /// When stdin is no JSON.
    #[track_caller]
    pub fn config(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdin).unwrap_or_else(|error| {
            panic!("stdin is no JSON ({error}): {:?}", String::from_utf8_lossy(&self.stdin))
        })
    }

    /// An answer: success with this on stdout..
    ///
    /// # Panics
    ///
    /// When the value has no JSON form.
    #[track_caller]
    pub fn reply(&self, json: impl Serialize) -> Reply {
        Reply::json(json)
    }

    /// An answer: an error object. [`Reply::error`] by a shorter way.
    pub fn fail(&self, code: ErrorCode, msg: &str) -> Reply {
        Reply::error(code, msg)
    }
}

/// What a scripted plugin does.
#[derive(Debug)]
#[must_use = "a reply does nothing until it is given to a ScriptedExec"]
pub struct Reply {
    outcome: Result<Output, RunError>,
}

impl Reply {
    /// Succeeds with this on stdout, as it stands: for ADD, a result.
    ///
    /// # Panics
    ///
    /// When the value has no JSON form.
    #[track_caller]
    pub fn json(value: impl Serialize) -> Self {
        Self::raw(Exit::SUCCESS, json(&value))
    }

    /// Succeeds without a word.
    pub fn nothing() -> Self {
        Self::raw(Exit::SUCCESS, "")
    }

    /// Fails with an error object and exit status 1.
    pub fn error(code: ErrorCode, msg: impl Into<String>) -> Self {
        Self::error_object(&ErrorObject::new(code, msg))
    }

    /// Fails with this error object and exit status 1.
    pub fn error_object(error: &ErrorObject) -> Self {
        Self::raw(Exit::Code(1), json(error))
    }

    /// Ends so, with these bytes on stdout.
    pub fn raw(exit: Exit, stdout: impl Into<Vec<u8>>) -> Self {
        Self { outcome: Ok(Output::new(exit, stdout)) }
    }

    /// Is killed while it runs, without having printed anything.
    pub fn interrupted(why: Interruption) -> Self {
        Self::run_error(RunError::Interrupted { why, printed: Printed::default() })
    }

    /// Does not come to its own end.
    pub fn run_error(error: RunError) -> Self {
        Self { outcome: Err(error) }
    }

    /// The same, with this on stderr. Without effect if it does not come to its own end.
    pub fn with_stderr(self, stderr: impl AsRef<[u8]>) -> Self {
        Self { outcome: self.outcome.map(|output| output.with_stderr(stderr)) }
    }
}

#[track_caller]
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| panic!("the reply has no JSON form: {error}"))
}
