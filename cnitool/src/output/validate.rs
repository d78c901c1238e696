//! What is wrong with configurations.

use std::fmt::{self, Write as _};
use std::path::Path;

use libcni::cni_types::{CniVersion, InvalidName, PluginType};
use libcni::{Problem, Skipped, UnsupportedVersion, cni_invoke};
use serde::Serialize;

use super::error::with_causes;
use super::problem::{ProblemJson, SkippedJson};
use super::version::{AskedJson, best_line};
use super::{Report, Style, pretty};
use crate::cmd::{Asked, Excerpt, Validated, best_common};

/// Longer lines are not quoted.
const QUOTED_LINE: usize = 120;

/// What validation has found out.
#[derive(Debug)]
pub(crate) struct Validations {
    pub(crate) files: Vec<Validated>,
    /// Files that are not used.
    pub(crate) unused: Vec<Skipped>,
}

impl Validations {
    /// Whether everything could be run.
    pub(crate) fn is_ok(&self) -> bool {
        self.files.iter().all(|file| findings(file).is_empty())
    }
}

/// One reason why a network could not be run.
enum Finding<'a> {
    BadIpam(&'a PluginType, &'a InvalidName),
    File(&'a Problem, Option<&'a Excerpt>),
    Plugin(&'a cni_invoke::Error),
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
    files.chain(unknown).chain(ipam).chain(missing).chain(versions).collect()
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadIpam(of, fault) => write!(f, "ipam of plugin {:?}: {fault}", of.as_str()),
            Self::File(problem, _) => problem.fmt(f),
            Self::Plugin(error) => f.write_str(&with_causes(*error)),
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
        if !self.unused.is_empty() {
            text.push('\n');
        }
        for unused in &self.unused {
            let _ = writeln!(text, "{} {unused}", style.yellow("warning:"));
        }
        text
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        struct Json<'a> {
            ok: bool,
            files: Vec<FileJson<'a>>,
            skipped: Vec<SkippedJson<'a>>,
        }
        pretty(&Json {
            ok: self.is_ok(),
            files: self.files.iter().map(FileJson::from).collect(),
            skipped: self.unused.iter().map(SkippedJson::from).collect(),
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
        if let Finding::File(problem, Some(excerpt)) = finding {
            text.push_str(&quote(problem.line, excerpt));
        }
    }
    for capability in &file.unconsumed {
        let warning = style.yellow("warning:");
        let _ = writeln!(
            text,
            "  {warning} no plugin declares the capability {capability:?}, so that its value has no effect"
        );
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
                return Self { kind: "file", problem: Some((*problem).into()), message: None };
            }
            Finding::BadIpam(..) => "ipam",
            Finding::Plugin(_) => "plugin",
            Finding::UnknownVersion(_) | Finding::Versions(..) => "version",
        };
        Self { kind, problem: None, message: Some(finding.to_string()) }
    }
}
