//! What the backends have in common: the same verbs, for all families of an attachment.

use std::net::IpAddr;

use cni_skel::{Error, Result, ResultExt};
use plugin_support::firewall::probe::Backend;
use plugin_support::firewall::{Family, Tools};

use crate::rules::{Claim, Forwarding, Owner, Removal};
use crate::{iptables, nft};

/// Both families, for when it is not known which are meant.
pub(crate) const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

/// A way to program the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Firewall<'a> {
    pub(crate) backend: Backend,
    pub(crate) tools: &'a dyn Tools,
}

/// The UDP ports of a family that lead nowhere now.
pub(crate) type Ports = (Family, Vec<u16>);

impl Firewall<'_> {
    /// Sets up the rules of an attachment. When that fails, those of one family may be there.
    pub(crate) fn add(
        &self,
        owner: &Owner,
        forwardings: &[Forwarding],
        others: &[IpAddr],
        refuse: impl Fn(&Forwarding, &[Claim]) -> Result<()>,
    ) -> Result<()> {
        match self.backend {
            Backend::Iptables => {
                for forwarding in forwardings {
                    let refuse = |claims: &[Claim]| refuse(forwarding, claims);
                    iptables::add(self.tools, owner, forwarding, others, refuse)
                        .context("unable to setup DNAT")?;
                }
                Ok(())
            }
            Backend::Nftables => nft::add(self.tools, owner, forwardings, refuse)
                .context("unable to set up nftables rules for port mappings"),
        }
    }

    /// Verifies that all rules are there.
    pub(crate) fn check(&self, owner: &Owner, forwardings: &[Forwarding]) -> Result<()> {
        for forwarding in forwardings {
            match (self.backend, forwarding.family) {
                (Backend::Iptables, family) => {
                    let context = match family {
                        Family::V4 => "could not check ipv4 dnat",
                        Family::V6 => "could not check ipv6 dnat",
                    };
                    iptables::check(self.tools, owner, forwarding).context(context)?;
                }
                (Backend::Nftables, _) => nft::check(self.tools, owner, forwarding)?,
            }
        }
        Ok(())
    }

    /// Removes rules. A family that fails does not stop the other.
    pub(crate) fn remove(&self, families: &[Family], removals: &[Removal]) -> Result<Vec<Ports>> {
        match self.backend {
            Backend::Iptables => {
                let one = |family: &Family| {
                    let context = match family {
                        Family::V4 => "could not teardown ipv4 dnat",
                        Family::V6 => "could not teardown ipv6 dnat",
                    };
                    iptables::remove(self.tools, *family, removals)
                        .map(|ports| (*family, ports))
                        .context(context)
                };
                all(families.iter().map(one))
            }
            Backend::Nftables if families.is_empty() => Ok(Vec::new()),
            Backend::Nftables => {
                nft::remove(self.tools, families, removals).context("error deleting nftables rules")
            }
        }
    }
}

/// The backend for when none is asked for: iptables if it can read its tables of these families, else nftables if that
/// works. Go's plugin asks no more than whether there is an `iptables`, which may be one that refuses tables that
/// someone has put rules of nftables in.
///
/// # Errors
///
/// When neither works; the text says why not.
pub(crate) fn choose(tools: &dyn Tools, families: &[Family]) -> plugin_support::Result<Backend> {
    let Err(of_iptables) = families.iter().try_for_each(|family| iptables::works(tools, *family)) else {
        return Ok(Backend::Iptables);
    };
    let Err(of_nftables) = Backend::Nftables.check(tools) else { return Ok(Backend::Nftables) };
    let [of_iptables, of_nftables] =
        [of_iptables, of_nftables].map(|error| Error::from(error).to_object().msg);
    Err(plugin_support::Error::NoBackend {
        probed: format!("iptables: {of_iptables}; nftables: {of_nftables}"),
    })
}

/// All results, or all errors as one.
pub(crate) fn all<T>(results: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(error) => bad.push(error),
        }
    }
    match Error::all(bad) {
        None => Ok(good),
        Some(error) => Err(error),
    }
}

/// Whether the program is not installed, so that it cannot have made anything here.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(plugin_support::Error::ToolMissing { .. }))
}
