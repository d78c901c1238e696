//! What can be typed: subcommands, arguments and flags, as they come.
//!
//! Nothing is looked up or checked here beyond its form; `env` makes of it what was meant.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, FromArgMatches as _, Parser, Subcommand};

use crate::cmd::Kind;
use crate::output::{TraceFormat, help};

#[derive(Debug, Parser)]
#[command(
    name = "cnitool",
    version,
    long_version = help::VERSION,
    about = help::ABOUT,
    after_help = help::ROOT,
    arg_required_else_help = true,
    subcommand_value_name = "COMMAND"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What was typed: the words of a command line, the program's name first.
    pub(crate) fn of(words: &[OsString]) -> Result<Self, clap::Error> {
        Self::of_one_command(words).map_or_else(|| Self::try_parse_from(words), Ok)
    }

    /// The same for the commands that are called for each container, with nothing described but the one command: to describe all
    /// takes longer than what is left of them without the plugins. What does not fit is left to the whole description, which
    /// tells what is wrong, and of help.
    fn of_one_command(words: &[OsString]) -> Option<Self> {
        let (name, words) = words.get(1..)?.split_first()?;
        match name.to_str()? {
            "add" => alone(words, Command::Add),
            "check" => alone(words, Command::Check),
            "del" => alone(words, Command::Del),
            "gc" => alone(words, Command::Gc),
            "status" => alone(words, Command::Status),
            _ => None,
        }
    }
}

fn alone<A: Args>(words: &[OsString], command: fn(A) -> Command) -> Option<Cli> {
    let described = clap::Command::new("cnitool").no_binary_name(true).disable_help_flag(true);
    let mut given = Common::augment_args(A::augment_args(described)).try_get_matches_from(words).ok()?;
    let command = command(A::from_arg_matches_mut(&mut given).ok()?);
    Some(Cli { common: Common::from_arg_matches_mut(&mut given).ok()?, command })
}

/// The flags of every subcommand.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Common {
    /// Network configurations [env: NETCONFPATH] [default: /etc/cni/net.d]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) conf_dir: Option<PathBuf>,
    /// Where plugins are, separated by ':' [env: CNI_PATH] [default: /opt/cni/bin]
    #[arg(long, value_name = "DIRS", global = true)]
    pub(crate) plugin_path: Option<OsString>,
    /// Results and locks [env: CNI_CACHE_DIR] [default: /var/lib/cni]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// The interface inside the container [env: CNI_IFNAME] [default: eth0]
    #[arg(short, long, value_name = "NAME", global = true)]
    pub(crate) ifname: Option<String>,
    /// Print JSON: one document on stdout, one object a line on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Tell on stderr what each plugin did: text (default) or json, which has everything
    // Without a format, that of `--json`.
    #[arg(
        long, value_name = "FORMAT", global = true, num_args = 0..=1, require_equals = true,
        hide_possible_values = true
    )]
    pub(crate) trace: Option<Option<TraceFormat>>,
    /// Hide this key's value in all that is told; may be given again [env: CNI_REDACT=KEY,KEY]
    #[arg(long, value_name = "KEY", global = true)]
    pub(crate) redact: Vec<String>,
}

// Each subcommand's arguments are only built when it is the one: it saves a good part of the start-up.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Attach a network namespace to a network, and print the result
    #[command(after_help = help::ADD)]
    Add(Add),
    /// Verify that an attachment is still as ADD made it
    #[command(after_help = help::CHECK)]
    Check(Target),
    /// Detach a network namespace from a network
    #[command(after_help = help::DEL)]
    Del(Target),
    /// Remove what belongs to none of the given attachments
    #[command(after_help = help::GC)]
    Gc(Gc),
    /// Ask the plugins of a network whether ADD could succeed
    #[command(after_help = help::STATUS)]
    Status(Status),
    /// Show which spec versions plugins support, and the best that they have in common
    #[command(after_help = help::PLUGIN_VERSIONS)]
    Version(Version),
    /// Ask a plugin what it is: commands, capabilities, configuration keys
    #[command(after_help = help::DESCRIBE)]
    Describe(Describe),
    /// Tell everything that is wrong with configurations, without running them
    #[command(after_help = help::VALIDATE)]
    Validate(Validate),
    /// Test a plugin against the spec, clause by clause
    #[command(after_help = help::CONFORMANCE)]
    Conformance(Conformance),
    /// Make a crate to start a plugin from, with its tests
    #[command(after_help = help::NEW)]
    New(New),
    /// Put plugins and a configuration on a node, or take them away
    #[command(after_help = help::INSTALL)]
    Install(Install),
    /// Show the networks, and the files that are not used and why
    #[command(after_help = help::LIST)]
    List,
    /// Show what is attached, as the cache has it
    #[command(after_help = help::ATTACHMENTS)]
    Attachments(Attachments),
    /// Print a script that makes a shell complete commands and flags
    #[command(after_help = help::COMPLETIONS, visible_alias = "completion")]
    Completions(Completions),
    /// Print a manual page
    #[command(hide = true)]
    Man(Man),
}

// No doc comment: clap would take it for that of the command which has it.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The network's name, as its configuration has it
    #[arg(value_name = "NET")]
    pub(crate) network: String,
    /// The path of the network namespace, such as /run/netns/blue
    #[arg(value_name = "NETNS")]
    pub(crate) netns: OsString,
    /// Pairs for the plugins, as KEY=VALUE;KEY=VALUE [env: CNI_ARGS]
    #[arg(long, value_name = "PAIRS")]
    pub(crate) args: Option<OsString>,
    /// Values for plugins that declare the capability, as a JSON object [env: CAP_ARGS]
    #[arg(long, value_name = "JSON")]
    pub(crate) cap_args: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    #[command(flatten)]
    pub(crate) target: Target,
    /// If a plugin fails, run DEL at once, so that nothing is left behind
    #[arg(long)]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// The network's name, as its configuration has it
    #[arg(value_name = "NET")]
    pub(crate) network: String,
    /// The attachments to keep; without an interface, all of the network namespace
    #[arg(value_name = "NETNS[:IFNAME]")]
    pub(crate) valid: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The network's name, as its configuration has it
    #[arg(value_name = "NET")]
    pub(crate) network: String,
    /// Not looked at; Go's cnitool demands it
    #[arg(value_name = "NETNS")]
    pub(crate) netns: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Attachments {
    /// Only those of this network
    #[arg(value_name = "NET")]
    pub(crate) network: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// A network, a plugin, or a directory of plugins; by default all that are searched
    #[arg(value_name = "NET|PLUGIN|DIR")]
    pub(crate) subject: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// The plugin: a path, or a name to look for along the plugin path
    #[arg(value_name = "PLUGIN")]
    pub(crate) plugin: String,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Files, networks, or directories; by default the directory of the configurations
    #[arg(value_name = "FILE|NET|DIR")]
    pub(crate) subjects: Vec<String>,
    /// Let warnings count as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// What a runtime would offer by capability, as a JSON object [env: CAP_ARGS]
    #[arg(long, value_name = "JSON")]
    pub(crate) cap_args: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Conformance {
    /// The plugin: a path, or a name to look for along the plugin path
    #[arg(value_name = "PLUGIN")]
    pub(crate) plugin: String,
    /// A configuration that works for the plugin: its own, or a list that has it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// A fresh network namespace for a container; its interfaces are deleted and taken down
    #[arg(long, value_name = "PATH")]
    pub(crate) netns: Option<PathBuf>,
    /// Another one, for what is tested with two containers
    #[arg(long, value_name = "PATH", requires = "netns")]
    pub(crate) second_netns: Option<PathBuf>,
    /// Give the plugin a path at which nothing is, and skip what needs a kernel (default)
    #[arg(long, conflicts_with = "netns")]
    pub(crate) fake_netns: bool,
    /// Let the plugin delegate to the plugins of the plugin path, not to a scripted one
    #[arg(long)]
    pub(crate) real_ipam: bool,
    /// Leave a check out, for a reason that the report tells; may be given again
    #[arg(long, value_name = "CHECK=REASON")]
    pub(crate) except: Vec<String>,
    /// Write the report as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Pairs for the plugin, as KEY=VALUE;KEY=VALUE [env: CNI_ARGS]
    #[arg(long, value_name = "PAIRS")]
    pub(crate) args: Option<OsString>,
    /// Values by capability, as a JSON object [env: CAP_ARGS]
    #[arg(long, value_name = "JSON")]
    pub(crate) cap_args: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The plugin's name: the type in configurations, and the crate
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What the plugin does
    #[arg(long, value_name = "KIND", default_value = "interface")]
    pub(crate) kind: Kind,
    /// The directory to make, in one that is there [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// A checkout of this SDK to build with, in place of the published crate
    #[arg(long, value_name = "DIR")]
    pub(crate) sdk_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The plugins; their file names are their types
    #[arg(value_name = "PLUGIN", required = true)]
    pub(crate) plugins: Vec<PathBuf>,
    /// The network's configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) conf: PathBuf,
    /// Where the plugins go [default: the first directory of the plugin path]
    #[arg(long, value_name = "DIR")]
    pub(crate) bin_dir: Option<PathBuf>,
    /// Install plugins that do not answer here, or not in the configuration's version
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove the configuration, then the plugins; only what is there as given
    #[arg(long, conflicts_with = "force")]
    pub(crate) uninstall: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command to describe; by default the program as a whole
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

#[cfg(test)]
mod tests;
