//! `conformance`: a plugin against the spec, clause by clause.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cni_conformance::Check;
use libcni::cni_invoke::find_plugin;
use libcni::cni_types::PluginType;
use libcni::{Environment, SearchPath};

use super::Context;
use super::version::is_path;
use crate::cli::Conformance;
use crate::env;
use crate::failure::{Failure, Fault, Usage};
use crate::output::Conformed;

pub(super) fn run(args: &Conformance, context: &Context<'_>) -> Result<(), Failure> {
    let kit = kit(args, context)?;
    // Before anything is run: that it cannot be written should not come out afterwards.
    let junit = args.junit.as_ref().map(|path| {
        let created = File::create(path).map_err(|error| usage("--junit", Fault::Path(path.clone(), error)));
        created.map(|file| (path, file))
    });
    let junit = junit.transpose()?;
    let report = Conformed(kit.run());
    if let Some((path, mut file)) = junit {
        file.write_all(context.console.redaction().text(&report.0.to_junit()).as_bytes())
            .map_err(|error| Failure::Write(path.clone(), error))?;
    }
    let passes = report.0.passes();
    context.console.show(&report)?;
    if passes { Ok(()) } else { Err(Failure::Told) }
}

/// The checks, as they were asked for.
fn kit(args: &Conformance, context: &Context<'_>) -> Result<cni_conformance::Conformance<'static>, Usage> {
    let file = &args.config;
    let text = crate::file::read_or_wait(file)
        .map_err(|error| usage("--config", Fault::Path(file.clone(), error)))?;
    let redaction = context.console.redaction();
    redaction.learn_call(&Environment::of_this_process(), &text);
    let config =
        serde_json::from_slice(&text).map_err(|error| usage("--config", Fault::Json(file.clone(), error)))?;
    let pairs = env::args(args.args.clone(), context.env)?;
    redaction.learn_args(&pairs.to_string());
    let search_path = SearchPath::new(&context.settings.plugin_dirs);
    let program = program(&args.plugin, &search_path)?;
    let mut kit = cni_conformance::Conformance::of_program(program, config)
        .map_err(|error| usage("--config", Fault::Config(file.clone(), Box::new(error))))?
        .args(pairs);
    for (name, value) in env::capability_args(args.cap_args.clone(), context.env)?.iter() {
        redaction.learn_document(serde_json::json!({name: value}).to_string().as_bytes());
        kit = kit.capability(name, value);
    }
    if let Some(ifname) = context.settings.ifname()? {
        kit = kit.ifname(ifname.into_string());
    }
    if let Some(path) = &args.netns {
        kit = kit.netns(netns("--netns", path)?);
    }
    if let Some(path) = &args.second_netns {
        kit = kit.second_netns(netns("--second-netns", path)?);
    }
    if args.real_ipam {
        kit = kit.search_path(search_path);
    }
    for except in &args.except {
        let (id, reason) = except.split_once('=').unwrap_or((except, ""));
        if Check::find(id).is_none() {
            return Err(usage("--except", Fault::Check(id.to_owned())));
        }
        // Whoever reads the report later has to know why.
        if reason.trim().is_empty() {
            return Err(usage("--except", Fault::Reason(id.to_owned())));
        }
        kit = kit.except(id, reason);
    }
    Ok(kit)
}

fn program(plugin: &str, search_path: &SearchPath) -> Result<PathBuf, Usage> {
    let usage = |fault| usage("PLUGIN", fault);
    if is_path(plugin) {
        // A link may be there for its name: only what leads to it is made absolute.
        let path = std::path::absolute(plugin).map_err(|error| usage(Fault::Path(plugin.into(), error)))?;
        fs::metadata(&path).map_err(|error| usage(Fault::Path(plugin.into(), error)))?;
        return Ok(path);
    }
    let plugin = PluginType::new(plugin).map_err(|error| usage(Fault::Name(error)))?;
    find_plugin(&plugin, search_path).map_err(|error| usage(Fault::Plugin(error)))
}

/// The absolute path of something that is there.
fn netns(origin: &'static str, path: &Path) -> Result<PathBuf, Usage> {
    let fault = |error| usage(origin, Fault::Path(path.to_owned(), error));
    fs::metadata(path).map_err(fault)?;
    std::path::absolute(path).map_err(fault)
}

fn usage(origin: &'static str, fault: Fault) -> Usage {
    Usage { origin, fault }
}
