//! `describe`: what a plugin says of itself, or, where it says nothing, which versions it supports.

use std::io;
use std::path::{Path, PathBuf};

use libcni::cni_invoke::{DescribeError, find_plugin};
use libcni::cni_types::{PluginDescription, PluginInfo, PluginType};
use libcni::{SearchPath, cni_invoke};

use super::version::is_path;
use super::{Context, ask};
use crate::cli::Describe;
use crate::failure::{Failure, Fault, Usage};

/// What could be learnt of a plugin.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) plugin: PluginType,
    pub(crate) program: PathBuf,
    pub(crate) info: Result<PluginInfo, cni_invoke::Error>,
    /// `None` if it was not asked, since it does not answer VERSION.
    pub(crate) said: Option<Result<Box<PluginDescription>, DescribeError>>,
}

pub(super) fn run(args: &Describe, context: &Context<'_>) -> Result<(), Failure> {
    let (plugin, program) = find(&args.plugin, context)?;
    let dir = program.parent().unwrap_or(&program);
    let asked = ask::plugin(&ask::client_in(dir, context), plugin);
    let said = asked.info.is_ok().then(|| ask::describe(&program));
    let described = Described { plugin: asked.plugin, program, info: asked.info, said };
    let has_answered = described.info.is_ok();
    context.console.show(&described)?;
    if has_answered { Ok(()) } else { Err(Failure::Told) }
}

/// The plugin's type, and where it lies.
fn find(text: &str, context: &Context<'_>) -> Result<(PluginType, PathBuf), Usage> {
    let usage = |fault| Usage { origin: "PLUGIN", fault };
    if !is_path(text) {
        let plugin = PluginType::new(text).map_err(|error| usage(Fault::Name(error)))?;
        let program = find_plugin(&plugin, &SearchPath::new(&context.settings.plugin_dirs));
        let program = program.map_err(|error| usage(Fault::Plugin(error)))?;
        return Ok((plugin, program));
    }
    let fault = |error| usage(Fault::Path(text.into(), error));
    // A link may be there for its name: only what leads to it is made absolute.
    let path = std::path::absolute(text).map_err(fault)?;
    let name = path.file_name().and_then(|name| PluginType::new(name.to_str()?).ok());
    let (Some(plugin), Some(dir)) = (name, path.parent()) else {
        return Err(fault(io::ErrorKind::InvalidFilename.into()));
    };
    // What a runtime would not run is not run here, either.
    let program = find_plugin(&plugin, &SearchPath::new([dir]));
    let program = program.map_err(|error| usage(Fault::Plugin(error)))?;
    Ok((plugin, Path::new(&program).to_owned()))
}
