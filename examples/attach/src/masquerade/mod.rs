//! Masquerade: what leaves a container's network gets the address of the host. Which backend, and for whom.

mod iptables;
mod nft;

use std::net::IpAddr;

use cni_skel::types::config::Attachment;
use cni_skel::{Cidr, Error, ErrorCode, Result, ResultExt};
use plugin_support::firewall::probe::Backend;
use plugin_support::firewall::{Family, Tools};

use crate::owner::Owner;
use crate::undo::warn;

/// The key of the configuration that asks for it.
pub const IP_MASQ: &str = "ipMasq";

/// Both, IPv4 first.
const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

/// How addresses are masqueraded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masquerade {
    /// The backend that is asked for; `None` to choose one that works.
    pub backend: Option<Backend>,
}

impl Masquerade {
    /// What the keys `ipMasq` and `ipMasqBackend` say; `None` if nothing is to be masqueraded.
    ///
    /// # Errors
    ///
    /// When there is no such backend. Code 7.
    pub fn new(on: Option<bool>, backend: Option<&str>) -> Result<Option<Self>> {
        if !on.unwrap_or_default() {
            return Ok(None);
        }
        let backend = match backend {
            None => None,
            Some("iptables") => Some(Backend::Iptables),
            Some("nftables") => Some(Backend::Nftables),
            Some(other) => {
                return Err(Error::new(
                    ErrorCode::INVALID_NETWORK_CONFIG,
                    format!(
                        "unknown ipmasq backend {other:?}: ipMasqBackend must be \"iptables\" or \"nftables\""
                    ),
                ));
            }
        };
        Ok(Some(Self { backend }))
    }

    /// The same as far as that can be told, for DEL and GC, which look for rules of every backend anyway.
    pub fn as_far_as_told(on: Option<bool>, backend: Option<&str>) -> Option<Self> {
        on.unwrap_or_default().then(|| Self::new(on, backend).ok().flatten().unwrap_or_default())
    }

    /// Whether it is possible here.
    ///
    /// # Errors
    ///
    /// When the program is missing or does not work. Code 50.
    pub fn status(self, tools: &dyn Tools) -> Result<()> {
        let usable = match self.backend {
            Some(backend) => backend.check(tools),
            None => Backend::detect(tools).map(drop),
        };
        usable.context("ipMasq is not possible").code(ErrorCode::PLUGIN_NOT_AVAILABLE)
    }
}

/// What is known of an attachment whose rules are to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its addresses; `None` if they are not known.
    pub addresses: Option<Vec<IpAddr>>,
    /// Addresses that are the container's still, on other interfaces.
    pub alive: Vec<IpAddr>,
}

/// The rules of an attachment.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// What runs programs.
    pub tools: &'a dyn Tools,
    /// Whose rules they are.
    pub owner: &'a Owner,
    /// How it is done.
    pub settings: Masquerade,
}

impl Rules<'_> {
    /// Makes them, all or nothing.
    ///
    /// # Errors
    ///
    /// When a program is missing or refuses.
    pub fn add(&self, addresses: &[Cidr]) -> Result<()> {
        match self.settings.backend {
            Some(backend) => self.add_by(backend, addresses),
            // Whether iptables works is best told by using it.
            None => self.add_by(Backend::Iptables, addresses).or_else(|error| {
                let nothing_else = Backend::Iptables.check(self.tools).is_ok()
                    || Backend::Nftables.check(self.tools).is_err();
                if nothing_else { Err(error) } else { self.add_by(Backend::Nftables, addresses) }
            }),
        }
    }

    /// Removes them, whichever backend has made them.
    ///
    /// # Errors
    ///
    /// When some may be left.
    pub fn remove(&self, known: &Known) -> Result<()> {
        let addresses = known.addresses.as_deref();
        let has = |family| addresses.is_none_or(|list| list.iter().any(|ip| family_of(*ip) == family));
        let by_iptables = FAMILIES
            .into_iter()
            .filter(|family| has(*family))
            .map(|family| iptables::remove(self.tools, self.owner, family, known));
        let by_iptables = all(by_iptables, addresses.is_none());
        let by_nft = nft::remove(self.tools, self.owner);
        let mut found = false;
        let mut failures = Vec::new();
        for (backend, removed) in [(Backend::Iptables, by_iptables), (Backend::Nftables, by_nft)] {
            match removed {
                Ok(any) => found |= any,
                Err(error) => failures.push((backend, error)),
            }
        }
        // What was not found where it works is not what was used where it does not.
        self.report(failures, |backend| match self.settings.backend {
            Some(wanted) => backend == wanted,
            None => !found,
        })
    }

    /// Verifies that they are there.
    ///
    /// # Errors
    ///
    /// When one is not.
    pub fn check(&self, addresses: &[Cidr]) -> Result<()> {
        match self.settings.backend {
            Some(backend) => self.check_by(backend, addresses),
            None => self
                .check_by(Backend::Iptables, addresses)
                .or_else(|error| self.check_by(Backend::Nftables, addresses).map_err(|_| error)),
        }
    }

    fn add_by(&self, backend: Backend, addresses: &[Cidr]) -> Result<()> {
        match backend {
            Backend::Iptables => self.add_by_iptables(addresses),
            Backend::Nftables => nft::add(self.tools, self.owner, addresses),
        }
        .with_context(|| format!("failed to set up masquerade by {backend}"))
    }

    fn add_by_iptables(&self, addresses: &[Cidr]) -> Result<()> {
        let mut done = Vec::new();
        for (family, of_family) in by_family(addresses) {
            let added = iptables::add(self.tools, self.owner, family, &of_family);
            if let (Err(_), [(done, known)]) = (&added, done.as_slice())
                && let Err(error) = iptables::remove(self.tools, self.owner, *done, known)
            {
                warn(&format!("masquerade of {known:?} is left behind: {}", error.to_object().msg));
            }
            added?;
            let addresses = Some(of_family.iter().map(Cidr::address).collect());
            done.push((family, Known { addresses, ..Known::default() }));
        }
        Ok(())
    }

    fn check_by(&self, backend: Backend, addresses: &[Cidr]) -> Result<()> {
        match backend {
            Backend::Nftables => nft::check(self.tools, self.owner, addresses),
            Backend::Iptables => by_family(addresses).into_iter().try_for_each(|(family, addresses)| {
                iptables::check(self.tools, self.owner, family, &addresses)
            }),
        }
    }

    fn report(&self, failures: Vec<(Backend, Error)>, matters: impl Fn(Backend) -> bool) -> Result<()> {
        // A program that is not there cannot remove anything, nor can it ever: that must not keep a container.
        let (missing, failures): (Vec<_>, Vec<_>) = failures
            .into_iter()
            .filter(|(backend, _)| matters(*backend))
            .partition(|(_, error)| is_missing(error));
        if let (Some((backend, error)), Some(_)) = (missing.first(), self.settings.backend) {
            warn(&format!("masquerade by {backend} cannot be removed: {}", error.to_object().msg));
        }
        let context = |(backend, error): (Backend, Error)| {
            error.context(format!("failed to tear down masquerade by {backend}"))
        };
        Error::all(failures.into_iter().map(context)).map_or(Ok(()), Err)
    }
}

/// Removes the rules of a network's attachments that are not valid, by whichever backend, and whether or not the
/// configuration asks for masquerade still: `is_wanted`. If not, there may well be none, and to look in vain is no error.
///
/// # Errors
///
/// When some may be left.
pub fn collect(tools: &dyn Tools, network: &str, valid: &[Attachment], is_wanted: bool) -> Result<()> {
    let valid: Vec<_> = valid.iter().map(|attachment| Owner::of(network, attachment)).collect();
    let by_iptables = FAMILIES.map(|family| iptables::collect(tools, family, network, &valid).map(|()| true));
    let results = [all(by_iptables, true).map(drop), nft::collect(tools, network, &valid)];
    // With what is not installed, nothing was made.
    let failures = results.into_iter().filter_map(Result::err).filter(|error| !is_missing(error));
    match Error::all(failures).map(|error| error.context("failed to collect masquerade rules")) {
        Some(error) if is_wanted => Err(error),
        Some(error) => {
            warn(&error.to_object().msg);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Whether any of the families had something, or why that cannot be told. If it is a guess that a family is used at all,
/// one is enough: the other may not exist here.
fn all(families: impl IntoIterator<Item = Result<bool>>, is_guess: bool) -> Result<bool> {
    let (mut worked, mut any, mut failures) = (false, false, Vec::new());
    for removed in families {
        match removed {
            Ok(found) => (worked, any) = (true, any | found),
            Err(error) => failures.push(error),
        }
    }
    if worked && is_guess {
        failures.iter().filter(|error| !is_missing(error)).for_each(|error| warn(&error.to_object().msg));
        return Ok(any);
    }
    if failures.iter().all(is_missing) {
        // The programs come in one package, and missing is not failed.
        failures.truncate(1);
    }
    Error::all(failures).map_or(Ok(any), Err)
}

/// The addresses of each family that there is, IPv4 first.
fn by_family(addresses: &[Cidr]) -> Vec<(Family, Vec<Cidr>)> {
    let of = |family| {
        let of_family = |address: &&Cidr| family_of(address.address()) == family;
        (family, addresses.iter().filter(of_family).copied().collect::<Vec<_>>())
    };
    FAMILIES.map(of).into_iter().filter(|(_, addresses)| !addresses.is_empty()).collect()
}

fn family_of(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

fn is_missing(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(plugin_support::Error::ToolMissing { .. }))
}

#[cfg(test)]
mod tests;
