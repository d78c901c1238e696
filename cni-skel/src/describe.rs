//! What a plugin says of itself to whoever asks: the document of `--describe`, and the texts for people.
//!
//! Everything is taken from the plugin's declarations and from what [`plugin`](macro@crate::plugin) noted in its code;
//! there is no list that somebody would have to keep. Whether and where it is printed is the dispatch's business.

mod probe;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;

use crate::args::CniArgs;
use crate::plugin::Plugin;
use crate::reply::Reply;
use crate::runtime_config::RuntimeConfig;
use crate::types::{Command, DESCRIBE, Handling, PluginDescription};

/// What a plugin says of itself, as `--describe` prints it.
///
/// Which of CHECK, STATUS and GC are more than the default is known where [`plugin`](macro@crate::plugin) stands on the
/// `impl Plugin`; where it does not, they are [`Handling::Unknown`]. The schema of the configuration is there with the
/// feature `schema`, for a configuration type that implements `schemars::JsonSchema`.
///
/// ```
/// use cni_skel::types::{Command, Handling};
/// # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, GcRequest, Plugin, Result};
/// # #[derive(CniPlugin)]
/// # #[cni(name = "nothing", about = "does nothing")]
/// # struct Nothing;
///
/// #[cni_skel::plugin]
/// impl Plugin for Nothing {
///     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
///         Ok(req.result())
///     }
///
///     fn del(&self, _: &DelRequest<Self>) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// let description = cni_skel::describe::<Nothing>();
/// assert_eq!(description.about, "does nothing");
/// assert_eq!(description.handling(Command::Del), Handling::Handled);
/// assert_eq!(description.handling(Command::Gc), Handling::NoOp);
/// ```
pub fn describe<P: Plugin>() -> PluginDescription {
    let mut description = declared::<P>();
    description.config_schema = config_schema::<P>();
    description
}

/// The schema of the plugin's keys, with those that the SDK takes for it.
fn config_schema<P: Plugin>() -> Option<serde_json::Value> {
    #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "only the log has keys"))]
    let mut schema = P::config_schema().or_else(probe::schema::<P::Config>)?;
    #[cfg(feature = "tracing")]
    crate::trace::log::add_to_schema(&mut schema);
    Some(schema)
}

/// All but the schema, which is made by code of the author's.
fn declared<P: Plugin>() -> PluginDescription {
    let mut description = PluginDescription::new(P::NAME);
    description.version = P::VERSION.to_owned();
    description.about = P::ABOUT.to_owned();
    description.supported_versions = texts(P::VERSIONS);
    // An array, of which it is known that it is short: sorting any number takes as much code as all the rest here.
    description.commands = [Command::Add, Command::Check, Command::Del, Command::Gc, Command::Status]
        .map(|command| (command.to_string(), handling::<P>(command)))
        .into();
    description.capabilities = texts(P::Runtime::CAPABILITIES);
    description.arguments = texts(P::Args::KEYS);
    description.denies_unknown_keys = P::DENY_UNKNOWN_KEYS;
    description
}

fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// What the plugin's code does for a command.
fn handling<P: Plugin>(command: Command) -> Handling {
    let method = match command {
        // The trait demands them.
        Command::Add | Command::Del => return Handling::Handled,
        Command::Version => return Handling::Handled,
        Command::Check => "check",
        Command::Gc => "gc",
        Command::Status => "status",
    };
    match P::__HANDLERS {
        None => Handling::Unknown,
        Some(written) if written.contains(&method) => Handling::Handled,
        Some(_) => Handling::NoOp,
    }
}

/// The answer to a person, or a program, that runs the plugin without a command of the protocol.
///
/// Only a single argument that is known is looked at: whatever a deployed tool passes gets what it always got.
#[cold]
pub(crate) fn by_hand<P: Plugin>(arguments: &[OsString], versions: &[Cow<'static, str>]) -> Reply {
    let mut declared = declared::<P>();
    // Those that VERSION tells.
    declared.supported_versions = texts(versions);
    match arguments {
        [argument] if argument == DESCRIBE => {
            declared.config_schema = config_schema::<P>();
            Reply::description(declared)
        }
        [argument] if argument == "--help" => Reply::text(help(&declared)),
        [argument] if argument == "--version" => Reply::text(version_line(&declared) + "\n"),
        _ => Reply::about(about(&declared)),
    }
}

/// Who the plugin is.
fn about(description: &PluginDescription) -> String {
    format!(
        "{}: {}\nCNI spec versions supported: {}\n",
        version_line(description),
        description.about,
        description.supported_versions.join(", ")
    )
}

/// The name, and the version if there is one.
fn version_line(PluginDescription { name, version, .. }: &PluginDescription) -> String {
    if version.is_empty() { name.clone() } else { format!("{name} {version}") }
}

/// Who the plugin is, how it is run and what it does.
fn help(description: &PluginDescription) -> String {
    let mut text = about(description);
    let _ = write!(
        text,
        "
A CNI plugin is run by a container runtime: with the variable CNI_COMMAND and its network configuration, of the type
{:?}, on stdin. See https://www.cni.dev/docs/spec.

Options, where CNI_COMMAND is not set:
    --describe    Print a description as JSON
    --help        Print this text
    --version     Print the plugin's own version

Commands:
",
        description.name
    );
    for (command, handling) in &description.commands {
        let handling = match handling {
            Handling::Handled => "handled",
            Handling::NoOp => "succeeds without action",
            _ => "handled, or succeeds without action",
        };
        let _ = writeln!(text, "    {command:<13} {handling}");
    }
    for (title, names) in
        [("Capabilities", &description.capabilities), ("Arguments (CNI_ARGS)", &description.arguments)]
    {
        if !names.is_empty() {
            let _ = write!(text, "\n{title}:\n    {}\n", names.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests;
