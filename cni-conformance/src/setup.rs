//! What is tested and with what: the plugin, a configuration that works for it, and the world that it finds itself in.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cni_invoke::{Environment, Exec, ProcessExec, SearchPath};
use cni_types::{CniArgs, PluginType, VersionedResult, env};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::catalog::Check;
use crate::report::Report;

/// The checks, ready to be run against one plugin.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use cni_conformance::Conformance;
///
/// let config = serde_json::json!({"name": "n", "type": "bridge", "ipam": {"type": "host-local"}});
/// let report = Conformance::of_program("/opt/cni/bin/bridge", config)?.netns("/run/netns/test").run();
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
///
/// The configuration must be one with which ADD works. Its `cniVersion` does not count: every version that the plugin
/// claims is tested. With a `prevResult` the plugin is tested as a chained one.
///
/// A plugin that delegates to an IPAM plugin gets a scripted one that gives out addresses of 198.51.100.0/24, unless
/// [`search_path`](Conformance::search_path) says where real ones are. Either way its calls are looked at.
#[derive(Clone)]
#[must_use = "nothing is tested until it is run"]
pub struct Conformance<'a> {
    pub(crate) exec: Arc<dyn Exec + 'a>,
    pub(crate) plugin: PluginType,
    pub(crate) program: PathBuf,
    pub(crate) config: Map<String, Value>,
    pub(crate) netns: Option<PathBuf>,
    pub(crate) second_netns: Option<PathBuf>,
    pub(crate) ifname: Option<String>,
    pub(crate) args: CniArgs,
    pub(crate) capabilities: Map<String, Value>,
    pub(crate) search_path: Option<SearchPath>,
    pub(crate) environment: Environment,
    pub(crate) timeout: Duration,
    pub(crate) exceptions: Vec<(&'static Check, String)>,
    pub(crate) in_process: bool,
}

/// Why a plugin cannot be tested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The configuration is no JSON object.
    #[error("cannot use the configuration: it is no JSON object")]
    NotAnObject,
    /// The configuration is a list without an entry for the plugin.
    #[error(
        "cannot use the configuration: it is a list, and no entry of \"plugins\" has the type {plugin:?}"
    )]
    NotInList {
        /// The plugin's type.
        plugin: String,
    },
    /// `prevResult` of the configuration is no result.
    #[error("cannot use \"prevResult\" of the configuration")]
    PrevResult(#[source] cni_types::DecodeError),
    /// The name of the program cannot be a plugin's type.
    #[error("cannot use the program {program:?}: its name cannot be a plugin's type")]
    Program {
        /// The program.
        program: PathBuf,
        /// Why its name cannot.
        source: cni_types::InvalidName,
    },
}

impl Conformance<'static> {
    /// Tests a program, in any language. Its file name is the plugin's type.
    ///
    /// It inherits the environment of this process, but for the variables of CNI.
    ///
    /// # Errors
    ///
    /// When the name cannot be a type, or as for [`Conformance::of_exec`].
    pub fn of_program(program: impl Into<PathBuf>, config: Value) -> Result<Self, SetupError> {
        let program = program.into();
        // A bare name would be looked for along `PATH` when it is started.
        let program = std::path::absolute(&program).unwrap_or(program);
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let plugin = PluginType::new(name)
            .map_err(|source| SetupError::Program { program: program.clone(), source })?;
        // What the plugin writes to stderr is in the report.
        let exec = ProcessExec::new().with_stderr(|_| {});
        let mut new = Conformance::of_exec(Arc::new(exec), plugin, program, config)?;
        let inherited = Environment::of_this_process();
        let is_foreign = |name: &std::ffi::OsStr| !name.to_string_lossy().starts_with("CNI_");
        new.environment = inherited.iter().filter(|(name, _)| is_foreign(name)).collect();
        Ok(new)
    }
}

impl<'a> Conformance<'a> {
    /// How long a call may take by default: 60 seconds.
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// Tests whatever an [`Exec`] runs for this type and path.
    ///
    /// A configuration list will do as well: the entry of the plugin's type is taken.
    ///
    /// # Errors
    ///
    /// When the configuration is no object, is a list without the plugin, or has a `prevResult` that is none.
    pub fn of_exec(
        exec: Arc<dyn Exec + 'a>,
        plugin: PluginType,
        program: impl Into<PathBuf>,
        config: Value,
    ) -> Result<Self, SetupError> {
        let config = plugin_config(&plugin, config)?;
        Ok(Self {
            exec,
            plugin,
            program: program.into(),
            config,
            netns: None,
            second_netns: None,
            ifname: None,
            args: CniArgs::default(),
            capabilities: Map::new(),
            search_path: None,
            environment: Environment::new(),
            timeout: Self::TIMEOUT,
            exceptions: Vec::new(),
            in_process: false,
        })
    }

    /// Gives the plugin a real network namespace. Without one it gets a path that does not exist, and the checks that
    /// need a kernel are skipped.
    ///
    /// The namespace should be a fresh one: interfaces in it are deleted and taken down. A chained plugin needs the
    /// interfaces of its `prevResult` in it.
    pub fn netns(mut self, path: impl Into<PathBuf>) -> Self {
        self.netns = Some(path.into());
        self
    }

    /// Gives a second real network namespace, for what is tested with two containers. Without it, two containers share
    /// the first, under different interface names.
    pub fn second_netns(mut self, path: impl Into<PathBuf>) -> Self {
        self.second_netns = Some(path.into());
        self
    }

    /// Sets `CNI_IFNAME`. By default it is the last interface of `prevResult` that is in a container, or else `eth0`.
    pub fn ifname(mut self, name: impl Into<String>) -> Self {
        self.ifname = Some(name.into());
        self
    }

    /// Sets `CNI_ARGS`.
    pub fn args(mut self, args: CniArgs) -> Self {
        self.args = args;
        self
    }

    /// Sets what the runtime gives for a capability, in `runtimeConfig`.
    ///
    /// # Panics
    ///
    /// When the value has no JSON form.
    #[track_caller]
    pub fn capability(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        let value =
            serde_json::to_value(value).unwrap_or_else(|error| panic!("{name} has no JSON form: {error}"));
        self.capabilities.insert(name, value);
        self
    }

    /// Lets the plugin find real delegates in these directories, instead of a scripted one.
    pub fn search_path(mut self, search_path: SearchPath) -> Self {
        self.search_path = Some(search_path);
        self
    }

    /// Sets a variable of the plugin's environment beside those of the protocol.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.set(name, value);
        self
    }

    /// Sets how long a call may take before the plugin is stopped. Once it had to be, further calls may take less, down to
    /// a second, so that there is a report of a plugin that always hangs.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Leaves a check out, for a reason that the report tells. An ID that does not exist changes nothing.
    pub fn except(mut self, id: &str, reason: impl Into<String>) -> Self {
        self.exceptions.extend(Check::find(id).map(|check| (check, reason.into())));
        self
    }

    /// Tells that the plugin is no process, so that what its delegates write to stderr cannot be seen.
    pub fn in_process(mut self) -> Self {
        self.in_process = true;
        self
    }

    /// Runs the checks.
    ///
    /// The plugin is called some twenty times for each version that it claims, and some hundred times more. Every ADD that
    /// succeeds is followed by a DEL, whatever fails.
    pub fn run(&self) -> Report {
        crate::plan::run(self)
    }

    /// Runs the checks and fails the test if one of them fails.
    ///
    /// # Panics
    ///
    /// When one failed, with the whole table.
    #[track_caller]
    pub fn assert_passes(&self) {
        self.run().assert_passes();
    }

    /// What kind of plugin the configuration makes of it.
    pub(crate) fn kind(&self) -> Kind {
        if self.ipam_type() == Some(self.plugin.as_str()) {
            Kind::Ipam
        } else if self.config.contains_key("prevResult") {
            Kind::Chained
        } else {
            Kind::Interface
        }
    }

    /// The delegate that the configuration names, if the plugin is not that one itself.
    pub(crate) fn delegate(&self) -> Option<PluginType> {
        let named = self.ipam_type().filter(|named| *named != self.plugin.as_str())?;
        PluginType::new(named).ok()
    }

    fn ipam_type(&self) -> Option<&str> {
        self.config.get("ipam")?.get("type")?.as_str().filter(|named| !named.is_empty())
    }
}

/// Which part of a network the plugin makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It adapts what an earlier plugin made.
    Chained,
    /// It makes an interface, or prepares one that is there.
    Interface,
    /// It gives out addresses on behalf of another plugin.
    Ipam,
}

impl fmt::Debug for Conformance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conformance")
            .field("plugin", &self.plugin)
            .field("program", &self.program)
            .field("config", &self.config)
            .field("netns", &self.netns)
            .finish_non_exhaustive()
    }
}

/// The configuration as a runtime derives it, but for the version and what belongs to one call.
fn plugin_config(plugin: &PluginType, config: Value) -> Result<Map<String, Value>, SetupError> {
    let Value::Object(mut config) = config else { return Err(SetupError::NotAnObject) };
    if let Some(plugins) = config.get("plugins").and_then(Value::as_array) {
        let entry = plugins.iter().find(|entry| entry["type"] == plugin.as_str()).and_then(Value::as_object);
        let entry = entry.ok_or_else(|| SetupError::NotInList { plugin: plugin.to_string() })?;
        let name = config.get("name").cloned();
        config = entry.clone();
        config.extend(name.map(|name| ("name".to_owned(), name)));
    }
    for key in ["capabilities", "cniVersions", "runtimeConfig", "cni.dev/valid-attachments"] {
        config.remove(key);
    }
    config.entry("name").or_insert_with(|| json!("conformance"));
    config.entry("type").or_insert_with(|| json!(plugin.as_str()));
    if let Some(prev_result) = config.get("prevResult") {
        // Without a version of its own it is in the configuration's.
        let version = config.get("cniVersion").and_then(Value::as_str).unwrap_or_default();
        let version = version.parse().unwrap_or(cni_types::CniVersion::NEWEST);
        VersionedResult::decode_with_default(version, prev_result.to_string().as_bytes())
            .map_err(SetupError::PrevResult)?;
    }
    Ok(config)
}

/// A path at which there is no network namespace.
pub(crate) fn made_up_netns(number: usize) -> PathBuf {
    Path::new("/run/netns").join(format!("conformance-{}-{number}", std::process::id()))
}

/// The variables of the protocol.
pub(crate) const PROTOCOL: [&str; 6] =
    [env::COMMAND, env::CONTAINER_ID, env::NETNS, env::IFNAME, env::ARGS, env::PATH];
