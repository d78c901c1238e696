//! What rules are to do, whichever backend makes them.

use std::net::IpAddr;

use crate::config::IngressPolicy;

/// What there is to be for a container, of both families.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The administrator's chain, if these rules are to let traffic through.
    pub(crate) admin_chain: Option<String>,
    /// Whose traffic.
    pub(crate) addresses: Vec<IpAddr>,
    /// The bridge whose containers are kept apart, and from whom.
    pub(crate) isolation: Option<(String, IngressPolicy)>,
}

/// What is no longer to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removal {
    /// Addresses that nobody has any more.
    pub(crate) addresses: Vec<IpAddr>,
    /// Bridges that are no more.
    pub(crate) bridges: Vec<String>,
}

impl Removal {
    /// Whether nothing goes.
    pub(crate) fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.bridges.is_empty()
    }
}

/// The network of one address.
pub(crate) fn host_network(address: IpAddr) -> String {
    format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 })
}
