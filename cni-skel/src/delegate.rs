//! Calls of other plugins: the IPAM plugin of the configuration, or any other.
//!
//! A delegate gets the environment and the stdin that the plugin was given, byte for byte; only `CNI_COMMAND` is set by
//! the operation. What it says on stderr is passed on. What an ADD has got is a [`Lease`], which is given back by DEL
//! unless it is committed. Nothing here is worked out for a handler that does not delegate.

mod lease;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cni_invoke::{Environment, Exec, ProcessExec, Request, SearchPath, Until};

pub use lease::Lease;
#[cfg(panic = "abort")]
pub(crate) use lease::pending::give_back_all;

use crate::error::{Error, Result};
use crate::plugin::CniPlugin;
use crate::request::Context;
use crate::types::{ErrorCode, ErrorObject, PluginInfo, PluginType, env};

impl<P: CniPlugin> Context<P> {
    /// The IPAM plugin that the configuration names by `ipam.type`.
    ///
    /// Ask [`wants_ipam`](Context::wants_ipam) first where the plugin can do without.
    ///
    /// # Errors
    ///
    /// When the configuration names none, or names a path. Code 7.
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#delegated-plugins-ipam).
    pub fn ipam(&self) -> Result<Delegate> {
        match self.network_config.ipam_type() {
            Some(plugin_type) if !plugin_type.is_empty() => {
                self.delegate(plugin_type).map_err(|error| error.context("ipam.type"))
            }
            _ => Err(Error::new(
                ErrorCode::INVALID_NETWORK_CONFIG,
                "ipam.type: missing, expected the name of an IPAM plugin such as \"host-local\"",
            )),
        }
    }

    /// Whether the configuration names an IPAM plugin.
    pub fn wants_ipam(&self) -> bool {
        self.network_config.ipam_type().is_some_and(|plugin_type| !plugin_type.is_empty())
    }

    /// The plugin of this type, which is the name of its binary.
    ///
    /// # Errors
    ///
    /// When the type is empty or a path. Code 7.
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#section-4-plugin-delegation).
    pub fn delegate(&self, plugin_type: &str) -> Result<Delegate> {
        Ok(Delegate {
            plugin: PluginType::new(plugin_type)?,
            exec: self.exec.clone().unwrap_or_else(|| Arc::new(ProcessExec::for_delegates())),
            environment: self.env.iter().map(|(name, value)| (name, value)).collect(),
            stdin: Arc::clone(&self.stdin),
            more_dirs: Vec::new(),
            timeout: None,
        })
    }
}

/// Another plugin, to be called as this one was.
///
/// Call the operation that the handler is for: a STATUS handler asks for [`status`](Delegate::status), and so on. What
/// the delegate needs to be told otherwise is changed step by step first.
///
/// ```
/// use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, GcRequest, Plugin, Result, StatusRequest};
///
/// #[derive(CniPlugin)]
/// #[cni(name = "outer")]
/// struct Outer;
///
/// impl Plugin for Outer {
///     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
///         let lease = req.ipam()?.add()?;
///         let mut result = req.result();
///         let eth0 = result.add_interface(req.interface());
///         result.add_ips_on(eth0, lease.ips());
///         lease.commit();
///         Ok(result)
///     }
///     fn del(&self, req: &DelRequest<Self>) -> Result<()> {
///         req.ipam()?.del()
///     }
///     fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
///         req.ipam()?.gc()
///     }
///     fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
///         req.ipam()?.status()
///     }
/// }
/// # use cni_skel::testing::Invocation;
/// # let outcome = Invocation::add("c1", "/run/netns/x", "eth0")
/// #     .config(serde_json::json!({"cniVersion": "1.0.0", "name": "n", "type": "outer", "ipam": {"type": "host-local"}}))
/// #     .delegate("host-local", |call| call.reply(serde_json::json!({"ips": [{"address": "10.1.0.5/16"}]})))
/// #     .run(&Outer);
/// # assert_eq!(outcome.result().ips.len(), 1);
/// # assert_eq!(outcome.delegate_calls().len(), 1);
/// ```
#[doc(alias = "DelegateAdd")]
#[doc(alias = "ipam")]
#[derive(Clone)]
#[must_use = "a delegate is not called yet"]
pub struct Delegate {
    plugin: PluginType,
    exec: Arc<dyn Exec>,
    environment: Environment,
    stdin: Arc<Vec<u8>>,
    more_dirs: Vec<PathBuf>,
    timeout: Option<Duration>,
}

impl Delegate {
    /// The delegate's type.
    pub fn plugin_type(&self) -> &PluginType {
        &self.plugin
    }

    /// Gives the delegate another configuration than this plugin has, for plugins that hold those of their delegates in
    /// their own. It needs `cniVersion` and `name` like any other.
    pub fn with_config(self, stdin: impl Into<Vec<u8>>) -> Self {
        Self { stdin: Arc::new(stdin.into()), ..self }
    }

    /// Sets a variable for the delegate, such as `CNI_IFNAME` for a second interface. `CNI_COMMAND` is the operation's.
    pub fn with_var(mut self, name: &str, value: impl Into<std::ffi::OsString>) -> Self {
        self.environment.set(name, value);
        self
    }

    /// Looks for the delegate in a further directory, after those of `CNI_PATH`. The delegate's own `CNI_PATH` stays.
    pub fn also_in(mut self, dir: impl Into<PathBuf>) -> Self {
        self.more_dirs.push(dir.into());
        self
    }

    /// Kills the delegate when an operation takes longer. Each operation has this time, the DEL that undoes an ADD, too.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// ADD. A failed one is followed by a DEL, as the spec demands, unless nothing was run.
    ///
    /// # Errors
    ///
    /// When the delegate is not found, cannot be run, or fails: its own code and message. If the DEL that followed failed
    /// as well, the details say so. An empty `CNI_PATH` is code 4.
    #[doc(alias = "ExecAdd")]
    pub fn add(self) -> Result<Lease> {
        match self.call(cni_invoke::add) {
            Ok(result) => Ok(Lease::new(self, result.into_add_result())),
            Err(error) if !error.was_started() => Err(error.into()),
            Err(error) => Err(match self.call(cni_invoke::del) {
                Ok(()) => error.into(),
                Err(undoing) => {
                    let ErrorObject { mut details, .. } = ErrorObject::from(&error);
                    if !details.is_empty() {
                        details.push('\n');
                    }
                    details.push_str("undoing it failed, too: ");
                    details.push_str(&ErrorObject::from(&undoing).to_string());
                    Error::from(error).with_details(details)
                }
            }),
        }
    }

    /// DEL.
    ///
    /// # Errors
    ///
    /// When the delegate is not found, cannot be run, or fails: its own code and message.
    #[doc(alias = "ExecDel")]
    pub fn del(&self) -> Result<()> {
        Ok(self.call(cni_invoke::del)?)
    }

    /// CHECK.
    ///
    /// # Errors
    ///
    /// As for [`del`](Delegate::del).
    #[doc(alias = "ExecCheck")]
    pub fn check(&self) -> Result<()> {
        Ok(self.call(cni_invoke::check)?)
    }

    /// GC.
    ///
    /// # Errors
    ///
    /// As for [`del`](Delegate::del).
    #[doc(alias = "ExecGC")]
    pub fn gc(&self) -> Result<()> {
        Ok(self.call(cni_invoke::gc)?)
    }

    /// STATUS.
    ///
    /// # Errors
    ///
    /// As for [`del`](Delegate::del).
    #[doc(alias = "ExecStatus")]
    pub fn status(&self) -> Result<()> {
        Ok(self.call(cni_invoke::status)?)
    }

    /// VERSION: which versions the delegate supports.
    ///
    /// # Errors
    ///
    /// As for [`del`](Delegate::del), and when the answer cannot be read.
    pub fn version(&self) -> Result<PluginInfo> {
        Ok(self.call(cni_invoke::version)?)
    }

    fn call<T>(
        &self,
        operation: impl FnOnce(&dyn Exec, &Request<'_>) -> Result<T, cni_invoke::Error>,
    ) -> Result<T, cni_invoke::Error> {
        let mut search_path = SearchPath::parse(self.environment.find(env::PATH).unwrap_or_default());
        self.more_dirs.iter().for_each(|dir| search_path.push(dir));
        // A new bound for every call: what undoes must not fail for the time that the other took.
        let until = self.timeout.map_or(Until::FOREVER, Until::timeout);
        let request = Request::new(&self.plugin, &self.environment, &self.stdin);
        operation(&*self.exec, &request.search(&search_path).until(&until))
    }
}

impl fmt::Debug for Delegate {
    /// Without configuration and environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegate").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
