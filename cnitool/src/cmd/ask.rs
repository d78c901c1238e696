//! Asks plugins for the versions that they support, and what they say of themselves: those of a chain, and those that
//! these will call in turn.

use std::path::Path;
use std::time::Duration;

use libcni::cni_invoke;
use libcni::cni_invoke::{DescribeError, find_plugin};
use libcni::cni_types::config::PluginConfig;
use libcni::cni_types::{CniVersion, PluginDescription, PluginInfo, PluginType};
use libcni::{Client, ClientBuilder, Environment, ProcessExec, SearchPath, Until};

use super::Context;

/// How long one plugin may take: it may be anything that happens to lie in the directory.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it may take to say what it is: most plugins know no such question, and end at once.
const PATIENCE_TO_DESCRIBE: Duration = Duration::from_secs(5);

/// How much a plugin may say of itself, in bytes.
const DESCRIPTION_LIMIT: usize = 1024 * 1024;

/// A plugin, and what it answered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) plugin: PluginType,
    /// The plugin of the chain whose IPAM plugin it is.
    pub(crate) ipam_of: Option<PluginType>,
    pub(crate) info: Result<PluginInfo, cni_invoke::Error>,
    /// What it says of itself, or why it does not; `None` if it was not asked.
    pub(crate) said: Option<Result<Box<PluginDescription>, DescribeError>>,
}

impl Asked {
    /// What the plugin says of itself.
    pub(crate) fn description(&self) -> Option<&PluginDescription> {
        self.said.as_ref()?.as_ref().ok().map(|description| &**description)
    }

    /// Asks the plugin what it is, if it has answered VERSION: what has not is no plugin, and what it would do when it is
    /// run, nobody knows.
    pub(super) fn and_describe(mut self, context: &Context<'_>) -> Self {
        let search_path = SearchPath::new(&context.settings.plugin_dirs);
        if self.info.is_ok()
            && let Ok(program) = find_plugin(&self.plugin, &search_path)
        {
            self.said = Some(describe(&program));
        }
        self
    }
}

/// Asks a program what it is. What it prints on stderr is left out: plugins of Go's library name themselves there.
pub(super) fn describe(program: &Path) -> Result<Box<PluginDescription>, DescribeError> {
    let exec = ProcessExec::new().with_stdout_limit(DESCRIPTION_LIMIT).with_stderr(|_| ());
    let environment = Environment::of_this_process();
    let until = Until::timeout(PATIENCE_TO_DESCRIBE);
    cni_invoke::describe(&exec, program, &environment, &until).map(Box::new)
}

/// A client for questions: a plugin that does not answer is killed with all that it started.
pub(super) fn client(context: &Context<'_>) -> Client {
    built(context.client_builder(), context)
}

/// The same for the plugins of one folder.
pub(super) fn client_in(dir: &Path, context: &Context<'_>) -> Client {
    built(context.client_builder().plugin_dirs([dir]), context)
}

fn built(builder: ClientBuilder, context: &Context<'_>) -> Client {
    builder.exec(context.exec(ProcessExec::new())).timeout(PATIENCE).build()
}

/// Asks one plugin.
pub(super) fn plugin(client: &Client, plugin: PluginType) -> Asked {
    Asked { info: client.version_info(&plugin), plugin, ipam_of: None, said: None }
}

/// Asks each plugin of a chain and their IPAM plugins, each once. Types that are no good are left out.
pub(super) fn chain<'a>(client: &Client, configs: impl IntoIterator<Item = &'a PluginConfig>) -> Vec<Asked> {
    let mut asked: Vec<Asked> = Vec::new();
    for config in configs {
        let Ok(plugin) = config.plugin_type() else { continue };
        let ipam = config.ipam_type().and_then(|ipam| PluginType::new(ipam).ok());
        let ipam = ipam.map(|ipam| (ipam, Some(plugin.clone())));
        for (plugin, ipam_of) in [(plugin, None)].into_iter().chain(ipam) {
            if !asked.iter().any(|asked| asked.plugin == plugin) {
                asked.push(Asked { ipam_of, ..self::plugin(client, plugin) });
            }
        }
    }
    asked
}

/// The newest version that all plugins which answered support; none, if none answered.
pub(crate) fn best_common(asked: &[Asked]) -> Option<CniVersion> {
    let answers: Vec<_> = asked.iter().filter_map(|asked| asked.info.as_ref().ok()).collect();
    let is_common = |version: &CniVersion| answers.iter().all(|info| info.supports(*version));
    CniVersion::ALL.into_iter().rfind(is_common).filter(|_| !answers.is_empty())
}
