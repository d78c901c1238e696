//! The operations of the protocol on one plugin, over any [`Exec`].
//!
//! Each finds the plugin, runs it once with the environment and the stdin given, and reads the answer. Chains, caches
//! and undoing are other crates' business.

use std::path::PathBuf;

use cni_types::config::declared_version;
use cni_types::{CniVersion, Command, PluginInfo, PluginType, VersionedResult, env};

use crate::environment::Environment;
use crate::error::{ConfigError, Error, ErrorKind};
use crate::exec::{Exec, Invocation, Output};
use crate::find::SearchPath;
use crate::parameters::with_command;
use crate::reply;
use crate::until::Until;

/// One plugin, and all that it is to be called with but for the command.
///
/// A runtime makes the environment from [`Parameters`](crate::Parameters). A plugin that delegates gives its own
/// environment and its own stdin, as they are:
///
/// ```no_run
/// use cni_invoke::{Environment, ProcessExec, Request};
/// use cni_types::PluginType;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let environment = Environment::of_this_process();
/// let stdin = std::io::read_to_string(std::io::stdin())?;
/// let host_local = PluginType::new("host-local")?;
/// let request = Request::new(&host_local, &environment, stdin.as_bytes());
/// let result = cni_invoke::add(&ProcessExec::new(), &request)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The plugin's type.
    pub plugin: &'a PluginType,
    /// Its environment; `CNI_COMMAND` is replaced.
    pub environment: &'a Environment,
    /// What it reads on stdin, byte for byte: its configuration.
    pub config: &'a [u8],
    /// Where to look for it; `None` is `CNI_PATH` of the environment.
    pub search_path: Option<&'a SearchPath>,
    /// When it must be done.
    pub until: &'a Until,
}

impl<'a> Request<'a> {
    /// A call that looks for the plugin along `CNI_PATH` of the environment, without a bound in time.
    pub fn new(plugin: &'a PluginType, environment: &'a Environment, config: &'a [u8]) -> Self {
        Self { plugin, environment, config, search_path: None, until: &Until::FOREVER }
    }

    /// The same call, looking for the plugin elsewhere. The plugin's `CNI_PATH` stays.
    #[must_use]
    pub fn search(self, search_path: &'a SearchPath) -> Self {
        Self { search_path: Some(search_path), ..self }
    }

    /// The same call with a bound in time.
    #[must_use]
    pub fn until(self, until: &'a Until) -> Self {
        Self { until, ..self }
    }
}

/// ADD: attaches a container. The result is in the version that it says itself, or else in the configuration's.
///
/// # Errors
///
/// When the configuration has no version that the answer could be read by (then nothing was run), when the plugin is
/// not found, cannot be run, fails, or answers with something else than a result. [`Error::code`] has the CNI code.
///
/// After an error that [was started](Error::was_started) the caller should call [`del`], with a fresh deadline.
#[doc(alias = "ExecPluginWithResult")]
#[doc(alias = "DelegateAdd")]
pub fn add(exec: &dyn Exec, request: &Request<'_>) -> Result<VersionedResult, Error> {
    let version = config_version(request.config)
        .map_err(|error| Error::new(request.plugin, Command::Add, None, ErrorKind::Config(error)))?;
    run(exec, request, Command::Add, |output| reply::result(output, version))
}

/// DEL: undoes [`add`]. What the plugin prints is not looked at when it succeeds.
///
/// # Errors
///
/// When the plugin is not found, cannot be run, or fails. [`Error::code`] has the CNI code.
#[doc(alias = "ExecPluginWithoutResult")]
#[doc(alias = "DelegateDel")]
pub fn del(exec: &dyn Exec, request: &Request<'_>) -> Result<(), Error> {
    run(exec, request, Command::Del, reply::nothing)
}

/// CHECK: verifies what [`add`] made. The configuration has `prevResult`.
///
/// # Errors
///
/// As for [`del`].
#[doc(alias = "DelegateCheck")]
pub fn check(exec: &dyn Exec, request: &Request<'_>) -> Result<(), Error> {
    run(exec, request, Command::Check, reply::nothing)
}

/// GC: removes what belongs to no valid attachment. The configuration has `cni.dev/valid-attachments`.
///
/// # Errors
///
/// As for [`del`].
#[doc(alias = "DelegateGC")]
pub fn gc(exec: &dyn Exec, request: &Request<'_>) -> Result<(), Error> {
    run(exec, request, Command::Gc, reply::nothing)
}

/// STATUS: asks whether ADD could succeed.
///
/// # Errors
///
/// As for [`del`]; see [`ErrorObject::is_not_available`](cni_types::ErrorObject::is_not_available).
#[doc(alias = "DelegateStatus")]
pub fn status(exec: &dyn Exec, request: &Request<'_>) -> Result<(), Error> {
    run(exec, request, Command::Status, reply::nothing)
}

/// VERSION: asks which versions the plugin supports.
///
/// Any configuration will do; [`version_config`] makes the one that the spec asks for. A plugin that does not know the
/// command is from before 0.2.0, and supports 0.1.0 alone: that is any that answers with code 4, since nothing in the
/// environment of a VERSION can be wrong, or with what Go's library said at the time.
///
/// # Errors
///
/// As for [`del`], and when the answer cannot be read.
#[doc(alias = "GetVersionInfo")]
pub fn version(exec: &dyn Exec, request: &Request<'_>) -> Result<PluginInfo, Error> {
    run(exec, request, Command::Version, reply::plugin_info)
}

/// The stdin of a VERSION: `{"cniVersion": …}`.
pub fn version_config(version: CniVersion) -> Vec<u8> {
    format!(r#"{{"cniVersion":"{version}"}}"#).into_bytes()
}

fn run<T>(
    exec: &dyn Exec,
    request: &Request<'_>,
    command: Command,
    read: impl FnOnce(Output) -> Result<T, ErrorKind>,
) -> Result<T, Error> {
    let Request { plugin, environment, config, search_path, until } = *request;
    let error = |program: Option<PathBuf>, kind| Error::new(plugin, command, program, kind);
    let found = match search_path {
        Some(search_path) => exec.find(plugin, search_path),
        None => {
            let text = environment.find(env::PATH).unwrap_or_default();
            exec.find(plugin, &SearchPath::parse(text))
        }
    };
    let program = found.map_err(|cause| error(None, ErrorKind::Find(cause)))?;
    let environment = with_command(environment, command);
    let invocation =
        Invocation { plugin, program: &program, command, environment: &environment, stdin: config, until };
    let answer = exec.run(&invocation).map_err(ErrorKind::Run).and_then(read);
    answer.map_err(|kind| error(Some(program), kind))
}

/// The version that a configuration's results are read by.
fn config_version(config: &[u8]) -> Result<CniVersion, ConfigError> {
    let text = declared_version(config).map_err(ConfigError::Decode)?;
    text.as_deref().unwrap_or_default().parse().map_err(ConfigError::Version)
}

#[cfg(test)]
mod tests;
