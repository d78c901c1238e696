//! What is wrong with configurations.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use libcni::cni_invoke::DescribeError;
use libcni::cni_types::{CniVersion, Command, InvalidName, PluginType};
use libcni::{Problem, Skipped, UnsupportedVersion, cni_invoke};
use serde::Serialize;

use super::error::with_causes;
use super::problem::{ProblemJson, SkippedJson};
use super::version::{AskedJson, best_line};
use super::{Report, Style, pretty, printable};
use crate::cmd::{Asked, Validated, best_common};
use crate::lint::{Excerpt, Remark};

/// Longer lines are not quoted.
const QUOTED_LINE: usize = 120;

/// What validation has found out.
#[derive(Debug)]
pub(crate) struct Validations {
    pub(crate) files: Vec<Validated>,
    /// Files that are not used.
    pub(crate) unused: Vec<Skipped>,
    /// Directories that everyone can write to.
    pub(crate) open_dirs: Vec<PathBuf>,
    /// Whether a warning is as bad as an error.
    pub(crate) strict: bool,
}

impl Validations {
    /// Whether everything could be run.
    pub(crate) fn is_ok(&self) -> bool {
        let is_ok = |file: &Validated| findings(file).is_empty() && !(self.strict && has_warnings(file));
        self.files.iter().all(is_ok) && (!self.strict || self.unused.is_empty() && self.open_dirs.is_empty())
    }
}

fn has_warnings(file: &Validated) -> bool {
    !file.unconsumed.is_empty() || warnings(file).next().is_some()
}

fn warnings(file: &Validated) -> impl Iterator<Item = &Remark> {
    file.remarks.iter().filter(|remark| !remark.is_error)
}

/// One reason why a network could not be run.
enum Finding<'a> {
    BadIpam(&'a PluginType, &'a InvalidName),
    File(&'a Problem, Option<&'a Excerpt>),
    Plugin(&'a cni_invoke::Error),
    /// What a plugin's description says of the files.
    Remark(&'a Remark),
    UnknownVersion(&'a UnsupportedVersion),
    /// Plugins do not support the configuration's version. One finding, however many they are.
    Versions(CniVersion, Vec<&'a Asked>, &'a [Asked]),
}

fn findings(validated: &Validated) -> Vec<Finding<'_>> {
    let files = validated.problems.iter().map(|(problem, at)| Finding::File(problem, at.as_ref()));
    let unknown = validated.unknown_version.iter().map(Finding::UnknownVersion);
    let ipam = validated.bad_ipam.iter().map(|(of, fault)| Finding::BadIpam(of, fault));
    let missing = validated.asked.iter().filter_map(|asked| asked.info.as_ref().err()).map(Finding::Plugin);
    let versions = validated.version.and_then(|version| {
        let is_unfit = |asked: &&Asked| asked.info.as_ref().is_ok_and(|info| !info.supports(version));
        let unfit: Vec<_> = validated.asked.iter().filter(is_unfit).collect();
        (!unfit.is_empty()).then_some(Finding::Versions(version, unfit, &validated.asked))
    });
    let remarks = validated.remarks.iter().filter(|remark| remark.is_error).map(Finding::Remark);
    files.chain(remarks).chain(unknown).chain(ipam).chain(missing).chain(versions).collect()
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadIpam(of, fault) => write!(f, "ipam of plugin {:?}: {fault}", of.as_str()),
            Self::File(problem, _) => problem.fmt(f),
            Self::Plugin(error) => f.write_str(&with_causes(*error)),
            Self::Remark(remark) => remark.fmt(f),
            Self::UnknownVersion(error) => error.fmt(f),
            Self::Versions(version, unfit, asked) => {
                write!(f, "the configuration is of version {version}, but ")?;
                for (at, asked) in unfit.iter().enumerate() {
                    let supported = asked.info.as_ref().map(|info| info.supported_versions.join(" "));
                    let start = if at == 0 { "" } else { ", " };
                    write!(f, "{start}{} supports {}", asked.plugin, supported.unwrap_or_default())?;
                }
                let answered = if asked.iter().all(|it| it.info.is_ok()) { "" } else { " that answered" };
                match best_common(asked) {
                    Some(best) => write!(f, "; write {best}, which all plugins{answered} support"),
                    None => write!(f, "; no version is supported by all plugins{answered}"),
                }
            }
        }
    }
}

impl Report for Validations {
    fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for (at, file) in self.files.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            text.push_str(&one(file, style));
        }
        if !self.unused.is_empty() || !self.open_dirs.is_empty() {
            text.push('\n');
        }
        for unused in &self.unused {
            let _ = writeln!(text, "{} {unused}", style.yellow("warning:"));
        }
        for dir in &self.open_dirs {
            let _ = writeln!(
                text,
                "{} everyone can write to {}, and so decide what is run as root",
                style.yellow("warning:"),
                dir.display()
            );
        }
        text
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        struct Json<'a> {
            ok: bool,
            files: Vec<FileJson<'a>>,
            skipped: Vec<SkippedJson<'a>>,
            /// Directories that everyone can write to.
            #[serde(rename = "openDirectories", skip_serializing_if = "<[PathBuf]>::is_empty")]
            open_directories: &'a [PathBuf],
        }
        pretty(&Json {
            ok: self.is_ok(),
            files: self.files.iter().map(FileJson::from).collect(),
            skipped: self.unused.iter().map(SkippedJson::from).collect(),
            open_directories: &self.open_dirs,
        })
    }
}

fn one(file: &Validated, style: Style) -> String {
    let mut heading = file.file.display().to_string();
    if let Some(network) = &file.network {
        let _ = write!(heading, ": network {network:?}");
    }
    if let Some(version) = file.version {
        let _ = write!(heading, ", version {version}");
    }
    let mut text = format!("{}\n", style.bold(&heading));
    let findings = findings(file);
    for finding in &findings {
        let _ = writeln!(text, "  {} {finding}", style.red("error:"));
        match finding {
            Finding::File(problem, Some(excerpt)) => text.push_str(&quote(problem.line, excerpt)),
            Finding::Remark(remark) => text.push_str(&quote_of(remark)),
            _ => {}
        }
    }
    for warning in warnings(file) {
        let _ = writeln!(text, "  {} {warning}", style.yellow("warning:"));
        text.push_str(&quote_of(warning));
    }
    for capability in &file.unconsumed {
        let warning = style.yellow("warning:");
        let _ = writeln!(
            text,
            "  {warning} no plugin declares the capability {capability:?}, so that its value has no effect"
        );
    }
    for note in notes(file) {
        let _ = writeln!(text, "  {} {note}", style.bold("note:"));
    }
    if findings.is_empty() {
        let plugins: Vec<_> = file.asked.iter().map(|asked| asked.plugin.as_str()).collect();
        let _ = writeln!(text, "  {} {}", style.green("ok:"), plugins.join(", "));
    }
    let best = best_line(&file.asked);
    if !best.is_empty() {
        let _ = write!(text, "  {best}");
    }
    text
}

/// What is worth knowing, and nothing bad.
enum FileNote<'a> {
    Idle(Command, &'a [PluginType]),
    /// Plugins that do not describe themselves.
    Undescribed(Vec<&'a str>),
    /// A plugin that could not even be asked to.
    Unasked(&'a str, String),
}

fn notes(file: &Validated) -> Vec<FileNote<'_>> {
    let mut notes: Vec<_> =
        file.idle.iter().map(|(command, plugins)| FileNote::Idle(*command, plugins)).collect();
    let mut undescribed = Vec::new();
    for asked in &file.asked {
        match &asked.said {
            // It may hang, or be no program of this machine; what it would say is not known.
            Some(Err(error @ DescribeError::Run(_))) => {
                notes.push(FileNote::Unasked(asked.plugin.as_str(), with_causes(error)));
            }
            Some(Err(_)) => undescribed.push(asked.plugin.as_str()),
            Some(Ok(_)) | None => {}
        }
    }
    if !undescribed.is_empty() {
        notes.push(FileNote::Undescribed(undescribed));
    }
    notes
}

impl fmt::Display for FileNote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle(command, plugins) => {
                write!(f, "{command} succeeds without action in {}", names(plugins).join(", "))
            }
            Self::Undescribed(plugins) => {
                write!(f, "only VERSION was asked of what does not describe itself: {}", plugins.join(", "))
            }
            Self::Unasked(plugin, why) => write!(f, "{plugin} is not described: {}", printable(why)),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, path, message, suggestion, .. } = self;
        write!(f, "{}:{line}:{column}: {}: {}", file.display(), printable(path), printable(message))?;
        match suggestion {
            Some(meant) => write!(f, ", did you mean \"{}\"?", printable(meant)),
            None => Ok(()),
        }
    }
}

/// The line that a remark is about.
fn quote_of(remark: &Remark) -> String {
    remark.excerpt.as_ref().map(|excerpt| quote(remark.line, excerpt)).unwrap_or_default()
}

/// A line with a mark under the place.
fn quote(number: usize, Excerpt { line, before }: &Excerpt) -> String {
    if line.chars().count() > QUOTED_LINE {
        return String::new();
    }
    let number = number.to_string();
    let margin = " ".repeat(number.len());
    format!("    {number} | {line}\n    {margin} | {}^\n", " ".repeat(*before))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileJson<'a> {
    file: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cni_version: Option<CniVersion>,
    ok: bool,
    problems: Vec<FindingJson<'a>>,
    warnings: Vec<FindingJson<'a>>,
    /// Commands for which plugins only succeed.
    no_ops: BTreeMap<String, Vec<&'a str>>,
    /// Capabilities that are offered and that no plugin declares.
    unconsumed_capabilities: &'a [String],
    plugins: Vec<AskedJson<'a>>,
    best_common_version: Option<CniVersion>,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    /// A word that programs can tell findings apart by.
    kind: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'a str>,
}

impl<'a> From<&'a Validated> for FileJson<'a> {
    fn from(validated: &'a Validated) -> Self {
        let findings = findings(validated);
        Self {
            file: &validated.file,
            network: validated.network.as_deref(),
            cni_version: validated.version,
            ok: findings.is_empty(),
            problems: findings.iter().map(FindingJson::from).collect(),
            warnings: warnings(validated).map(FindingJson::from).collect(),
            no_ops: validated
                .idle
                .iter()
                .map(|(command, plugins)| (command.to_string(), names(plugins)))
                .collect(),
            unconsumed_capabilities: &validated.unconsumed,
            plugins: validated.asked.iter().map(AskedJson::from).collect(),
            best_common_version: best_common(&validated.asked),
        }
    }
}

impl<'a> From<&Finding<'a>> for FindingJson<'a> {
    fn from(finding: &Finding<'a>) -> Self {
        let kind = match finding {
            Finding::File(problem, _) => {
                let problem = Some((*problem).into());
                return Self { kind: "file", problem, message: None, suggestion: None };
            }
            Finding::Remark(remark) => return Self::from(*remark),
            Finding::BadIpam(..) => "ipam",
            Finding::Plugin(_) => "plugin",
            Finding::UnknownVersion(_) | Finding::Versions(..) => "version",
        };
        Self { kind, problem: None, message: Some(finding.to_string()), suggestion: None }
    }
}

impl<'a> From<&'a Remark> for FindingJson<'a> {
    fn from(remark: &'a Remark) -> Self {
        let (kind, suggestion) = (remark.kind, remark.suggestion.as_deref());
        Self { kind, problem: Some(remark.into()), message: None, suggestion }
    }
}

fn names(plugins: &[PluginType]) -> Vec<&str> {
    plugins.iter().map(PluginType::as_str).collect()
}
