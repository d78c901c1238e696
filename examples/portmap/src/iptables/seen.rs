//! Rules as `iptables-save` shows them, read for what they do. Words come in another order than they were given.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use cni_skel::capability::Protocol;
use plugin_support::firewall::iptables::{Table, value_of};

use super::{DNAT, Named, names};
use crate::rules::{Claim, Dnat, Owner};

/// Rules of a container's chain that belong together: marks, and the translation that they are for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<'t> {
    /// The rules.
    pub(super) rules: &'t [Vec<String>],
    /// The last of them; `None` if there is no translation.
    pub(super) dnat: Option<Dnat>,
}

/// A rule that leads to a container's chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'t> {
    /// The rule.
    pub(super) rule: &'t [String],
    /// The container's chain.
    pub(super) chain: &'t str,
}

/// The rules that lead to containers' chains, by those.
#[derive(Debug)]
pub(super) struct Entries<'t> {
    /// The chain that they are in.
    pub(super) from: &'static str,
    by_chain: HashMap<&'t str, Vec<Entry<'t>>>,
}

impl<'t> Group<'t> {
    /// The groups of a chain, in order.
    pub(super) fn all(table: &'t Table, chain: &str) -> Vec<Self> {
        let mut groups = Vec::new();
        let mut rest = table.rules(chain);
        while !rest.is_empty() {
            let end = rest
                .iter()
                .position(|rule| value_of(rule, "-j") == Some("DNAT"))
                .map_or(rest.len(), |at| at + 1);
            let (rules, left) = rest.split_at(end);
            groups.push(Self { rules, dnat: rules.last().and_then(|rule| dnat(rule)) });
            rest = left;
        }
        groups
    }

    /// The address that this leads to.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.dnat.map(|dnat| dnat.to.ip())
    }
}

impl<'t> Entry<'t> {
    /// The entries of a chain to containers' chains, in order.
    fn all(table: &'t Table, entered_from: &str) -> impl Iterator<Item = Self> {
        let rules = table.rules(entered_from).iter();
        rules.filter_map(|rule| value_of(rule, "-j").map(|chain| Self { rule, chain }))
    }

    /// Whether connections that the translation is for come in here.
    pub(super) fn covers(&self, dnat: &Dnat) -> bool {
        let ports =
            value_of(self.rule, "--dports").or_else(|| value_of(self.rule, "--dport")).unwrap_or_default();
        let port = dnat.host_port.to_string();
        value_of(self.rule, "-p") == Some(dnat.protocol.as_str())
            && ports.split(',').any(|found| found == port)
    }

    /// Whose chain it is.
    fn named(&self) -> Option<Named<'t>> {
        Named::of(value_of(self.rule, "--comment")?)
    }

    /// Whether the rule has other words than those that every such rule has.
    fn is_conditional(&self) -> bool {
        self.rule.chunks(2).any(|pair| match pair {
            [option, value] => match option.as_str() {
                "-p" | "--comment" | "--dports" | "-j" => false,
                "-m" => !["comment", "multiport"].contains(&value.as_str()),
                _ => true,
            },
            _ => true,
        })
    }
}

impl<'t> Entries<'t> {
    /// Those of a chain.
    pub(super) fn of(table: &'t Table, from: &'static str) -> Self {
        let mut by_chain: HashMap<_, Vec<_>> = HashMap::new();
        for entry in Entry::all(table, from) {
            by_chain.entry(entry.chain).or_default().push(entry);
        }
        Self { from, by_chain }
    }

    /// Those that lead to a container's chain, in order.
    pub(super) fn to(&self, chain: &str) -> &[Entry<'t>] {
        self.by_chain.get(chain).map_or(&[], Vec::as_slice)
    }
}

/// Whether a chain has a rule with these words next to each other. What is before and after them is not looked at:
/// programs of other versions may write it otherwise, and an administrator may have added to it.
pub(super) fn has(table: &Table, chain: &str, words: &[&str]) -> bool {
    table.rules(chain).iter().any(|rule| rule.windows(words.len()).any(|part| part == words))
}

/// The chains of a network's containers, as far as their entries tell, each once.
pub(super) fn chains_of<'t>(table: &'t Table, network: &'t str) -> impl Iterator<Item = &'t str> {
    let entries = Entry::all(table, DNAT).filter(move |entry| {
        entry.chain.starts_with(names::DNAT_PREFIX)
            && entry.named().is_some_and(|named| named.network == network)
    });
    let mut known = HashSet::new();
    entries.map(|entry| entry.chain).filter(move |chain| known.insert(*chain))
}

/// What other containers have.
pub(super) fn claims(table: &Table, owner: &Owner) -> Vec<Claim> {
    let mut claims = Vec::new();
    for entry in Entry::all(table, DNAT) {
        let Some(named) = entry.named().filter(|named| !named.is(&owner.container_id)) else { continue };
        for dnat in Group::all(table, entry.chain).iter().filter_map(|group| group.dnat) {
            if entry.covers(&dnat) {
                claims.push(Claim {
                    dnat,
                    container_id: named.container_id.to_owned(),
                    network: Some(named.network.to_owned()),
                    conditional: entry.is_conditional(),
                });
            }
        }
    }
    claims
}

/// The translation of a rule.
fn dnat(rule: &[String]) -> Option<Dnat> {
    let protocol = match value_of(rule, "-p")? {
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        "sctp" => Protocol::Sctp,
        _ => return None,
    };
    let host_ip = match value_of(rule, "-d") {
        Some(address) => Some(address.split('/').next()?.parse().ok()?),
        None => None,
    };
    let to: SocketAddr = value_of(rule, "--to-destination")?.parse().ok()?;
    Some(Dnat { protocol, host_port: value_of(rule, "--dport")?.parse().ok()?, host_ip, to })
}
