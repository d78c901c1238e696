//! CHECK: the plugins in order, each given the result of ADD.

use cni_types::{CniVersion, Command, VersionedResult};

use super::run::{Operation, Step};
use crate::attachment::RuntimeConf;
use crate::cache::{CachedResult, identity};
use crate::client::Client;
use crate::error::Error;
use crate::network::Network;

impl Client {
    /// CHECK: verifies that what ADD made is still there. Does nothing if the network's `disableCheck` is set.
    ///
    /// The first plugin that fails ends it.
    ///
    /// # Errors
    ///
    /// When the configuration's version is below 0.4.0 (code 1), there is no good cached result of ADD, another operation is
    /// in the way until the bound, or a plugin fails; the error keeps the plugin's own [code](Error::code).
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#checking-an-attachment).
    #[doc(alias = "CheckNetworkList")]
    #[doc(alias = "CheckNetwork")]
    pub fn check(&self, network: &Network, rt: &RuntimeConf) -> Result<(), Error> {
        if network.disable_check {
            return Ok(());
        }
        let until = self.until();
        let operation = Operation::new(self, network, Command::Check, Some(rt), &until)?;
        if !Command::Check.exists_in(operation.version()) {
            let version = operation.version.map(|version| version.to_string()).unwrap_or_default();
            return Err(Error::CheckNotSupported { network: network.name.to_string(), version });
        }
        let _turn = operation.try_lock(rt)?;
        let prev_result = self.good_result(network, rt, operation.version())?;
        for position in 0..network.plugins.len() {
            operation.run(&Step {
                position,
                run_before: position,
                prev_result: Some(&prev_result),
                valid_attachments: None,
            })?;
        }
        Ok(())
    }

    /// The cached result in a version, or why there is none.
    fn good_result(
        &self,
        network: &Network,
        rt: &RuntimeConf,
        version: CniVersion,
    ) -> Result<VersionedResult, Error> {
        let why = match self.shared.cache.result(identity(network, rt)) {
            CachedResult::Good(result) => match result.convert(version) {
                Ok(result) => return Ok(result),
                Err(error) => error.to_string(),
            },
            CachedResult::None { other: None } => {
                format!("there is none in {}", self.shared.cache.results().display())
            }
            CachedResult::None { other: Some(file) } => format!("{} is another attachment's", file.display()),
            CachedResult::Bad { file, why } => format!("cannot use {}: {why}", file.display()),
        };
        Err(Error::NotCached {
            network: network.name.to_string(),
            container_id: rt.container_id().to_string(),
            ifname: rt.ifname().to_string(),
            why,
        })
    }
}
