//! A test double for CNI plugins: it does nothing, and says what a debug file tells it to say.
//!
//! A drop-in for the plugin of that name in Go's library, so that test suites written for that run against this one.
//! The debug file is named by `DEBUG=path` in `CNI_ARGS`, or by `debugFile` in the configuration; its keys are those of
//! [`Debug`](struct@Debug). `commandLog` in the configuration names a file to which every call is appended. Without a
//! debug file the plugin prints `{}` and a line on stderr.
//!
//! It claims versions that do not exist and prints results that are none, which the SDK's `run` would not let it: it
//! takes the reply from [`Dispatcher::respond`] and changes it before it is written.

mod debug;

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use cni_skel::types::{CniArgs, Command, VersionedResult, env};
use cni_skel::{
    AddRequest, AddResult, Call, CheckRequest, CniPlugin, CniVersion, DelRequest, Dispatcher, Error,
    ErrorCode, GcRequest, Plugin, Reply, Result, StatusRequest,
};

pub use debug::{CmdArgs, Debug, LogEntry};

/// What VERSION reports without a debug file: a version that never was, and every released one.
const UNRELEASED: &str = "0.-42.0";

/// The result to report that means "the `prevResult`, in the configuration's version".
const PASS_THROUGH: &str = "PASSTHROUGH";

/// The result to report that means "the `prevResult` with a name server added".
const INJECT_DNS: &str = "INJECT-DNS";

/// The name server that [`INJECT_DNS`] adds.
const INJECTED: &str = "1.2.3.4";

/// What is reported for want of a result, to the author of a test who forgot it. Go's suites compare it.
const NO_RESULT: &str =
    r#"{ "result": "set debug.ReportResult and call debug.WriteDebug() before calling this plugin" }"#;

/// Answers the process's call.
pub fn main() -> ExitCode {
    cni_skel::run_with(|mut call| Noop::for_call(&mut call).respond(call))
}

/// The keys of the configuration that are read.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    debug_file: Option<PathBuf>,
    command_log: Option<PathBuf>,
}

/// The plugin, for one call.
#[derive(CniPlugin)]
#[cni(name = "noop", about = "a test double that does what its debug file says")]
pub struct Noop {
    args: CmdArgs,
    command_log: Option<PathBuf>,
    debug: Result<Option<(PathBuf, Debug)>>,
    said: RefCell<Said>,
}

/// What a handler has to say beside its return value.
#[derive(Default)]
struct Said {
    /// Instead of the result.
    stdout: Option<String>,
    stderr: String,
    /// Instead of the exit status.
    exit: Option<u8>,
}

impl std::fmt::Debug for Noop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Noop").field("args", &self.args).finish_non_exhaustive()
    }
}

impl Noop {
    /// The plugin that answers a call: it has read what the test prepared.
    pub fn for_call(call: &mut Call) -> Self {
        let text =
            |call: &Call, name: &str| call.var(name).unwrap_or_default().to_string_lossy().into_owned();
        // VERSION need not have a stdin; what cannot be read is refused by the dispatch, in its own words.
        let reads_stdin = call.var(env::COMMAND).is_some_and(|command| command != Command::Version.as_str());
        let stdin_data = if reads_stdin { call.stdin().unwrap_or_default().to_vec() } else { Vec::new() };
        let args = CmdArgs {
            container_id: text(call, env::CONTAINER_ID),
            netns: text(call, env::NETNS),
            if_name: text(call, env::IFNAME),
            args: text(call, env::ARGS),
            path: text(call, env::PATH),
            netns_override: text(call, env::NETNS_OVERRIDE),
            stdin_data,
        };
        let config =
            std::str::from_utf8(&args.stdin_data).ok().and_then(|text| serde_json::from_str(text).ok());
        let config: Config = config.unwrap_or_default();
        let debug = match args.args.parse::<CniArgs>() {
            Err(error) => Err(error.into()),
            Ok(pairs) => match pairs.find("DEBUG").map(PathBuf::from).or(config.debug_file) {
                Some(path) if !path.as_os_str().is_empty() => {
                    Debug::read(&path).map(|debug| Some((path, debug)))
                }
                _ => Ok(None),
            },
        };
        Self { args, command_log: config.command_log, debug, said: RefCell::default() }
    }

    /// Answers the call, as the debug file says.
    pub fn respond(&self, call: Call) -> Reply {
        let mut reply = Dispatcher::new(self).with_versions(self.versions()).respond(call);
        let said = self.said.take();
        if let Some(text) = said.stdout {
            // The handler succeeded, whatever the SDK made of the empty result that it returned.
            reply.stdout = text.into_bytes();
            reply.exit = 0;
        }
        reply.stderr.push_str(&said.stderr);
        reply.exit = said.exit.unwrap_or(reply.exit);
        reply
    }

    /// What VERSION reports, and what is enforced.
    fn versions(&self) -> Vec<String> {
        let told =
            self.debug.as_ref().ok().and_then(|debug| debug.as_ref()?.1.report_version_support.clone());
        told.unwrap_or_else(|| {
            let released = CniVersion::ALL.iter().map(ToString::to_string);
            std::iter::once(UNRELEASED.to_owned()).chain(released).collect()
        })
    }

    /// What every handler does: write the call down, then fail, or say what is to be said.
    fn behave(&self, version: CniVersion, command: Command, prev_result: Option<&AddResult>) -> Result<()> {
        let mut said = self.said.borrow_mut();
        if let Some(log) = &self.command_log {
            LogEntry { command: command.to_string(), cmd_args: self.args.clone() }.append(log)?;
        }
        let debug = self.debug.as_ref().map_err(|error| Error::from(error.to_object()))?;
        let Some((path, debug)) = debug else {
            said.stdout = Some("{}".to_owned());
            "CNI_ARGS or config empty, no debug behavior\n".clone_into(&mut said.stderr);
            return Ok(());
        };
        let mut debug = debug.clone();
        if debug.report_result.is_empty() {
            NO_RESULT.clone_into(&mut debug.report_result);
        }
        debug.command = command.to_string();
        debug.cmd_args = self.args.clone();
        debug.write_back(path)?;
        said.stderr.clone_from(&debug.report_stderr);
        if debug.exit_with_code > 0 {
            said.exit = Some(u8::try_from(debug.exit_with_code).unwrap_or(u8::MAX));
        }
        if !debug.report_error.is_empty() || debug.report_error_code != 0 {
            let code = if debug.report_error_code == 0 {
                ErrorCode::INTERNAL.value()
            } else {
                debug.report_error_code
            };
            return Err(Error::new(ErrorCode::new(code), debug.report_error.clone()));
        }
        said.stdout = Some(match debug.report_result.as_str() {
            PASS_THROUGH | INJECT_DNS => {
                let Some(mut result) = prev_result.cloned() else {
                    // Runtimes repeat DEL when their cached result is gone; it reports nothing, and has to succeed.
                    return match command {
                        Command::Add => Err(Error::message("there is no prevResult to report")),
                        _ => Ok(()),
                    };
                };
                if debug.report_result == INJECT_DNS {
                    result.dns.nameservers = vec![INJECTED.to_owned()];
                }
                VersionedResult::new(result, version)?.to_json()
            }
            text => text.to_owned(),
        });
        Ok(())
    }
}

#[cni_skel::plugin]
impl Plugin for Noop {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        self.behave(req.version(), Command::Add, req.prev_result()).map(|()| AddResult::default())
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        self.behave(req.version(), Command::Del, req.prev_result())
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        self.behave(req.version(), Command::Check, Some(req.prev_result()))
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        self.behave(req.version(), Command::Status, None)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        self.behave(req.version(), Command::Gc, None)
    }
}

#[cfg(test)]
mod tests;
