//! From a call to a reply: every check in the order of the protocol, then the handler.
//!
//! The command, the variables, stdin, the network's name, the version, the namespace, what the command carries
//! (`prevResult`, valid attachments), the plugin's own configuration, the handler: in this order, and nothing is touched
//! before all of them are passed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::call::Call;
use crate::config;
use crate::error::Result as HandlerResult;
use crate::netns::{Netns, NetnsId};
use crate::plugin::Plugin;
use crate::reply::{Answer, Reply};
use crate::request::{self, AddRequest, CheckRequest, Context, DelRequest, GcRequest, StatusRequest};
use crate::runtime_config::RuntimeConfig;
use crate::types::config::PluginConfig;
use crate::types::{
    AddResult, CniVersion, Command, DecodeError, ErrorCode, ErrorObject, PluginInfo, VersionError,
    VersionedResult, env, reconcile,
};
use crate::vars;

/// Answers a call with a plugin's handlers.
///
/// [`run`](crate::run) is this over the process's own environment and streams. This lower entry gives the reply before
/// it is written, for test plugins and for whoever embeds a plugin.
///
/// ```
/// use cni_skel::{Call, Dispatcher};
/// # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
/// # #[derive(CniPlugin)]
/// # #[cni(name = "nothing")]
/// # struct Nothing;
/// # impl Plugin for Nothing {
/// #     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> { Ok(req.result()) }
/// #     fn del(&self, _: &DelRequest<Self>) -> Result<()> { Ok(()) }
/// # }
/// let reply = Dispatcher::new(&Nothing).respond(Call::new([("CNI_COMMAND", "VERSION")], ""));
/// assert_eq!(reply.exit, 0);
/// assert!(String::from_utf8(reply.stdout)?.contains("supportedVersions"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Debug)]
pub struct Dispatcher<'p, P> {
    plugin: &'p P,
    versions: Vec<String>,
}

impl<'p, P: Plugin> Dispatcher<'p, P> {
    /// A dispatcher to a plugin's handlers.
    pub fn new(plugin: &'p P) -> Self {
        Self { plugin, versions: P::VERSIONS.iter().map(ToString::to_string).collect() }
    }

    /// The same with another list of supported versions than the plugin declares, which need not exist.
    ///
    /// For test plugins that stand for a plugin of another age. A request in a version that does not exist is refused
    /// all the same.
    #[must_use]
    pub fn with_versions(mut self, versions: impl IntoIterator<Item = String>) -> Self {
        self.versions = versions.into_iter().collect();
        self
    }

    /// Answers a call. Neither a wrong call nor a panic of a handler gets past this: both become an error object.
    pub fn respond(&self, mut call: Call) -> Reply {
        match vars::command(&call) {
            Ok(None) => Reply::about(self.about()),
            Ok(Some(Command::Version)) => self.version(&mut call),
            Ok(Some(command)) => {
                let mut notes = String::new();
                let mut version = None;
                match self.handle(command, call, &mut version, &mut notes) {
                    Ok(answer) => Reply { stderr: notes, ..Reply::new(answer) },
                    Err(error) => {
                        let error =
                            error.with_version(version.as_deref().unwrap_or(CniVersion::NEWEST.as_str()));
                        Reply { stderr: notes, ..Reply::error(error) }
                    }
                }
            }
            Err(error) => Reply::error(error.with_version(CniVersion::NEWEST)),
        }
    }

    /// Who the plugin is, for a person.
    fn about(&self) -> String {
        let version = if P::VERSION.is_empty() { String::new() } else { format!(" {}", P::VERSION) };
        format!(
            "{}{version}: {}\nCNI spec versions supported: {}\n",
            P::NAME,
            P::ABOUT,
            self.versions.join(", ")
        )
    }

    /// The reply to VERSION, in the version of the request if it has a good one.
    fn version(&self, call: &mut Call) -> Reply {
        let asked = PluginConfig::decode(call.stdin.read_if_ready()).ok().and_then(|config| {
            config.cni_version.as_ref()?;
            config.version().ok()
        });
        let mut info = PluginInfo::new(asked.unwrap_or(CniVersion::NEWEST), &[]);
        info.supported_versions.clone_from(&self.versions);
        Reply::new(Answer::Version(info))
    }

    /// Everything between the command and the answer. The version is told as soon as it is known, for the error.
    fn handle(
        &self,
        command: Command,
        mut call: Call,
        version: &mut Option<String>,
        notes: &mut String,
    ) -> Result<Answer, ErrorObject> {
        let attached = match command {
            Command::Add | Command::Check | Command::Del => {
                let attached = vars::attached(&call, command)?;
                let args = <P::Args as crate::args::CniArgs>::parse(vars::args(&call)?).map_err(|error| {
                    let details = format!("{} is {:?}", env::ARGS, call.var(env::ARGS).unwrap_or_default());
                    ErrorObject::from(error).with_details(details)
                })?;
                Some((attached, args))
            }
            Command::Gc | Command::Status | Command::Version => None,
        };

        let stdin = call.stdin.read().map_err(|error| {
            ErrorObject::new(ErrorCode::IO_FAILURE, format!("error reading from stdin: {error}"))
        })?;
        let network_config = read_network_config(stdin)?;
        if let Some(text) = &network_config.cni_version {
            *version = Some(text.clone());
        } else {
            *version = Some(CniVersion::WHEN_ABSENT.to_string());
        }
        let network = check_network(&network_config)?;
        let version = self.check_version(command, &network_config)?;

        let context = |call: Call, network_config: PluginConfig| -> Result<Context<P>, ErrorObject> {
            let Call { env, mut stdin, exec, .. } = call;
            let stdin = stdin.take();
            let config = config::decode(&stdin, P::DENY_UNKNOWN_KEYS)?;
            let values = if P::Runtime::CAPABILITIES.is_empty() {
                Default::default()
            } else {
                network_config.runtime_values().map_err(|error| invalid_config(&error))?
            };
            let runtime = P::Runtime::from_values(&values).map_err(|error| invalid_config(&error))?;
            Ok(Context { command, env, stdin, exec, network, version, network_config, config, runtime })
        };

        let Some((attached, args)) = attached else {
            if command == Command::Status {
                let request = StatusRequest { context: context(call, network_config)? };
                return self.guard(|plugin| plugin.status(&request)).map(|()| Answer::Done);
            }
            let valid_attachments = valid_attachments(&network_config)?;
            let request = GcRequest { context: context(call, network_config)?, valid_attachments };
            return self.guard(|plugin| plugin.gc(&request)).map(|()| Answer::Done);
        };

        if let Some(netns) = &attached.netns {
            refuse_own_netns(&call, netns)?;
        }
        let prev_result = match network_config.decode_prev_result() {
            Ok(prev_result) => prev_result.map(VersionedResult::into_add_result),
            // DEL is best effort: without the result it still frees what it can find by itself.
            Err(error) if command == Command::Del => {
                notes.push_str(&format!("ignoring prevResult: {error}\n"));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let netns = attached.netns;
        let (container_id, ifname) = (attached.container_id, attached.ifname);
        let attached = |context| request::Attached { context, container_id, ifname, args };
        match (command, netns, prev_result) {
            (Command::Add, Some(netns), prev_result) => {
                let request =
                    AddRequest { attached: attached(context(call, network_config)?), netns, prev_result };
                let result: AddResult = self.guard(|plugin| plugin.add(&request))?;
                VersionedResult::new(result, version)
                    .map(|result| Answer::Result(Box::new(result)))
                    .map_err(|error| ErrorObject::new(ErrorCode::INTERNAL, error.to_string()))
            }
            (Command::Check, Some(netns), Some(prev_result)) => {
                let request =
                    CheckRequest { attached: attached(context(call, network_config)?), netns, prev_result };
                self.guard(|plugin| plugin.check(&request)).map(|()| Answer::Done)
            }
            (Command::Check, ..) => Err(ErrorObject::new(
                ErrorCode::INVALID_NETWORK_CONFIG,
                "Required prevResult missing: CHECK verifies what ADD reported, so the runtime must pass it on",
            )),
            (_, netns, prev_result) => {
                let request =
                    DelRequest { attached: attached(context(call, network_config)?), netns, prev_result };
                self.guard(|plugin| plugin.del(&request)).map(|()| Answer::Done)
            }
        }
    }

    /// Refuses a version that does not exist, that the plugin does not support, or that has no such command.
    fn check_version(&self, command: Command, config: &PluginConfig) -> Result<CniVersion, ErrorObject> {
        let text = config.cni_version.as_deref().unwrap_or(CniVersion::WHEN_ABSENT.as_str());
        if let Err(error @ VersionError::NotAVersion(_)) = config.version() {
            return Err(DecodeError::data("network configuration", "cniVersion", error.to_string()).into());
        }
        reconcile(text, &self.versions)?;
        let incompatible = |msg: String, details: String| {
            Err(ErrorObject::new(ErrorCode::INCOMPATIBLE_CNI_VERSION, msg).with_details(details))
        };
        match config.version() {
            // Only a test plugin that claims such a version gets here.
            Err(error) => incompatible("incompatible CNI versions".to_owned(), error.to_string()),
            Ok(version) if !command.exists_in(version) => incompatible(
                format!("config version does not allow {command}"),
                format!("config is {text:?}, {command} exists from {:?}", command.first_version().as_str()),
            ),
            Ok(version) => Ok(version),
        }
    }

    /// Runs a handler; its error and its panic become the error object.
    fn guard<T>(&self, handler: impl FnOnce(&P) -> HandlerResult<T>) -> Result<T, ErrorObject> {
        // A plugin answers one call and is gone: nobody sees what a panic left half done.
        match catch_unwind(AssertUnwindSafe(|| handler(self.plugin))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(error.to_object_for::<P>()),
            Err(panic) => Err(panic_object(&*panic)),
        }
    }
}

/// The error object of a panic: its message, without the backtrace, which is on stderr.
pub(crate) fn panic_object(payload: &(dyn Any + Send)) -> ErrorObject {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    ErrorObject::new(ErrorCode::INTERNAL, format!("the plugin panicked: {message}"))
}

/// The protocol keys of the request.
fn read_network_config(stdin: &[u8]) -> Result<PluginConfig, ErrorObject> {
    let trimmed = stdin.trim_ascii();
    if trimmed.is_empty() || trimmed == b"null" {
        let found = if trimmed.is_empty() { "stdin is empty" } else { "stdin is null" };
        let msg = format!("cannot decode network configuration: {found}, expected a JSON object");
        return Err(ErrorObject::new(ErrorCode::DECODING_FAILURE, msg));
    }
    PluginConfig::decode(stdin).map_err(ErrorObject::from)
}

/// The name must be there and good; the type, if it is there; and it must be one plugin's configuration.
fn check_network(config: &PluginConfig) -> Result<crate::types::NetworkName, ErrorObject> {
    if config.is_list() {
        return Err(ErrorObject::new(
            ErrorCode::INVALID_NETWORK_CONFIG,
            "the network configuration is a whole list: a plugin is given one entry of \"plugins\", with the list's name and cniVersion",
        ));
    }
    let name = config.network_name().map_err(ErrorObject::from)?;
    if config.plugin_type.is_some() {
        config.plugin_type().map_err(ErrorObject::from)?;
    }
    Ok(name)
}

/// The attachments of a GC request, which must be there: without them everything would be stale.
fn valid_attachments(config: &PluginConfig) -> Result<Vec<crate::types::config::Attachment>, ErrorObject> {
    let key = crate::types::config::VALID_ATTACHMENTS;
    match config.valid_attachments() {
        Ok(Some(list)) => Ok(list),
        Ok(None) => Err(ErrorObject::new(
            ErrorCode::INVALID_NETWORK_CONFIG,
            format!(
                "missing {key:?}: GC removes whatever is not listed, so the runtime must list what to keep"
            ),
        )),
        Err(error) => Err(invalid_config(&error)),
    }
}

/// Refuses to work in the plugin's own namespace, before anything is touched.
fn refuse_own_netns(call: &Call, netns: &Netns) -> Result<(), ErrorObject> {
    if vars::may_use_own_netns(call) {
        return Ok(());
    }
    let Some(own) = call.own_netns() else { return Ok(()) };
    if NetnsId::of(netns.path()).as_ref() != Some(own) {
        return Ok(());
    }
    let msg = "plugin's netns and netns from CNI_NETNS should not be the same";
    let details = format!("{} is {:?}; set {}=1 to allow it", env::NETNS, netns.path(), env::NETNS_OVERRIDE);
    Err(ErrorObject::new(ErrorCode::INVALID_NETNS, msg).with_details(details))
}

fn invalid_config(error: &DecodeError) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_NETWORK_CONFIG, error.to_string())
}

#[cfg(test)]
mod tests;
