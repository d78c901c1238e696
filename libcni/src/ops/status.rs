//! STATUS: asks the plugins in order whether ADD could succeed.

use cni_types::Command;

use super::run::{Operation, Step};
use crate::client::Client;
use crate::error::Error;
use crate::network::Network;

impl Client {
    /// STATUS: asks whether ADD could succeed. A network below 1.1.0 cannot be asked, and counts as ready.
    ///
    /// # Errors
    ///
    /// The first failure of a plugin; the error keeps the plugin's own [code](Error::code), such as 50.
    /// [`is_not_available`](cni_types::ErrorObject::is_not_available) of the
    /// [error object](Error::error_object) tells those from others.
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#status-check-plugin-status).
    #[doc(alias = "GetStatusNetworkList")]
    pub fn status(&self, network: &Network) -> Result<(), Error> {
        let until = self.until();
        let operation = Operation::new(self, network, Command::Status, None, &until)?;
        if !Command::Status.exists_in(operation.version()) {
            return Ok(());
        }
        for position in 0..network.plugins.len() {
            operation.run(&Step { position, run_before: position, ..Step::default() })?;
        }
        Ok(())
    }
}
