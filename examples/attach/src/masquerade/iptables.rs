//! Masquerade by `iptables`: a chain for each container, entered from POSTROUTING by each of its addresses.

use std::collections::HashSet;
use std::net::IpAddr;

use cni_skel::{Cidr, Error, Result};
use ipnetwork::IpNetwork;
use plugin_support::firewall::iptables::{Change, Iptables, Table, value_of};
use plugin_support::firewall::{Family, Tools, transact};

use super::Known;
use crate::owner::{Owner, iptables_comment_of, is_masquerade_chain};

const TABLE: &str = "nat";
const POSTROUTING: &str = "POSTROUTING";

/// The rules of an attachment, in words.
struct Wanted {
    chain: String,
    comment: String,
    /// Networks whose members are answered as they are.
    networks: Vec<String>,
    /// Who masquerades.
    sources: Vec<String>,
    multicast: &'static str,
}

/// Makes the rules of an attachment in one family, all or nothing.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(super) fn add(tools: &dyn Tools, owner: &Owner, family: Family, addresses: &[Cidr]) -> Result<()> {
    let iptables = Iptables::new(tools, family);
    let wanted = Wanted::new(owner, family, addresses);
    // Nearly always the container has no chain yet, and nothing needs to be read.
    let Err(error) = iptables.commit(&wanted.in_a_new_chain()) else { return Ok(()) };
    if matches!(error, plugin_support::Error::ToolMissing { .. }) {
        return Err(error.into());
    }
    match iptables.table(TABLE) {
        Ok(table) if table.has_chain(&wanted.chain) => change_from(&iptables, table, |table| {
            let is_there = table.has_chain(&wanted.chain);
            (if is_there { wanted.beside(table) } else { wanted.in_a_new_chain() }, ())
        }),
        _ => Err(error.into()),
    }
}

/// Removes the rules of an attachment in one family, and tells whether there were any. The chain goes with the last
/// address that leads there.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(super) fn remove(tools: &dyn Tools, owner: &Owner, family: Family, known: &Known) -> Result<bool> {
    let iptables = Iptables::new(tools, family);
    let chain = owner.masquerade_chain();
    let goes = |rule: &&Vec<String>| {
        let source = value_of(rule, "-s").and_then(|source| source.parse::<IpNetwork>().ok());
        // Old releases let the whole network in.
        let is = |ip: &IpAddr| source.is_some_and(|source| source.contains(*ip));
        match &known.addresses {
            Some(addresses) => addresses.iter().any(is),
            None => !known.alive.iter().any(is),
        }
    };
    change_from(&iptables, iptables.table(TABLE)?, |table| {
        let jumps = table.rules(POSTROUTING).iter().filter(|rule| value_of(rule, "-j") == Some(&chain));
        let (doomed, left): (Vec<_>, Vec<_>) = jumps.partition(goes);
        let mut change = doomed
            .into_iter()
            .fold(Change::to(TABLE), |change, rule| change.delete(POSTROUTING, rule.clone()));
        if left.is_empty() && table.has_chain(&chain) {
            change = change.chain(&chain).delete_chain(&chain);
        }
        let any = !change.is_empty();
        (change, any)
    })
}

/// Verifies that the rules of an attachment are there.
///
/// # Errors
///
/// When one is not, or the program is missing or fails.
pub(super) fn check(tools: &dyn Tools, owner: &Owner, family: Family, addresses: &[Cidr]) -> Result<()> {
    let table = Iptables::new(tools, family).table(TABLE)?;
    let wanted = Wanted::new(owner, family, addresses);
    match wanted.missing(&table).first() {
        None => Ok(()),
        Some((chain, rule)) => {
            let rule = rule.join(" ");
            Err(Error::message(format!("masquerade rule {rule:?} not found in chain {chain} of table nat")))
        }
    }
}

/// Removes the chains of a network's containers that have no valid attachment.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(super) fn collect(tools: &dyn Tools, family: Family, network: &str, valid: &[Owner]) -> Result<()> {
    let iptables = Iptables::new(tools, family);
    let comment = iptables_comment_of(network);
    let valid: HashSet<_> = valid.iter().map(Owner::masquerade_chain).collect();
    let is_stale = |chain: &str| is_masquerade_chain(chain) && !valid.contains(chain);
    let is_of_network =
        |rule: &Vec<String>| value_of(rule, "--comment").is_some_and(|of_rule| of_rule.starts_with(&comment));
    change_from(&iptables, iptables.table(TABLE)?, |table| {
        let mut change = Change::to(TABLE);
        let mut stale: HashSet<&str> = HashSet::new();
        for rule in table.rules(POSTROUTING).iter().filter(|rule| is_of_network(rule)) {
            if let Some(chain) = value_of(rule, "-j").filter(|chain| is_stale(chain)) {
                change = change.delete(POSTROUTING, rule.clone());
                stale.insert(chain);
            }
        }
        for (name, rules) in &table.chains {
            if is_stale(name) && (stale.contains(name.as_str()) || rules.iter().any(is_of_network)) {
                change = change.chain(name).delete_chain(name);
            }
        }
        (change, ())
    })
}

/// Decides by a table what to change in it, anew if somebody else has changed it in between: GC and DEL may be about the
/// same container.
fn change_from<T>(iptables: &Iptables<'_>, table: Table, plan: impl Fn(&Table) -> (Change, T)) -> Result<T> {
    let read = || iptables.table(TABLE);
    transact(table, read, |table| Ok(plan(table)), |change| iptables.commit(change))
}

impl Wanted {
    fn new(owner: &Owner, family: Family, addresses: &[Cidr]) -> Self {
        let mut networks: Vec<_> = addresses.iter().map(|address| address.network().to_string()).collect();
        networks.dedup();
        Self {
            chain: owner.masquerade_chain(),
            comment: owner.iptables_comment(),
            networks,
            sources: addresses.iter().map(|address| Cidr::host(address.address()).to_string()).collect(),
            multicast: match family {
                Family::V4 => "224.0.0.0/4",
                Family::V6 => "ff00::/8",
            },
        }
    }

    fn rule<const N: usize>(&self, matching: [&str; N], target: &str) -> Vec<String> {
        let comment = ["-m", "comment", "--comment", &self.comment, "-j", target];
        matching.into_iter().chain(comment).map(str::to_owned).collect()
    }

    /// Answers within the network are left alone.
    fn accept(&self, network: &str) -> Vec<String> {
        self.rule(["-d", network], "ACCEPT")
    }

    /// Everything else is masqueraded, save for multicast, whose senders must be known.
    fn masquerade(&self) -> Vec<String> {
        self.rule(["!", "-d", self.multicast], "MASQUERADE")
    }

    fn jump(&self, source: &str) -> Vec<String> {
        self.rule(["-s", source], &self.chain)
    }

    fn in_a_new_chain(&self) -> Change {
        let chain = self.chain.as_str();
        let change = Change::to(TABLE).new_chain(chain);
        let change = self.networks.iter().fold(change, |change, net| change.append(chain, self.accept(net)));
        let change = change.append(chain, self.masquerade());
        self.sources.iter().fold(change, |change, source| change.append(POSTROUTING, self.jump(source)))
    }

    /// What the container's other interfaces in the network do not have already.
    fn beside(&self, table: &Table) -> Change {
        let missing = self.missing(table).into_iter();
        missing.fold(Change::to(TABLE), |change, (chain, rule)| {
            // The exceptions come before what they are from.
            if rule.iter().any(|word| word == "ACCEPT") {
                change.insert(chain, rule)
            } else {
                change.append(chain, rule)
            }
        })
    }

    /// The rules that are not there, each with its chain.
    fn missing(&self, table: &Table) -> Vec<(&str, Vec<String>)> {
        let chain = self.chain.as_str();
        let accepts = self.networks.iter().map(|network| (chain, self.accept(network)));
        let jumps = self.sources.iter().map(|source| (POSTROUTING, self.jump(source)));
        let all = accepts.chain([(chain, self.masquerade())]).chain(jumps);
        all.filter(|(chain, rule)| !table.rules(chain).contains(rule)).collect()
    }
}
