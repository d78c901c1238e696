//! Gives out the addresses that the configuration or the runtime names: a drop-in for Go's plugin of that name.
//!
//! Nothing is kept, so there is nothing to give back, to collect or to lock. Where the addresses come from is decided in
//! [`config`].
//!
//! Where it leaves Go's on purpose:
//!
//! | Go | here | pinned by |
//! | --- | --- | --- |
//! | `GATEWAY=` reaches addresses of `IP=` alone | every address of its subnet | `a_gateway_by_args_reaches_every_address_of_its_subnet` |
//! | CHECK passes when an address is missing | it fails; prefix and gateway count too | `check_finds_a_missing_address` |
//! | STATUS succeeds always | a bad configuration is told | `status_looks_at_what_is_written_down` |
//! | faults of the configuration have code 999 | code 7, and 4 for `CNI_ARGS`; the texts are Go's | `c103_an_address_without_a_prefix_is_refused_and_the_reason_told` |

pub mod config;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, IpConfig, Plugin, Result,
    StatusRequest,
};

use self::config::{Args, Config, ConfigError, Runtime};

/// The static plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(
    name = "static",
    about = "gives out the addresses that the configuration or the runtime names",
    config = Config,
    runtime = Runtime,
    args = Args,
    errors(ConfigError)
)]
pub struct Static;

#[cni_skel::plugin]
impl Plugin for Static {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let ips = req.config().addresses(req.args(), req.runtime(), req.version())?;
        let mut result = AddResult::default();
        result.ips = ips;
        result.routes = req.config().routes();
        result.dns = req.config().dns();
        Ok(result)
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let reported = &req.prev_result().ips;
        for expected in req.config().addresses(req.args(), req.runtime(), req.version())? {
            if let Err(reason) = find(&expected, reported) {
                let address = expected.address.address();
                let msg =
                    format!("static: Failed to match addr {address} on interface {}: {reason}", req.ifname());
                return Err(Error::message(msg));
            }
        }
        Ok(())
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        // What a runtime will ask for is not known; what is written down must be good.
        req.config().addresses(&Args::default(), req.runtime(), req.version())?;
        Ok(())
    }
}

/// Looks for an address, with its prefix and gateway, among those that were reported.
fn find(expected: &IpConfig, reported: &[IpConfig]) -> std::result::Result<(), String> {
    let Some(found) = reported.iter().find(|found| found.address.address() == expected.address.address())
    else {
        return Err("prevResult does not have it".to_owned());
    };
    if found.address.prefix() != expected.address.prefix() {
        return Err(format!("prevResult has it as {}, expected {}", found.address, expected.address));
    }
    match (expected.gateway, found.gateway) {
        (None, _) => Ok(()),
        (Some(gateway), Some(found)) if gateway == found => Ok(()),
        (Some(gateway), Some(found)) => {
            Err(format!("prevResult has it with gateway {found}, expected {gateway}"))
        }
        (Some(gateway), None) => Err(format!("prevResult has it without a gateway, expected {gateway}")),
    }
}
