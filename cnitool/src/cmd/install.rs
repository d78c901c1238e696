//! `install`: puts plugins and a network's configuration on a node, or takes them away again.
//!
//! Made for the init container of a DaemonSet, which may be killed at any time, run again, and run beside another one. So
//! nothing is touched before everything has been looked at, the configuration comes last and goes first, and every file
//! is whole or not there.

mod check;
mod place;
mod remove;

use std::fs;
use std::path::{Path, PathBuf};

use libcni::cni_types::PluginType;

use self::check::{Checked, check};
use self::place::place;
use super::Context;
use crate::cli::Install;
use crate::failure::{Failure, Fault, Usage};
use crate::output::{Installed, Outcome, Warning};

pub(crate) use self::check::Objection;

/// What anybody may run.
const PROGRAM: u32 = 0o755;

/// A configuration may have secrets in it, and those who need it are root: runtimes. It is what the CIS Kubernetes
/// Benchmark asks for, too.
const CONFIGURATION: u32 = 0o600;

/// A plugin that is given.
struct Given {
    path: PathBuf,
    plugin: PluginType,
    bytes: Vec<u8>,
}

pub(super) fn run(args: &Install, context: &Context<'_>) -> Result<(), Failure> {
    let given = given(&args.plugins)?;
    let name = conf_name(&args.conf)?;
    let json = read("--conf", &args.conf)?;
    context.console.redaction().learn_document(&json);
    let conf = context.settings.conf_dir.join(name);
    let (bin_dir, searched) = match &args.bin_dir {
        // What lies in the image of a container is not what lies on its node.
        Some(dir) => (dir.clone(), vec![dir.clone()]),
        None => (first(&context.settings.plugin_dirs)?, context.settings.plugin_dirs.clone()),
    };
    if args.uninstall {
        return uninstall(&given, &bin_dir, &json, &conf, context);
    }
    let Checked { objections, warnings } = check(&args.conf, &given, &searched, context);
    let (forced, objections): (Vec<_>, Vec<_>) =
        objections.into_iter().partition(|objection| args.force && objection.can_be_forced());
    if !objections.is_empty() {
        return Err(Failure::Refused(objections));
    }
    forced.iter().for_each(|objection| context.console.warn(Warning(objection)));
    warnings.iter().for_each(|warning| context.console.warn(Warning(warning)));

    let plugins = given.iter().map(|given| (bin_dir.join(given.plugin.as_str()), &given.bytes, PROGRAM));
    let mut report = Installed::default();
    for (path, bytes, mode) in plugins.chain([(conf, &json, CONFIGURATION)]) {
        match place(&path, bytes, mode) {
            Ok(outcome) => report.files.push((path, outcome)),
            Err(error) => {
                context.console.show(&report)?;
                return Err(Failure::Write(path, error));
            }
        }
    }
    context.console.show(&report)
}

fn uninstall(
    given: &[Given],
    bin_dir: &Path,
    json: &[u8],
    conf: &Path,
    context: &Context<'_>,
) -> Result<(), Failure> {
    let mut report = Installed::default();
    let removed = remove::all(given, bin_dir, json, conf, &mut report.files);
    let is_kept = report.files.iter().any(|(_, outcome)| matches!(outcome, Outcome::Differs));
    context.console.show(&report)?;
    match removed {
        Err((path, error)) => Err(Failure::Remove(path, error)),
        Ok(()) if is_kept => Err(Failure::Told),
        Ok(()) => Ok(()),
    }
}

/// The plugins with their types, which are their file names.
fn given(paths: &[PathBuf]) -> Result<Vec<Given>, Usage> {
    let usage = |fault| Usage { origin: "PLUGIN", fault };
    let mut given: Vec<Given> = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let plugin = PluginType::new(name).map_err(|error| usage(Fault::Name(error)))?;
        if given.iter().any(|other| other.plugin == plugin) {
            return Err(usage(Fault::Twice(plugin.into_string())));
        }
        given.push(Given { plugin, bytes: read("PLUGIN", path)?, path: path.clone() });
    }
    Ok(given)
}

/// The file name that the configuration keeps.
fn conf_name(conf: &Path) -> Result<&std::ffi::OsStr, Usage> {
    let is_read = |name: &&std::ffi::OsStr| {
        let name = name.to_string_lossy();
        !name.starts_with('.') && [".conflist", ".conf", ".json"].iter().any(|ending| name.ends_with(ending))
    };
    let usage = || Usage { origin: "--conf", fault: Fault::ConfName(conf.to_owned()) };
    conf.file_name().filter(is_read).ok_or_else(usage)
}

fn read(origin: &'static str, path: &Path) -> Result<Vec<u8>, Usage> {
    let usage = |error| Usage { origin, fault: Fault::Path(path.to_owned(), error) };
    // Opening a FIFO would wait for its other end.
    if !fs::metadata(path).map_err(usage)?.is_file() {
        return Err(usage(std::io::Error::other("it is no regular file")));
    }
    fs::read(path).map_err(usage)
}

fn first(dirs: &[PathBuf]) -> Result<PathBuf, Usage> {
    let dir = dirs.first().filter(|dir| !dir.as_os_str().is_empty()).cloned();
    dir.ok_or(Usage { origin: "--plugin-path", fault: Fault::Empty })
}
