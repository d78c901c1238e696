//! The spec versions that plugins support.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use libcni::Network;
use libcni::cni_types::CniVersion;
use serde::Serialize;

use super::error::with_causes;
use super::table::table;
use super::{Report, Style, pretty};
use crate::cmd::{Asked, best_common};
use crate::failure::Fault;

/// What plugins answered.
#[derive(Debug)]
pub(crate) struct Versions {
    pub(crate) groups: Vec<Group>,
}

/// Plugins that belong together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) subject: Subject,
    pub(crate) asked: Vec<Asked>,
    /// Why there are no plugins.
    pub(crate) fault: Option<Fault>,
}

/// What plugins belong to.
#[derive(Debug)]
pub(crate) enum Subject {
    Dir(PathBuf),
    Network(Box<Network>),
    /// Nothing but itself.
    Plugin,
}

impl Group {
    pub(crate) fn new(subject: Subject, asked: Vec<Asked>) -> Self {
        Self { subject, asked, fault: None }
    }

    fn heading(&self) -> Option<String> {
        match &self.subject {
            Subject::Dir(dir) => Some(dir.display().to_string()),
            Subject::Network(network) => {
                let version = match network.version() {
                    Ok(version) => version.to_string(),
                    Err(error) => error.claimed.join(" "),
                };
                let file = network.file().map(|file| format!(" ({})", file.display()));
                let name = network.name().as_str();
                Some(format!("network {name:?}, version {version}{}", file.unwrap_or_default()))
            }
            Subject::Plugin => None,
        }
    }
}

impl Report for Versions {
    fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for (at, group) in self.groups.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            if let Some(heading) = group.heading() {
                let _ = writeln!(text, "{}", style.bold(&heading));
            }
            match &group.fault {
                Some(fault) => _ = writeln!(text, "{fault}"),
                None if group.asked.is_empty() => text.push_str("no plugins\n"),
                None => text.push_str(&answers(&group.asked, style)),
            }
            if group.asked.len() > 1 {
                text.push_str(&best_line(&group.asked));
            }
        }
        text
    }

    fn json(&self) -> String {
        pretty(&self.groups.iter().map(GroupJson::from).collect::<Vec<_>>())
    }
}

/// A line a plugin: its name, what it supports, and for whom it works.
pub(super) fn answers(asked: &[Asked], style: Style) -> String {
    let rows: Vec<_> = asked
        .iter()
        .map(|asked| {
            let name = asked.plugin.as_str();
            let role = asked.ipam_of.as_ref().map(|of| format!(" (ipam of {of})"));
            let answer = match &asked.info {
                Ok(info) => info.supported_versions.join(" "),
                Err(error) => style.red(&with_causes(error)),
            };
            [format!("{name}{}", role.unwrap_or_default()), answer]
        })
        .collect();
    table(["PLUGIN", "SUPPORTS"], &rows, style)
}

/// The version to write into a configuration of these plugins.
pub(super) fn best_line(asked: &[Asked]) -> String {
    let among = if asked.iter().all(|asked| asked.info.is_ok()) { "" } else { " of those that answered" };
    match best_common(asked) {
        Some(best) => format!("best common version{among}: {best}\n"),
        None if asked.iter().any(|asked| asked.info.is_ok()) => "no version is common to all\n".to_owned(),
        None => String::new(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cni_version: Option<CniVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    plugins: Vec<AskedJson<'a>>,
    best_common_version: Option<CniVersion>,
}

impl<'a> From<&'a Group> for GroupJson<'a> {
    fn from(group: &'a Group) -> Self {
        let (dir, network) = match &group.subject {
            Subject::Dir(dir) => (Some(dir.as_path()), None),
            Subject::Network(network) => (None, Some(network)),
            Subject::Plugin => (None, None),
        };
        Self {
            dir,
            network: network.map(|network| network.name().as_str()),
            cni_version: network.and_then(|network| network.version().ok()),
            error: group.fault.as_ref().map(ToString::to_string),
            plugins: group.asked.iter().map(AskedJson::from).collect(),
            best_common_version: best_common(&group.asked),
        }
    }
}

/// A plugin and its answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AskedJson<'a> {
    #[serde(rename = "type")]
    plugin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipam_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supported_versions: Option<&'a [String]>,
    /// Whether it says what it is, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    described: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> From<&'a Asked> for AskedJson<'a> {
    fn from(asked: &'a Asked) -> Self {
        let info = asked.info.as_ref();
        Self {
            plugin: asked.plugin.as_str(),
            ipam_of: asked.ipam_of.as_ref().map(|of| of.as_str()),
            supported_versions: info.ok().map(|info| &info.supported_versions[..]),
            described: asked.said.as_ref().map(Result::is_ok),
            error: info.err().map(|error| with_causes(error)),
        }
    }
}
