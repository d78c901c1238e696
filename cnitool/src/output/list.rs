//! The networks of a folder, and the files that give none.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use libcni::cni_types::NetworkName;
use libcni::{Network, Plugin, Scan};
use serde::Serialize;

use super::problem::SkippedJson;
use super::table::table;
use super::{Report, Style, pretty};

/// What a folder of configurations holds.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) scan: Scan,
    pub(crate) unread: Vec<Unread>,
}

/// A file in the drop-in folder of a network that is none of its plugins.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) file: PathBuf,
    pub(crate) network: NetworkName,
    /// Whether the network wants no drop-ins at all.
    pub(crate) only_inlined: bool,
}

impl Listing {
    /// The network that a runtime takes when nobody says which.
    fn default(&self) -> Option<&Network> {
        self.scan.networks.iter().find(|network| network.version().is_ok())
    }

    fn is_default(&self, network: &Network) -> bool {
        self.default().is_some_and(|default| default.name() == network.name())
    }

    fn plugin(&self, plugin: &Plugin) -> String {
        let name = plugin.plugin_type().as_str();
        match plugin.file() {
            None => name.to_owned(),
            Some(file) => format!("{name} ({})", self.within(file)),
        }
    }

    /// A file's path from the folder on.
    fn within(&self, file: &Path) -> String {
        file.strip_prefix(&self.scan.dir).unwrap_or(file).display().to_string()
    }
}

impl Report for Listing {
    fn text(&self, style: Style) -> String {
        let rows: Vec<_> = self
            .scan
            .networks
            .iter()
            .map(|network| {
                let plugins: Vec<_> = network.plugins().iter().map(|plugin| self.plugin(plugin)).collect();
                [
                    if self.is_default(network) { "*" } else { "" }.to_owned(),
                    network.name().to_string(),
                    network.version().map_or_else(|it| it.claimed.join(" "), |it| it.to_string()),
                    plugins.join(", "),
                    network.file().map(|file| self.within(file)).unwrap_or_default(),
                ]
            })
            .collect();
        let mut text = if rows.is_empty() {
            format!("no networks in {}\n", self.scan.dir.display())
        } else {
            table(["", "NETWORK", "VERSION", "PLUGINS", "FILE"], &rows, style)
        };
        if self.default().is_some() {
            text.push_str("\n* is the one that a runtime takes when nobody says which.\n");
        }
        let unusable = self.scan.networks.iter().filter_map(|network| {
            let why = network.version().err()?;
            Some(format!("{}: {why}", network.file()?.display()))
        });
        let skipped = self.scan.skipped.iter().flat_map(|skipped| match skipped.problems() {
            [] => vec![skipped.to_string()],
            problems => problems.iter().map(ToString::to_string).collect(),
        });
        let lines: Vec<_> =
            unusable.chain(skipped).chain(self.unread.iter().map(ToString::to_string)).collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{}", style.yellow("Not used:"));
        }
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
        text
    }

    fn json(&self) -> String {
        let skipped = self.scan.skipped.iter().map(SkippedJson::from);
        let unread = self.unread.iter().map(|it| {
            let reason = if it.only_inlined { "loadOnlyInlinedPlugins" } else { "name" };
            SkippedJson::new(&it.file, reason, Some(it.network.as_str()))
        });
        pretty(&Json {
            dir: &self.scan.dir,
            networks: self.scan.networks.iter().map(|it| NetworkJson::new(it, self.is_default(it))).collect(),
            skipped: skipped.chain(unread).collect(),
        })
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, network, only_inlined } = self;
        write!(f, "{}: not a plugin of network {:?}, ", file.display(), network.as_str())?;
        f.write_str(if *only_inlined {
            "which sets loadOnlyInlinedPlugins"
        } else {
            "its name does not end in .conf"
        })
    }
}

#[derive(Serialize)]
struct Json<'a> {
    dir: &'a Path,
    networks: Vec<NetworkJson<'a>>,
    skipped: Vec<SkippedJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NetworkJson<'a> {
    name: &'a str,
    default: bool,
    /// The version in which plugins are called.
    cni_version: Option<&'static str>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
    disable_check: bool,
    #[serde(rename = "disableGC")]
    disable_gc: bool,
    plugins: Vec<PluginJson<'a>>,
}

#[derive(Serialize)]
struct PluginJson<'a> {
    #[serde(rename = "type")]
    plugin_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipam: Option<&'a str>,
    capabilities: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
}

impl<'a> NetworkJson<'a> {
    fn new(network: &'a Network, default: bool) -> Self {
        let version = network.version();
        let plugin = |plugin: &'a Plugin| PluginJson {
            plugin_type: plugin.plugin_type().as_str(),
            ipam: plugin.config().ipam_type(),
            capabilities: plugin.config().wanted_capabilities().collect(),
            file: plugin.file(),
        };
        Self {
            name: network.name().as_str(),
            default,
            cni_version: version.as_ref().ok().map(|version| version.as_str()),
            error: version.err().map(|error| error.to_string()),
            file: network.file(),
            disable_check: network.disable_check(),
            disable_gc: network.disable_gc(),
            plugins: network.plugins().iter().map(plugin).collect(),
        }
    }
}
