//! `validate`: everything that is wrong with a configuration, found without touching any network: by the files, by what
//! the plugins answer to VERSION, and by what they say of themselves.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use libcni::cni_types::config::{ListedPlugin, NetworkList, PluginConfig};
use libcni::cni_types::{CniVersion, Command, ExtraKeys, InvalidName, PluginType};
use libcni::{LoadError, Network, Problem, Scan, SkipReason, Skipped, UnsupportedVersion};

use super::ask::{self, Asked};
use super::version::is_path;
use super::{Context, declared};
use crate::cli::Validate;
use crate::env;
use crate::failure::{Failure, Fault, Usage};
use crate::file;
use crate::lint::{self, Document, Excerpt, Remark};
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
    /// What the plugins' descriptions say of the files.
    pub(crate) remarks: Vec<Remark>,
    /// The commands for which plugins only succeed.
    pub(crate) idle: Vec<(Command, Vec<PluginType>)>,
    /// What is offered and would have no effect.
    pub(crate) unconsumed: Vec<String>,
}

pub(super) fn run(args: &Validate, context: &Context<'_>) -> Result<(), Failure> {
    let offered = env::capability_args(args.cap_args.clone(), context.env)?;
    let (files, unused) = subjects(&args.subjects, context)?;
    // Lines are quoted, and values.
    let redaction = context.console.redaction();
    let dirs = files.iter().filter_map(|file| file.parent()).filter(|dir| !dir.as_os_str().is_empty());
    dirs.chain(files.iter().map(PathBuf::as_path)).for_each(|path| redaction.learn_files(path));
    let mut files: Vec<_> = files.into_iter().map(|file| validate(file, context, &offered)).collect();
    for file in &mut files {
        let of_problems = file.problems.iter_mut().filter_map(|(_, excerpt)| excerpt.as_mut());
        let of_remarks = file.remarks.iter_mut().filter_map(|remark| remark.excerpt.as_mut());
        of_problems.chain(of_remarks).for_each(|excerpt| excerpt.redact(|text| redaction.text(text)));
    }
    let open_dirs = open_dirs(&files, context);
    let validations = Validations { files, unused, open_dirs, strict: args.strict };
    let is_ok = validations.is_ok();
    context.console.show(&validations)?;
    if is_ok { Ok(()) } else { Err(Failure::Told) }
}

/// The directories of plugins, of the files and of the cache that others than the owner and the group can write to: whoever
/// puts a file there decides what root does. They are used all the same, as Go's tools use them.
fn open_dirs(files: &[Validated], context: &Context<'_>) -> Vec<PathBuf> {
    let settings = &context.settings;
    let of_files = files.iter().filter_map(|file| file.file.parent());
    let of_files = of_files.filter(|dir| !dir.as_os_str().is_empty());
    let dirs = settings.plugin_dirs.iter().map(PathBuf::as_path).chain(of_files);
    let mut open: Vec<PathBuf> = Vec::new();
    for dir in dirs.chain([settings.cache_dir.as_path(), &settings.cache_dir.join("results")]) {
        let is_open = fs::metadata(dir).is_ok_and(|found| found.is_dir() && found.mode() & 0o002 != 0);
        if is_open && !open.iter().any(|known| known == dir) {
            open.push(dir.to_owned());
        }
    }
    open
}

/// The files that are meant, each once, and those beside them that are not used.
fn subjects(texts: &[String], context: &Context<'_>) -> Result<(Vec<PathBuf>, Vec<Skipped>), Failure> {
    if texts.is_empty() {
        return folder(&context.settings.conf_dir);
    }
    let (mut files, mut unused): (Vec<PathBuf>, Vec<Skipped>) = (Vec::new(), Vec::new());
    for text in texts {
        let (more, beside) = subject(text, context)?;
        for file in more {
            let is_new = !files.iter().any(|known| is_same(known, &file));
            files.extend(is_new.then_some(file));
        }
        for skipped in beside {
            let is_new = !unused.contains(&skipped);
            unused.extend(is_new.then_some(skipped));
        }
    }
    Ok((files, unused))
}

/// Whether two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// The files that one argument means.
fn subject(text: &str, context: &Context<'_>) -> Result<(Vec<PathBuf>, Vec<Skipped>), Failure> {
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

fn validate(file: PathBuf, context: &Context<'_>, offered: &ExtraKeys) -> Validated {
    match Network::from_file(&file) {
        Ok(network) => {
            let configs: Vec<_> = network.plugins().iter().map(|plugin| plugin.config()).collect();
            let validated = Validated {
                network: Some(network.name().to_string()),
                version: network.version().ok(),
                unknown_version: network.version().err(),
                ..plugins(file, &configs, context, offered)
            };
            let drop_ins = network.plugins().iter().filter_map(|plugin| plugin.file()).map(Path::to_owned);
            let remarks = remarks(&validated.file, drop_ins, &validated.asked);
            let is_disabled = |command| match command {
                Command::Check => network.disable_check(),
                Command::Gc => network.disable_gc(),
                _ => false,
            };
            let described = validated.asked.iter();
            let described = described.filter_map(|asked| Some((&asked.plugin, asked.description()?)));
            let described: Vec<_> = described.collect();
            let idle = validated.version.map(|version| lint::idle(version, is_disabled, &described));
            Validated { remarks, idle: idle.unwrap_or_default(), ..validated }
        }
        Err(problems) => faulty(file, problems, context, offered),
    }
}

/// Of a file that gives no network, as much as can be read is looked at all the same.
fn faulty(file: PathBuf, problems: Vec<Problem>, context: &Context<'_>, offered: &ExtraKeys) -> Validated {
    // A problem of the file as a whole: no JSON, or not even a file.
    let is_of_all = |problem: &Problem| problem.path.is_none() && problem.file.as_deref() == Some(&file);
    let is_unreadable = problems.iter().any(is_of_all);
    let problems = problems.into_iter().map(|problem| (excerpt(&problem), problem)).map(|(at, it)| (it, at));
    let problems = problems.collect();
    if is_unreadable {
        return Validated { problems, ..plugins(file, &[], context, &ExtraKeys::default()) };
    }
    let json = file::read(&file).unwrap_or_default();
    let (network, version, listed) = if is_single(&file) {
        let listed = ListedPlugin::decode(&json).unwrap_or_default();
        (listed.config().name.clone(), listed.config().version().ok(), vec![listed])
    } else {
        let list = NetworkList::decode_all(&json).0;
        (list.name.clone(), list.version().ok(), list.plugins)
    };
    let configs: Vec<_> = listed.iter().map(ListedPlugin::config).collect();
    let validated = Validated { network, version, problems, ..plugins(file, &configs, context, offered) };
    let remarks = remarks(&validated.file, [], &validated.asked);
    Validated { remarks, ..validated }
}

/// Whether a file holds a single plugin's configuration, as its name says.
fn is_single(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "conf" || extension == "json")
}

/// What can be said by the plugins.
fn plugins(
    file: PathBuf,
    configs: &[&PluginConfig],
    context: &Context<'_>,
    offered: &ExtraKeys,
) -> Validated {
    let bad_ipam = configs.iter().filter_map(|config| {
        let fault = PluginType::new(config.ipam_type()?).err()?;
        Some((config.plugin_type().ok()?, fault))
    });
    let is_declared = |capability: &str| declared(configs.iter().copied(), capability);
    let asked = ask::chain(&ask::client(context), configs.iter().copied());
    Validated {
        file,
        network: None,
        version: None,
        problems: Vec::new(),
        unknown_version: None,
        bad_ipam: bad_ipam.collect(),
        asked: asked.into_iter().map(|asked| asked.and_describe(context)).collect(),
        remarks: Vec::new(),
        idle: Vec::new(),
        unconsumed: offered
            .iter()
            .map(|(capability, _)| capability.to_owned())
            .filter(|capability| !is_declared(capability))
            .collect(),
    }
}

/// What the plugins' descriptions say of a file that can be read, and of the files of its drop-in folder.
fn remarks(file: &Path, drop_ins: impl IntoIterator<Item = PathBuf>, asked: &[Asked]) -> Vec<Remark> {
    let describe = |name: &str| asked.iter().find(|asked| asked.plugin == *name)?.description();
    let document = |file: PathBuf| {
        let text = file::read(&file).ok()?;
        Document::new(file, text)
    };
    let of_drop_ins = drop_ins.into_iter().filter_map(document);
    let of_drop_ins: Vec<_> = of_drop_ins.flat_map(|document| lint::single(&document, &describe)).collect();
    let own = document(file.to_owned());
    let own = own.map(|document| match is_single(file) {
        true => lint::single(&document, &describe),
        false => lint::list(&document, &describe),
    });
    own.into_iter().flatten().chain(of_drop_ins).collect()
}

/// The line of a problem, if it has one.
fn excerpt(problem: &Problem) -> Option<Excerpt> {
    // Without a line it may be no file at all, and one that is never at its end.
    problem.line.checked_sub(1)?;
    Excerpt::of(&file::read(problem.file.as_ref()?).ok()?, problem.line, problem.column)
}
