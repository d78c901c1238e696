//! `validate`: everything that is wrong with a configuration, found without touching any network.

use std::fs;
use std::path::{Path, PathBuf};

use libcni::cni_types::config::{ListedPlugin, NetworkList, PluginConfig};
use libcni::cni_types::{CniVersion, ExtraKeys, InvalidName, PluginType};
use libcni::{Client, LoadError, Network, Problem, Scan, SkipReason, Skipped, UnsupportedVersion};

use super::ask::{self, Asked};
use super::version::is_path;
use super::{Context, declared};
use crate::cli::Validate;
use crate::env;
use crate::failure::{Failure, Fault, Usage};
use crate::output::Validations;

/// What is known about one file.
#[derive(Debug)]
pub(crate) struct Validated {
    pub(crate) file: PathBuf,
    /// The network's name, as far as it can be read.
    pub(crate) network: Option<String>,
    pub(crate) version: Option<CniVersion>,
    /// What is wrong with the files, and the lines where it is.
    pub(crate) problems: Vec<(Problem, Option<Excerpt>)>,
    pub(crate) unknown_version: Option<UnsupportedVersion>,
    /// Types of IPAM plugins that no plugin can have, and whose they are.
    pub(crate) bad_ipam: Vec<(PluginType, InvalidName)>,
    pub(crate) asked: Vec<Asked>,
    /// What is offered and would have no effect.
    pub(crate) unconsumed: Vec<String>,
}

/// A line of a file, and a place in it.
#[derive(Debug)]
pub(crate) struct Excerpt {
    pub(crate) line: String,
    /// How many characters stand before the place.
    pub(crate) before: usize,
}

pub(super) fn run(args: &Validate, context: &Context<'_>) -> Result<(), Failure> {
    let offered = env::capability_args(args.cap_args.clone(), context.env)?;
    let (files, unused) = subject(args.subject.as_deref(), context)?;
    let client = ask::client(context);
    let files = files.into_iter().map(|file| validate(file, &client, &offered)).collect();
    let validations = Validations { files, unused };
    let is_ok = validations.is_ok();
    context.console.show(&validations)?;
    if is_ok { Ok(()) } else { Err(Failure::Told) }
}

/// The files that are meant, and those beside them that are not used.
fn subject(text: Option<&str>, context: &Context<'_>) -> Result<(Vec<PathBuf>, Vec<Skipped>), Failure> {
    let Some(text) = text else { return folder(&context.settings.conf_dir) };
    let path = Path::new(text);
    if path.is_dir() && is_path(text) {
        return folder(path);
    }
    if is_path(text) || [".conflist", ".conf", ".json"].iter().any(|ending| text.ends_with(ending)) {
        // Of a file that is not there there is nothing to say but that.
        fs::metadata(path)
            .map_err(|error| Usage { origin: "FILE|NET|DIR", fault: Fault::Path(path.to_owned(), error) })?;
        return Ok((vec![path.to_owned()], Vec::new()));
    }
    match Scan::read(&context.settings.conf_dir)?.network(text) {
        Ok(network) => {
            let is_namesake = |skipped: &&Skipped| match &skipped.reason {
                SkipReason::Shadowed { name, .. } | SkipReason::Faulty { name: Some(name), .. } => {
                    name == text
                }
                _ => false,
            };
            let unused = network.skipped().iter().filter(is_namesake).cloned().collect();
            Ok((network.file().map(Path::to_owned).into_iter().collect(), unused))
        }
        Err(LoadError::Faulty { skipped }) => Ok((vec![skipped.file], Vec::new())),
        Err(error) => Err(error.into()),
    }
}

fn folder(dir: &Path) -> Result<(Vec<PathBuf>, Vec<Skipped>), Failure> {
    let scan = Scan::read(dir)?;
    let mut files: Vec<_> =
        scan.networks.iter().filter_map(|network| network.file().map(Path::to_owned)).collect();
    let (faulty, unused): (Vec<_>, Vec<_>) =
        scan.skipped.into_iter().partition(|skipped| !skipped.problems().is_empty());
    files.extend(faulty.into_iter().map(|skipped| skipped.file));
    if files.is_empty() {
        // There is no such network: this is the error that tells so.
        Scan::read(dir)?.default_network()?;
    }
    files.sort_unstable();
    Ok((files, unused))
}

fn validate(file: PathBuf, client: &Client, offered: &ExtraKeys) -> Validated {
    match Network::from_file(&file) {
        Ok(network) => {
            let configs: Vec<_> = network.plugins().iter().map(|plugin| plugin.config()).collect();
            Validated {
                network: Some(network.name().to_string()),
                version: network.version().ok(),
                unknown_version: network.version().err(),
                ..plugins(file, &configs, client, offered)
            }
        }
        Err(problems) => faulty(file, problems, client, offered),
    }
}

/// Of a file that gives no network, as much as can be read is looked at all the same.
fn faulty(file: PathBuf, problems: Vec<Problem>, client: &Client, offered: &ExtraKeys) -> Validated {
    // A problem of the file as a whole: no JSON, or not even a file.
    let is_of_all = |problem: &Problem| problem.path.is_none() && problem.file.as_deref() == Some(&file);
    if problems.iter().any(is_of_all) {
        let problems = with_excerpts(problems);
        return Validated { problems, ..plugins(file, &[], client, &ExtraKeys::default()) };
    }
    let json = fs::read(&file).unwrap_or_default();
    let single = file.extension().is_some_and(|extension| extension == "conf" || extension == "json");
    let (network, version, listed) = if single {
        let listed = ListedPlugin::decode(&json).unwrap_or_default();
        (listed.config().name.clone(), listed.config().version().ok(), vec![listed])
    } else {
        let list = NetworkList::decode_all(&json).0;
        (list.name.clone(), list.version().ok(), list.plugins)
    };
    let configs: Vec<_> = listed.iter().map(ListedPlugin::config).collect();
    let problems = problems.into_iter().map(|problem| (excerpt(&problem), problem)).map(|(at, it)| (it, at));
    Validated { network, version, problems: problems.collect(), ..plugins(file, &configs, client, offered) }
}

/// What can be said by the plugins.
fn plugins(file: PathBuf, configs: &[&PluginConfig], client: &Client, offered: &ExtraKeys) -> Validated {
    let bad_ipam = configs.iter().filter_map(|config| {
        let fault = PluginType::new(config.ipam_type()?).err()?;
        Some((config.plugin_type().ok()?, fault))
    });
    let is_declared = |capability: &str| declared(configs.iter().copied(), capability);
    Validated {
        file,
        network: None,
        version: None,
        problems: Vec::new(),
        unknown_version: None,
        bad_ipam: bad_ipam.collect(),
        asked: ask::chain(client, configs.iter().copied()),
        unconsumed: offered
            .iter()
            .map(|(capability, _)| capability.to_owned())
            .filter(|capability| !is_declared(capability))
            .collect(),
    }
}

fn with_excerpts(problems: Vec<Problem>) -> Vec<(Problem, Option<Excerpt>)> {
    let with_excerpt = |problem| {
        let excerpt = excerpt(&problem);
        (problem, excerpt)
    };
    problems.into_iter().map(with_excerpt).collect()
}

/// The line of a problem, if it has one.
fn excerpt(problem: &Problem) -> Option<Excerpt> {
    // Without a line it may be no file at all, and one that is never at its end.
    let (line, column) = (problem.line.checked_sub(1)?, problem.column.checked_sub(1)?);
    let text = fs::read(problem.file.as_ref()?).ok()?;
    let line = text.split(|byte| *byte == b'\n').nth(line)?;
    let before = line.get(..column)?;
    Some(Excerpt {
        line: String::from_utf8_lossy(line).trim_end().replace('\t', " "),
        before: String::from_utf8_lossy(before).chars().count(),
    })
}
