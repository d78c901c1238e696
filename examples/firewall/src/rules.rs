//! What rules are to do, whichever backend makes them.

use std::collections::HashSet;
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
    /// Those that others have.
    pub(crate) kept: HashSet<IpAddr>,
    /// Bridges, and what nobody asks for any more that is known.
    pub(crate) bridges: Vec<(String, IngressPolicy)>,
}

impl Removal {
    /// Whether nothing goes.
    pub(crate) fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.bridges.is_empty()
    }

    /// The bridges that go. Containers of which there is no record may be on any that there is: then it stays.
    pub(crate) fn bridges_that_go(
        &self,
        mut let_through: impl Iterator<Item = IpAddr>,
        is_gone: impl Fn(&str) -> bool,
    ) -> Vec<(&str, IngressPolicy)> {
        if self.bridges.is_empty() {
            return Vec::new();
        }
        let known: HashSet<_> = self.addresses.iter().chain(&self.kept).collect();
        let has_stranger = let_through.any(|address| !known.contains(&address));
        let bridges = self.bridges.iter().map(|(bridge, policy)| (bridge.as_str(), *policy));
        bridges.filter(|(bridge, _)| !has_stranger || is_gone(bridge)).collect()
    }
}

/// The network of one address.
pub(crate) fn host_network(address: IpAddr) -> String {
    format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 })
}
