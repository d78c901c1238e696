//! The subcommands, one a file, and what they have in common.

mod add;
mod ask;
mod attachments;
mod check;
mod completions;
mod conformance;
mod del;
mod describe;
mod gc;
mod install;
mod list;
mod man;
mod new;
mod status;
mod validate;
mod version;

pub(crate) use ask::{Asked, best_common};
pub(crate) use describe::Described;
pub(crate) use install::Objection;
pub(crate) use new::{Kind, Unfit};
pub(crate) use validate::Validated;

use std::process::ExitCode;
use std::sync::Arc;

use libcni::cni_invoke::Exec;
use libcni::cni_types::config::PluginConfig;
use libcni::{Client, ClientBuilder, Network, ProcessExec, RuntimeConf};

use crate::cli::{Cli, Command, Target};
use crate::env::{self, Env, Settings};
use crate::failure::Failure;
use crate::output::{Console, TraceFormat};
use crate::redact::Redacting;
use crate::trace::Watcher;

/// Runs the command that was typed.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let env = Env::of_this_process();
    let by_default = if cli.common.json { TraceFormat::Json } else { TraceFormat::Text };
    let trace = cli.common.trace.map(|format| format.unwrap_or(by_default));
    // As long as the process: whatever runs plugins has it.
    let redaction = Box::leak(Box::new(env::redaction(&cli.common.redact, env)));
    let console = Console::new(cli.common.json, trace, env, redaction);
    let watcher = Arc::new(Watcher::new(console, trace));
    let outcome = Settings::resolve(cli.common, env).map_err(Failure::from).and_then(|settings| {
        let context = Context { settings, env, console, watcher: Arc::clone(&watcher), trace };
        dispatch(cli.command, &context).inspect_err(|failure| {
            if matches!(failure, Failure::Load(_) | Failure::Unknown { .. }) {
                redaction.learn_files(&context.settings.conf_dir);
            }
        })
    });
    watcher.finish();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => console.fail(&failure),
    }
}

fn dispatch(command: Command, context: &Context<'_>) -> Result<(), Failure> {
    match command {
        Command::Add(args) => add::run(&args, context),
        Command::Check(target) => check::run(&target, context),
        Command::Del(target) => del::run(&target, context),
        Command::Gc(args) => gc::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Version(args) => version::run(&args, context),
        Command::Describe(args) => describe::run(&args, context),
        Command::Validate(args) => validate::run(&args, context),
        Command::Conformance(args) => conformance::run(&args, context),
        Command::New(args) => new::run(&args, context),
        Command::Install(args) => install::run(&args, context),
        Command::List => list::run(context),
        Command::Attachments(args) => attachments::run(&args, context),
        Command::Completions(args) => completions::run(&args, context),
        Command::Man(args) => man::run(&args, context),
    }
}

/// What every command is given.
struct Context<'a> {
    settings: Settings,
    env: Env<'a>,
    console: Console,
    watcher: Arc<Watcher>,
    trace: Option<TraceFormat>,
}

impl Context<'_> {
    fn network(&self, name: &str) -> Result<Network, Failure> {
        Ok(Network::load(&self.settings.conf_dir, name)?)
    }

    fn runtime_conf(&self, target: &Target) -> Result<RuntimeConf, Failure> {
        Ok(env::runtime_conf(target, &self.settings, self.env)?)
    }

    fn client(&self) -> Client {
        self.client_builder().build()
    }

    fn client_builder(&self) -> ClientBuilder {
        Client::builder()
            .plugin_dirs(&self.settings.plugin_dirs)
            .cache_dir(&self.settings.cache_dir)
            // In the process group of this program, so that Ctrl-C stops plugins, too. There is no time limit.
            .exec(self.exec(ProcessExec::for_delegates()))
            .observer(Arc::<Watcher>::clone(&self.watcher))
    }

    /// With a trace in JSON stderr has nothing else: what plugins print there is in it. Otherwise it is passed on as it
    /// comes, unless something is to be hidden.
    fn exec(&self, exec: ProcessExec) -> Arc<dyn Exec> {
        match self.trace {
            Some(TraceFormat::Json) => Arc::new(exec.with_stderr(|_| ())),
            _ if self.console.redaction().has_keys() => Arc::new(Redacting::new(exec, self.console)),
            _ => Arc::new(exec),
        }
    }
}

/// Whether any of these plugins wants to be given a capability.
fn declared<'a>(configs: impl IntoIterator<Item = &'a PluginConfig>, capability: &str) -> bool {
    configs.into_iter().any(|config| config.wanted_capabilities().any(|wanted| wanted == capability))
}
