//! A call as a test makes it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cni_invoke::testing::{RecordedCall, Reply, ScriptedExec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::call::Call;
use crate::dispatch::Dispatcher;
use crate::plugin::Plugin;
use crate::types::config::{VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD};
use crate::types::{Command, env};

/// A call of a plugin, made step by step and then run.
///
/// It starts as a good call: every variable of its command is set, and the configuration is a minimal one of the newest
/// version with the name `test-net` and the plugin's type. Each step changes one thing.
#[derive(Debug)]
#[must_use = "an invocation does nothing until it is run"]
pub struct Invocation {
    env: Vec<(OsString, OsString)>,
    arguments: Vec<String>,
    config: Option<Map<String, Value>>,
    added: Map<String, Value>,
    stdin: Option<Vec<u8>>,
    own_netns: Option<PathBuf>,
    delegates: Option<ScriptedExec>,
}

impl Invocation {
    /// A call with this command, which need not be one, and no other variable.
    pub fn of(command: &str) -> Self {
        let new = Self {
            env: Vec::new(),
            arguments: Vec::new(),
            config: None,
            added: Map::new(),
            stdin: None,
            own_netns: None,
            delegates: None,
        };
        new.env(env::COMMAND, command)
    }

    /// ADD of a container in a namespace by an interface. The namespace need not exist.
    pub fn add(container_id: &str, netns: impl AsRef<Path>, ifname: &str) -> Self {
        Self::attached(Command::Add, container_id, ifname).env(env::NETNS, netns.as_ref())
    }

    /// CHECK of a container. It needs a [`prev_result`](Invocation::prev_result).
    pub fn check(container_id: &str, netns: impl AsRef<Path>, ifname: &str) -> Self {
        Self::attached(Command::Check, container_id, ifname).env(env::NETNS, netns.as_ref())
    }

    /// DEL of a container whose namespace is gone; see [`netns`](Invocation::netns).
    pub fn del(container_id: &str, ifname: &str) -> Self {
        Self::attached(Command::Del, container_id, ifname)
    }

    /// GC with these valid attachments: container IDs and interface names.
    pub fn gc<'a>(valid: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let valid: Vec<_> =
            valid.into_iter().map(|(id, ifname)| json!({"containerID": id, "ifname": ifname})).collect();
        let mut new = Self::of(Command::Gc.as_str());
        new.added.insert(VALID_ATTACHMENTS.to_owned(), json!(valid));
        new.added.insert(VALID_ATTACHMENTS_OLD.to_owned(), json!(valid));
        new
    }

    /// STATUS.
    pub fn status() -> Self {
        Self::of(Command::Status.as_str())
    }

    /// VERSION.
    pub fn version() -> Self {
        Self::of(Command::Version.as_str())
    }

    /// No command, but arguments to the program, as a person gives them: `--describe`, `--help`, `--version`.
    ///
    /// ```
    /// use cni_skel::testing::Invocation;
    /// # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
    /// # #[derive(CniPlugin)]
    /// # #[cni(name = "nothing")]
    /// # struct Nothing;
    /// # impl Plugin for Nothing {
    /// #     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> { Ok(req.result()) }
    /// #     fn del(&self, _: &DelRequest<Self>) -> Result<()> { Ok(()) }
    /// # }
    /// let outcome = Invocation::by_hand(["--describe"]).run(&Nothing);
    /// assert_eq!(outcome.json()["name"], "nothing");
    /// ```
    pub fn by_hand<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { arguments, ..Self::of("") }.without_env(env::COMMAND)
    }

    fn attached(command: Command, container_id: &str, ifname: &str) -> Self {
        Self::of(command.as_str()).env(env::CONTAINER_ID, container_id).env(env::IFNAME, ifname)
    }

    /// Sets the configuration.
    ///
    /// Its bytes are the test kit's. Where they matter, such as a number's digits, see [`stdin`](Invocation::stdin).
    ///
    /// # Panics
    ///
    /// When the value is no JSON object. See [`stdin`](Invocation::stdin) for calls that are wrong on purpose.
    pub fn config(mut self, config: impl Serialize) -> Self {
        match serde_json::to_value(config) {
            Ok(Value::Object(config)) => self.config = Some(config),
            other => panic!("the configuration must be a JSON object, not {other:?}"),
        }
        self
    }

    /// Sets `prevResult`.
    ///
    /// # Panics
    ///
    /// When the value has no JSON form.
    #[doc(alias = "prevResult")]
    pub fn prev_result(mut self, result: impl Serialize) -> Self {
        let result = serde_json::to_value(result)
            .unwrap_or_else(|error| panic!("prevResult has no JSON form: {error}"));
        self.added.insert("prevResult".to_owned(), result);
        self
    }

    /// Sets what the runtime gives for a capability.
    ///
    /// # Panics
    ///
    /// When the value has no JSON form.
    pub fn capability(mut self, name: &str, value: impl Serialize) -> Self {
        let value =
            serde_json::to_value(value).unwrap_or_else(|error| panic!("{name} has no JSON form: {error}"));
        let runtime_config = self.added.entry("runtimeConfig").or_insert_with(|| json!({}));
        if let Value::Object(values) = runtime_config {
            values.insert(name.to_owned(), value);
        }
        self
    }

    /// Sets stdin as a whole, whatever it is; the configuration no longer counts.
    pub fn stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(stdin.into());
        self
    }

    /// Sets `CNI_NETNS`.
    pub fn netns(self, path: impl AsRef<Path>) -> Self {
        self.env(env::NETNS, path.as_ref())
    }

    /// Sets `CNI_ARGS`.
    pub fn args(self, args: &str) -> Self {
        self.env(env::ARGS, args)
    }

    /// Sets `CNI_PATH`.
    pub fn path(self, path: &str) -> Self {
        self.env(env::PATH, path)
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self = self.without_env(name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// Removes a variable.
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.retain(|(key, _)| key != name);
        self
    }

    /// Lets the plugin run in the namespace of this path, as far as it is told: `CNI_NETNS` must then be another.
    pub fn own_netns(mut self, path: impl Into<PathBuf>) -> Self {
        self.own_netns = Some(path.into());
        self
    }

    /// Lets a delegate exist, and answers what it is called for: every command, also the DEL that undoes its ADD.
    ///
    /// From then on no delegate is found for real. `CNI_PATH` is set, unless it is set already; take it away
    /// [afterwards](Invocation::without_env) for a runtime that sets none.
    ///
    /// ```
    /// # use cni_skel::testing::Invocation;
    /// use cni_skel::{ErrorCode, types::Command};
    ///
    /// let invocation = Invocation::add("c1", "/run/netns/x", "eth0").delegate("host-local", |call| {
    ///     match call.command() {
    ///         Command::Add => call.reply(serde_json::json!({"ips": [{"address": "10.1.0.5/16"}]})),
    ///         _ => call.fail(ErrorCode::TRY_AGAIN, "the pool is locked"),
    ///     }
    /// });
    /// ```
    pub fn delegate(
        mut self,
        plugin_type: &str,
        answer: impl Fn(&RecordedCall) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.delegates = Some(self.delegates.unwrap_or_default().plugin(plugin_type, answer));
        if !self.env.iter().any(|(name, _)| name == env::PATH) {
            self = self.path("/opt/cni/bin");
        }
        self
    }

    /// Runs a plugin's handlers on the call, through every check, in this thread.
    pub fn run<P: Plugin>(mut self, plugin: &P) -> Outcome {
        let delegates = self.delegates.take().map(Arc::new);
        let mut call = self.into_call(P::NAME);
        if let Some(delegates) = &delegates {
            call = call.with_exec(Arc::clone(delegates) as Arc<dyn cni_invoke::Exec>);
        }
        let reply = Dispatcher::new(plugin).respond(call);
        Outcome::new(reply, delegates.map_or_else(Vec::new, |delegates| delegates.calls()))
    }

    fn into_call(self, plugin: &str) -> Call {
        let stdin = self.stdin.unwrap_or_else(|| {
            let mut config = self.config.unwrap_or_else(|| {
                let newest = crate::CniVersion::NEWEST.as_str();
                let minimal = [("cniVersion", newest), ("name", "test-net"), ("type", plugin)];
                minimal.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
            });
            config.extend(self.added);
            Value::Object(config).to_string().into_bytes()
        });
        let call = Call::new(self.env, stdin).with_arguments(self.arguments);
        match self.own_netns {
            None => call,
            Some(path) => call.in_netns(&path),
        }
    }
}
