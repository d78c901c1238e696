//! VERSION: asks one plugin which spec versions it supports.

use cni_invoke::{Error, Parameters, Request, Until, version_config};
use cni_types::{CniVersion, Command, PluginInfo, PluginType};

use crate::client::Client;
use crate::observe::{PluginRun, Watch};

impl Client {
    /// VERSION: asks a plugin which spec versions it supports. One from before the command existed supports 0.1.0.
    ///
    /// # Errors
    ///
    /// When it is not found, cannot be run, fails, or answers with something else.
    #[doc(alias = "GetVersionInfo")]
    pub fn version_info(&self, plugin: &PluginType) -> Result<PluginInfo, Error> {
        self.ask_version(plugin, None, 0, 1, &self.until())
    }

    /// VERSION of a plugin of a network.
    pub(super) fn ask_version(
        &self,
        plugin: &PluginType,
        network: Option<&str>,
        position: usize,
        plugins: usize,
        until: &Until,
    ) -> Result<PluginInfo, Error> {
        let environment = Parameters::default().environment(self.shared.environment.clone());
        let config = version_config(CniVersion::NEWEST);
        let request =
            Request::new(plugin, &environment, &config).search(&self.shared.search_path).until(until);
        let Some(observer) = &self.shared.observer else {
            return cni_invoke::version(&*self.shared.exec, &request);
        };
        let about = PluginRun {
            network,
            plugin,
            position,
            plugins,
            command: Command::Version,
            program: None,
            environment: &environment,
            stdin: &config,
        };
        let watch = Watch::new(&*self.shared.exec, &**observer, about);
        let answer = cni_invoke::version(&watch, &request);
        watch.finish(answer.as_ref().err(), None, None);
        answer
    }
}
