//! Validation: whether a network could be run here, without running it. Every plugin is asked for its versions.

use std::collections::BTreeSet;
use std::fmt;

use cni_types::{CniVersion, ErrorCode, ExtraKeys, PluginInfo, PluginType};

use crate::client::Client;
use crate::network::{Network, UnsupportedVersion};

/// What validation found out about a network.
#[derive(Debug)]
#[non_exhaustive]
pub struct Validation {
    /// The network's name.
    pub network: String,
    /// The version in which the plugins would be called.
    pub version: Result<CniVersion, UnsupportedVersion>,
    /// Each plugin's answer, in the order of the list.
    pub plugins: Vec<PluginReport>,
    /// The capabilities that any plugin declares.
    pub capabilities: BTreeSet<String>,
}

/// What validation found out about one plugin.
#[derive(Debug)]
#[non_exhaustive]
pub struct PluginReport {
    /// The plugin's type.
    pub plugin: PluginType,
    /// What it answered to VERSION, or why it did not.
    pub info: Result<PluginInfo, cni_invoke::Error>,
}

/// A reason why a network could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ValidationProblem<'a> {
    /// A plugin is not there, or does not answer.
    Plugin(&'a cni_invoke::Error),
    /// The configuration is only for spec versions that this library does not know.
    Version(&'a UnsupportedVersion),
    /// Plugins do not support the configuration's version. One problem, however many they are.
    VersionOfPlugins {
        /// The configuration's version.
        version: CniVersion,
        /// The plugins that do not support it, and the versions that each supports.
        plugins: Vec<(&'a PluginType, &'a [String])>,
        /// The newest version that all plugins of the list support, if there is one.
        best: Option<CniVersion>,
    },
}

impl Client {
    /// Asks each plugin of a network for its versions, and says whether the network could be run. No attachment is touched.
    ///
    /// This is also how one gets the versions that the plugins of a network have in common.
    #[doc(alias = "ValidateNetworkList")]
    #[doc(alias = "ValidateNetwork")]
    pub fn validate(&self, network: &Network) -> Validation {
        let until = self.until();
        let plugins = network.plugins.iter().enumerate().map(|(position, plugin)| {
            let name = Some(network.name.as_str());
            let info = self.ask_version(&plugin.plugin_type, name, position, network.plugins.len(), &until);
            PluginReport { plugin: plugin.plugin_type.clone(), info }
        });
        let declared = network.plugins.iter().flat_map(|plugin| plugin.config().wanted_capabilities());
        Validation {
            network: network.name.to_string(),
            version: network.version(),
            plugins: plugins.collect(),
            capabilities: declared.map(str::to_owned).collect(),
        }
    }
}

impl Validation {
    /// Everything that keeps the network from being run.
    pub fn problems(&self) -> Vec<ValidationProblem<'_>> {
        let mut problems: Vec<_> =
            self.version.as_ref().err().map(ValidationProblem::Version).into_iter().collect();
        problems.extend(
            self.plugins
                .iter()
                .filter_map(|plugin| plugin.info.as_ref().err())
                .map(ValidationProblem::Plugin),
        );
        let Ok(version) = self.version else { return problems };
        let answered =
            self.plugins.iter().filter_map(|report| Some((&report.plugin, report.info.as_ref().ok()?)));
        let unfit: Vec<_> = answered
            .filter(|(_, info)| !info.supports(version))
            .map(|(plugin, info)| (plugin, info.supported_versions.as_slice()))
            .collect();
        if !unfit.is_empty() {
            let best = self.best_version();
            problems.push(ValidationProblem::VersionOfPlugins { version, plugins: unfit, best });
        }
        problems
    }

    /// Whether nothing keeps the network from being run.
    pub fn is_ok(&self) -> bool {
        self.problems().is_empty()
    }

    /// The newest version that every plugin which answered supports; `None` if there is none, or none answered.
    pub fn best_version(&self) -> Option<CniVersion> {
        let mut answered = self.plugins.iter().filter_map(|report| report.info.as_ref().ok()).peekable();
        answered.peek()?;
        let answered: Vec<_> = answered.collect();
        CniVersion::ALL.into_iter().rev().find(|version| answered.iter().all(|info| info.supports(*version)))
    }

    /// The capabilities that a runtime offers and no plugin declares, so that they would have no effect.
    pub fn unconsumed<'a>(&self, capability_args: &'a ExtraKeys) -> Vec<&'a str> {
        capability_args.iter().map(|(key, _)| key).filter(|key| !self.capabilities.contains(*key)).collect()
    }
}

impl ValidationProblem<'_> {
    /// The CNI code that the problem would have as an error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Plugin(error) => error.code(),
            Self::Version(_) | Self::VersionOfPlugins { .. } => ErrorCode::INCOMPATIBLE_CNI_VERSION,
        }
    }
}

impl fmt::Display for ValidationProblem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(error) => f.write_str(&crate::error::with_causes(error)),
            Self::Version(error) => error.fmt(f),
            Self::VersionOfPlugins { version, plugins, best } => {
                for (at, (plugin, supported)) in plugins.iter().enumerate() {
                    let start = if at == 0 { "" } else { ", " };
                    let plugin = plugin.as_str();
                    write!(f, "{start}plugin {plugin:?} supports {}", supported.join(" "))?;
                }
                write!(f, ", but the configuration version is {version:?}", version = version.as_str())?;
                match best {
                    Some(best) => write!(f, "; all plugins support {best}"),
                    None => f.write_str("; no version is supported by all plugins"),
                }
            }
        }
    }
}
