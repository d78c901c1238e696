//! From a call to a reply: every check in the order of the protocol, then the handler.
//!
//! The command, the variables, the namespace, stdin, the network's name, the version, what the command carries
//! (`prevResult`, valid attachments), the plugin's own configuration, the handler: in this order, and nothing is touched
//! before all of them are passed. The version comes before the plugin's keys, since it decides what they mean.

mod checks;

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::call::Call;
use crate::config;
use crate::describe;
use crate::error::Result as HandlerResult;
use crate::plugin::Plugin;
use crate::reply::{Answer, Reply};
use crate::request::{self, AddRequest, CheckRequest, Context, DelRequest, GcRequest, StatusRequest};
use crate::runtime_config::RuntimeConfig;
use crate::types::config::{PluginConfig, declared_version};
use crate::types::{
    AddResult, CniVersion, Command, ErrorCode, ErrorObject, PluginInfo, VersionedResult, env,
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
    versions: Vec<Cow<'static, str>>,
}

impl<'p, P: Plugin> Dispatcher<'p, P> {
    /// A dispatcher to a plugin's handlers.
    pub fn new(plugin: &'p P) -> Self {
        Self { plugin, versions: P::VERSIONS.iter().map(|version| version.as_str().into()).collect() }
    }

    /// The same with another list of supported versions than the plugin declares, which need not exist.
    ///
    /// For test plugins that stand for a plugin of another age. A request in a version that does not exist is refused
    /// all the same.
    #[must_use]
    pub fn with_versions(mut self, versions: impl IntoIterator<Item = String>) -> Self {
        self.versions = versions.into_iter().map(Cow::Owned).collect();
        self
    }

    /// Answers a call. Neither a wrong call nor a panic of the plugin's code gets past this: both become an error object.
    pub fn respond(&self, mut call: Call) -> Reply {
        match vars::command(&call) {
            Ok(None) => describe::by_hand::<P>(&call.into_arguments(), &self.versions),
            Ok(Some(Command::Version)) => self.version(&mut call),
            Ok(Some(command)) => {
                let mut notes = String::new();
                let mut version = None;
                let answer = caught(|| self.handle(command, call, &mut version, &mut notes));
                let answer = answer.unwrap_or_else(|error| {
                    let version = version.as_deref().unwrap_or(CniVersion::NEWEST.as_str());
                    Answer::Error(error.with_version(version))
                });
                Reply { stderr: notes, ..Reply::new(answer) }
            }
            Err(error) => {
                let version = version_at_hand(&mut call);
                Reply::error(error.with_version(version.as_deref().unwrap_or(CniVersion::NEWEST.as_str())))
            }
        }
    }

    /// The reply to VERSION, in the version of the request if it has a good one.
    fn version(&self, call: &mut Call) -> Reply {
        let asked = PluginConfig::decode(call.stdin.read_if_ready()).ok().and_then(|config| {
            config.cni_version.as_ref()?;
            config.version().ok()
        });
        let mut info = PluginInfo::new(asked.unwrap_or(CniVersion::NEWEST), &[]);
        info.supported_versions = self.versions.iter().map(ToString::to_string).collect();
        Reply::new(Answer::Version(info))
    }

    /// Everything between the command and the configuration, and then the rest. The version is told as soon as it is known, for the error.
    fn handle(
        &self,
        command: Command,
        mut call: Call,
        version: &mut Option<String>,
        notes: &mut String,
    ) -> Result<Answer, ErrorObject> {
        let attached = match command {
            Command::Add | Command::Check | Command::Del => match attached::<P>(&call, command) {
                Ok(attached) => Some(attached),
                Err(error) => {
                    *version = version_at_hand(&mut call);
                    return Err(error);
                }
            },
            Command::Gc | Command::Status | Command::Version => None,
        };

        // The environment is wrong before stdin is. Only the version that the error is told in is still looked up there.
        let netns = attached.as_ref().and_then(|(attached, _)| attached.netns.as_ref());
        let allowed = netns.map_or(Ok(()), |netns| checks::refuse_own_netns(&call, netns));
        let stdin = call.stdin.read().map_err(|error| {
            ErrorObject::new(ErrorCode::IO_FAILURE, format!("error reading from stdin: {error}"))
        });
        let network_config =
            stdin.as_ref().map_err(Clone::clone).and_then(|stdin| checks::network_config(stdin));
        // A good request is gone through once; in another, the version may stand all the same.
        let declared = match (&network_config, &stdin) {
            (Ok(config), _) => Some(config.cni_version.clone()),
            (Err(_), Ok(stdin)) => declared_version(stdin).ok(),
            (Err(_), Err(_)) => None,
        };
        *version = declared.map(|text| text.unwrap_or_else(|| CniVersion::WHEN_ABSENT.to_string()));
        #[cfg(panic = "abort")]
        crate::run::abort::tell_in(version.as_deref());
        allowed?;
        let network_config = network_config?;

        #[cfg(feature = "tracing")]
        let span = {
            let attached = attached.as_ref().map(|(attached, _)| attached);
            crate::trace::CommandSpan::open::<P>(command, &mut call, attached, &network_config, notes)
        };
        let answer = || self.answer(command, call, attached, network_config, notes);
        #[cfg(feature = "tracing")]
        let answer = || span.run(answer);
        answer()
    }

    /// Everything from the configuration on.
    fn answer(
        &self,
        command: Command,
        call: Call,
        attached: Option<(vars::Attached, P::Args)>,
        network_config: PluginConfig,
        notes: &mut String,
    ) -> Result<Answer, ErrorObject> {
        let network = checks::network(&network_config)?;
        let version = checks::version(command, &network_config, &self.versions)?;

        let context = |call: Call, network_config: PluginConfig| -> Result<Context<P>, ErrorObject> {
            let Call { env, stdin, exec, .. } = call;
            let stdin = stdin.into_bytes();
            let config = config::decode(&stdin, P::DENY_UNKNOWN_KEYS)?;
            let values = if P::Runtime::CAPABILITIES.is_empty() {
                Default::default()
            } else {
                network_config.runtime_values().map_err(|error| checks::invalid_config(error, &stdin))?
            };
            let runtime =
                P::Runtime::from_values(&values).map_err(|error| checks::invalid_config(error, &stdin))?;
            Ok(Context { command, env, stdin, exec, network, version, network_config, config, runtime })
        };

        let Some((attached, args)) = attached else {
            if command == Command::Status {
                let request = StatusRequest { context: context(call, network_config)? };
                return told::<P, _>(self.plugin.status(&request)).map(|()| Answer::Done);
            }
            checks::valid_attachments(&network_config, call.stdin.held())?;
            let request = GcRequest { context: context(call, network_config)? };
            return told::<P, _>(self.plugin.gc(&request)).map(|()| Answer::Done);
        };

        let prev_result = network_config.decode_prev_result();
        let prev_result = match prev_result.map_err(|error| error.located_in(call.stdin.held())) {
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
                let result: AddResult = told::<P, _>(self.plugin.add(&request))?;
                VersionedResult::new(result, version)
                    .map(|result| Answer::Result(Box::new(result)))
                    .map_err(|error| {
                        let details = format!(
                            "the configuration is of version {version}, where a result is an address; the plugin has none \
                             to report, which versions from 0.3.0 on allow"
                        );
                        ErrorObject::new(ErrorCode::INTERNAL, error.to_string()).with_details(details)
                    })
            }
            (Command::Check, Some(netns), Some(prev_result)) => {
                let request =
                    CheckRequest { attached: attached(context(call, network_config)?), netns, prev_result };
                told::<P, _>(self.plugin.check(&request)).map(|()| Answer::Done)
            }
            (Command::Check, ..) => Err(ErrorObject::new(
                ErrorCode::INVALID_NETWORK_CONFIG,
                "Required prevResult missing: CHECK verifies what ADD reported, so the runtime must pass it on",
            )),
            (_, netns, prev_result) => {
                let request =
                    DelRequest { attached: attached(context(call, network_config)?), netns, prev_result };
                told::<P, _>(self.plugin.del(&request)).map(|()| Answer::Done)
            }
        }
    }
}

/// What a handler returned, its error as the object that is printed.
fn told<P: Plugin, T>(returned: HandlerResult<T>) -> Result<T, ErrorObject> {
    returned.map_err(|error| error.to_object_for::<P>())
}

/// Runs code that may be the author's, as handlers and the types of configurations are; a panic becomes the error object.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, ErrorObject>) -> Result<T, ErrorObject> {
    // A plugin answers one call and is gone: nobody sees what a panic left half done.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panic_object(&*panic)))
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

/// What the environment says of the attachment, and `CNI_ARGS`.
fn attached<P: Plugin>(call: &Call, command: Command) -> Result<(vars::Attached, P::Args), ErrorObject> {
    let attached = vars::attached(call, command)?;
    let args = <P::Args as crate::args::CniArgs>::parse(vars::args(call)?).map_err(|error| {
        let details = format!("{} is {:?}", env::ARGS, call.var(env::ARGS).unwrap_or_default());
        ErrorObject::from(error).with_details(details)
    })?;
    Ok((attached, args))
}

/// The configuration's version for an error that comes before stdin is read. A runtime that writes nothing is not waited for.
fn version_at_hand(call: &mut Call) -> Option<String> {
    let declared = declared_version(call.stdin.read_if_ready()).ok()?;
    Some(declared.unwrap_or_else(|| CniVersion::WHEN_ABSENT.to_string()))
}

#[cfg(test)]
mod tests;
