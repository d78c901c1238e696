//! The `cni-plugins` binary: a plugin by the name that it is called under, else what its arguments say.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a command line program, unless it is a plugin"
)]

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use cni_plugins::install::{Foreign, Installed, about, install};
use cni_plugins::{PLUGINS, find, names};
use cni_skel::{Error, ErrorCode};

const USAGE: &str = "usage:
  cni-plugins install [--force] DIR   put this program and a link for each plugin into DIR;
                                      --force replaces files of others
  cni-plugins list                    the plugins, by name
  cni-plugins NAME [--describe|--help|--version]
                                      be that plugin
  NAME                                the same by a link to this program, or a copy of it, of that name";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    if let Some(plugin) = find(&called) {
        return plugin.run(arguments);
    }
    let arguments: Vec<_> = arguments.collect();
    if let Some((plugin, rest)) =
        arguments.split_first().and_then(|(name, rest)| Some((find_name(name)?, rest)))
    {
        return plugin.run(rest.iter().cloned());
    }
    // A runtime understands nothing but an error object.
    if std::env::var_os("CNI_COMMAND").is_some() {
        let error = Error::new(ErrorCode::INVALID_NETWORK_CONFIG, nobody(&called));
        println!("{}", error.to_object().to_json());
        return ExitCode::FAILURE;
    }
    let texts: Vec<_> = arguments.iter().map(|argument| argument.to_str().unwrap_or_default()).collect();
    match texts.as_slice() {
        ["list"] => list(),
        ["--help" | "-h" | "help"] => {
            println!("cni-plugins: {}\n\n{USAGE}\n\nplugins: {}", about(), names());
            ExitCode::SUCCESS
        }
        ["--version" | "-V"] => {
            println!("cni-plugins {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        ["install", "--force", _] | ["install", _, "--force"] => {
            let directory = arguments[1..].iter().find(|argument| *argument != "--force");
            put(directory.map_or(Path::new(""), Path::new), Foreign::Replace)
        }
        ["install", option] if option.starts_with('-') => misused(&format!("there is no option {option:?}")),
        ["install", _] => put(Path::new(&arguments[1]), Foreign::Keep),
        ["install", ..] => misused("install takes one directory"),
        [] if Path::new(&called).file_name() != Some(OsStr::new("cni-plugins")) => misused(&nobody(&called)),
        [] => misused("no plugin and nothing to do was named"),
        [..] => misused(&nobody(&arguments[0])),
    }
}

/// A plugin by its name alone: `./bridge` is a file.
fn find_name(argument: &OsString) -> Option<&'static cni_plugins::Bundled> {
    find(argument).filter(|plugin| argument == plugin.name)
}

fn nobody(name: &OsStr) -> String {
    let name = Path::new(name).file_name().unwrap_or(name);
    format!("there is no plugin {:?} in cni-plugins; there are: {}", name.to_string_lossy(), names())
}

fn misused(what: &str) -> ExitCode {
    eprintln!("cni-plugins: {what}\n\n{USAGE}");
    ExitCode::from(2)
}

fn list() -> ExitCode {
    let width = PLUGINS.iter().map(|plugin| plugin.name.len()).max().unwrap_or_default();
    for plugin in PLUGINS {
        println!("{:width$}  {}", plugin.name, plugin.about);
    }
    ExitCode::SUCCESS
}

fn put(directory: &Path, foreign: Foreign) -> ExitCode {
    // What runs, even if it was replaced on disk by now.
    match install(directory, Path::new("/proc/self/exe"), foreign) {
        Ok(Installed { written, unchanged, .. }) => {
            for name in &written {
                println!("{}", directory.join(name).display());
            }
            eprintln!("{} written, {} as they were", written.len(), unchanged.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprint!("cni-plugins: {error}");
            error.source().into_iter().for_each(|cause| eprint!(": {cause}"));
            eprintln!();
            if matches!(error, cni_plugins::install::Error::Foreign { .. }) {
                eprintln!("install into a directory of its own, or --force to replace them");
            }
            ExitCode::FAILURE
        }
    }
}
