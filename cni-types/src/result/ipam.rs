//! What an IPAM plugin answers: addresses without interfaces.

use super::{AddResult, IpConfig};
use crate::{Dns, Route};

/// The abbreviated result of a delegated IPAM plugin: no interfaces, and no owners of addresses.
///
/// ```
/// use cni_types::result::{AddResult, IpConfig, IpamResult};
/// let mut answer = AddResult::default();
/// answer.ips.push(IpConfig::new("10.1.0.5/16".parse()?));
/// let ipam = IpamResult::from(answer);
/// assert_eq!(ipam.ips.len(), 1);
/// # Ok::<(), cni_types::InvalidCidr>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#delegated-plugins-ipam).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IpamResult {
    /// The addresses.
    pub ips: Vec<IpConfig>,
    /// The routes.
    pub routes: Vec<Route>,
    /// Name resolution.
    pub dns: Dns,
}

impl From<AddResult> for IpamResult {
    /// Takes what an IPAM plugin may say; interfaces, and the indexes into them, are left behind.
    fn from(result: AddResult) -> Self {
        let ips = result.ips.into_iter().map(|ip| IpConfig { interface: None, ..ip }).collect();
        Self { ips, routes: result.routes, dns: result.dns }
    }
}

impl From<IpamResult> for AddResult {
    fn from(ipam: IpamResult) -> Self {
        Self { ips: ipam.ips, routes: ipam.routes, dns: ipam.dns, ..Self::default() }
    }
}
