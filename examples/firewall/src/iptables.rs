//! The iptables backend: which rules, in Go's words, and what to change of those that there are.
//!
//! ```text
//! FORWARD                  -j CNI-ISOLATION-STAGE-1, if containers are kept apart
//!                          -j CNI-FORWARD
//! CNI-FORWARD              -j CNI-ADMIN, which is the administrator's
//!                          an address of a container: to it if related or established, from it all -j ACCEPT
//! CNI-ISOLATION-STAGE-1    [bridge to itself -j DROP] bridge to elsewhere -j CNI-ISOLATION-STAGE-2
//! CNI-ISOLATION-STAGE-2    to a bridge -j DROP
//! ```
//!
//! A call reads the table, decides what to change, and changes it in one transaction. Rules bear no container's name, as
//! Go's plugin deletes them only if they are its own to the letter.

use std::net::IpAddr;

use cni_skel::{Error, Result};
use plugin_support::firewall::iptables::{Change, Iptables, Table, value_of};
use plugin_support::firewall::{Family, Tools, transact};

use crate::config::IngressPolicy;
use crate::rules::{Removal, Wanted, host_network};

/// Both families.
const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

const FILTER: &str = "filter";
const FORWARD: &str = "FORWARD";
const CNI_FORWARD: &str = "CNI-FORWARD";
const STAGE_1: &str = "CNI-ISOLATION-STAGE-1";
const STAGE_2: &str = "CNI-ISOLATION-STAGE-2";

type Rule = Vec<String>;

/// Makes what is missing, all or nothing in each family.
///
/// # Errors
///
/// When a program is missing or refuses; then one family may be there.
pub(crate) fn add(tools: &dyn Tools, wanted: &Wanted) -> Result<()> {
    families(&wanted.addresses).try_for_each(|family| {
        let iptables = Iptables::new(tools, family);
        change_from(&iptables, iptables.table(FILTER)?, |table| addition(table, family, wanted))
    })
}

/// Removes what there is of it. What fails in one family does not stop the other.
pub(crate) fn remove(tools: &dyn Tools, removal: &Removal, is_gone: &dyn Fn(&str) -> bool) -> Vec<Error> {
    let is_concerned =
        |family: &Family| of(*family, &removal.addresses).next().is_some() || !removal.bridges.is_empty();
    FAMILIES
        .into_iter()
        .filter(is_concerned)
        .filter_map(|family| remove_in(tools, family, removal, is_gone).err())
        .collect()
}

fn remove_in(
    tools: &dyn Tools,
    family: Family,
    removal: &Removal,
    is_gone: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let iptables = Iptables::new(tools, family);
    match iptables.table(FILTER) {
        // Somebody has put rules of nftables into the table since: nothing can be set up in it, but what was can go.
        Err(plugin_support::Error::Decode { .. }) => {
            let table = iptables.chains(FILTER, &[CNI_FORWARD, STAGE_1, STAGE_2])?;
            Ok(iptables.commit(&without(&table, family, removal, is_gone))?)
        }
        table => change_from(&iptables, table?, |table| without(table, family, removal, is_gone)),
    }
}

/// Verifies that everything is there, and where it belongs. Nothing is changed.
///
/// # Errors
///
/// When something is not, or a program is missing or fails.
pub(crate) fn check(tools: &dyn Tools, wanted: &Wanted) -> Result<()> {
    families(&wanted.addresses)
        .try_for_each(|family| missing(&Iptables::new(tools, family).table(FILTER)?, family, wanted))
}

/// Whether the programs can read the table.
///
/// # Errors
///
/// Why not.
pub(crate) fn works(tools: &dyn Tools) -> plugin_support::Result<()> {
    Iptables::new(tools, Family::V4).table(FILTER).map(drop)
}

/// Decides by a table what to change in it, anew if somebody else has changed it in between.
fn change_from(iptables: &Iptables<'_>, table: Table, plan: impl Fn(&Table) -> Change) -> Result<()> {
    transact(
        table,
        || iptables.table(FILTER),
        |table| Ok((plan(table), ())),
        |change| iptables.commit(change),
    )
}

/// What is missing.
fn addition(table: &Table, family: Family, wanted: &Wanted) -> Change {
    let mut change = Change::to(FILTER);
    let mut jump_is_new = false;
    if let Some(admin_chain) = &wanted.admin_chain {
        change = with_chain(change, table, CNI_FORWARD);
        change = with_chain(change, table, admin_chain);
        if !has(table, FORWARD, &to_forward()) {
            change = change.insert(FORWARD, to_forward());
            jump_is_new = true;
        }
        // An administrator has the first word.
        if !has(table, CNI_FORWARD, &to_admin(admin_chain)) {
            change = change.insert(CNI_FORWARD, to_admin(admin_chain));
        } else if !admin_is_first(table, admin_chain) {
            change =
                change.delete(CNI_FORWARD, to_admin(admin_chain)).insert(CNI_FORWARD, to_admin(admin_chain));
        }
        for rule in of(family, &wanted.addresses).flat_map(accepting) {
            if !has(table, CNI_FORWARD, &rule) {
                change = change.append(CNI_FORWARD, rule);
            }
        }
    }
    // What keeps containers apart comes before what lets them through, whoever put it there.
    for rule in isolating_too_late(table, jump_is_new) {
        change = change.delete(FORWARD, rule.clone()).insert(FORWARD, rule.clone());
    }
    let Some((bridge, policy)) = &wanted.isolation else { return change };
    // All chains first, as rules lead to them.
    change = with_chain(with_chain(change, table, STAGE_1), table, STAGE_2);
    for (chain, rules) in isolating(bridge, *policy) {
        // Backwards, as each is put in front of what is there.
        for rule in rules.into_iter().rev().filter(|rule| !has(table, chain, rule)) {
            let is_last = value_of(&rule, "-j") == Some("RETURN");
            change = if is_last { change.append(chain, rule) } else { change.insert(chain, rule) };
        }
    }
    change
}

/// What is there of a removal.
fn without(table: &Table, family: Family, removal: &Removal, is_gone: &dyn Fn(&str) -> bool) -> Change {
    let mut doomed: Vec<(&str, Rule)> =
        of(family, &removal.addresses).flat_map(accepting).map(|rule| (CNI_FORWARD, rule)).collect();
    let let_through = table.rules(CNI_FORWARD).iter().filter_map(address_of);
    for (bridge, policy) in removal.bridges_that_go(let_through, is_gone) {
        let of_bridge = isolating(bridge, policy).into_iter().flat_map(|(chain, rules)| {
            let names_it = |rule: &Rule| value_of(rule, "-o") == Some(bridge);
            rules.into_iter().filter(names_it).map(move |rule| (chain, rule)).collect::<Vec<_>>()
        });
        doomed.extend(of_bridge);
    }
    doomed.into_iter().fold(Change::to(FILTER), |change, (chain, rule)| {
        let times = table.rules(chain).iter().filter(|there| **there == rule).count();
        (0..times).fold(change, |change, _| change.delete(chain, rule.clone()))
    })
}

/// The first thing that is missing, as an error.
fn missing(table: &Table, family: Family, wanted: &Wanted) -> Result<()> {
    let not_found = |chain: &str, rule: &Rule| {
        let place = if chain == CNI_FORWARD { String::new() } else { format!("{chain} ") };
        Err(Error::message(format!("expected {place}rule [{}] not found", rule.join(" "))))
    };
    let mut rules = Vec::new();
    if let Some(admin_chain) = &wanted.admin_chain {
        for chain in [CNI_FORWARD, admin_chain] {
            if !table.has_chain(chain) {
                return Err(Error::message(format!("expected chain {chain} of table {FILTER} not found")));
            }
        }
        rules.push((FORWARD, to_forward()));
        rules.push((CNI_FORWARD, to_admin(admin_chain)));
        rules.extend(of(family, &wanted.addresses).flat_map(accepting).map(|rule| (CNI_FORWARD, rule)));
    }
    if let Some((bridge, policy)) = &wanted.isolation {
        for (chain, of_chain) in isolating(bridge, *policy) {
            rules.extend(of_chain.into_iter().map(|rule| (chain, rule)));
        }
    }
    if let Some((chain, rule)) = rules.iter().find(|(chain, rule)| !has(table, chain, rule)) {
        return not_found(chain, rule);
    }
    if let Some(admin_chain) = &wanted.admin_chain
        && !admin_is_first(table, admin_chain)
    {
        return Err(Error::message(format!("rules of {CNI_FORWARD} come before the chain {admin_chain}")));
    }
    if wanted.isolation.is_some() && isolating_too_late(table, false).next().is_some() {
        return Err(Error::message(format!("{CNI_FORWARD} comes before {STAGE_1} in {FORWARD}")));
    }
    Ok(())
}

/// Whether nothing but other administrators' chains comes before this one's.
fn admin_is_first(table: &Table, admin_chain: &str) -> bool {
    let to_admin = to_admin(admin_chain);
    let before = table.rules(CNI_FORWARD).iter().take_while(|rule| **rule != to_admin);
    before.into_iter().all(|rule| value_of(rule, "--comment") == Some(ADMIN))
}

/// The rules that keep containers apart only after [`CNI_FORWARD`] has let them through, last one first.
fn isolating_too_late(table: &Table, jump_is_new: bool) -> impl Iterator<Item = &Rule> {
    let rules = table.rules(FORWARD);
    let jump = if jump_is_new { Some(0) } else { rules.iter().position(|rule| *rule == to_forward()) };
    let after = rules.get(jump.unwrap_or(rules.len())..).unwrap_or_default();
    after.iter().rev().filter(|rule| value_of(rule, "-j") == Some(STAGE_1))
}

/// The families of these addresses.
fn families(addresses: &[IpAddr]) -> impl Iterator<Item = Family> {
    FAMILIES.into_iter().filter(|family| of(*family, addresses).next().is_some())
}

/// The addresses of a family.
fn of(family: Family, addresses: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    addresses.iter().copied().filter(move |address| address.is_ipv4() == (family == Family::V4))
}

fn has(table: &Table, chain: &str, rule: &Rule) -> bool {
    table.rules(chain).contains(rule)
}

fn with_chain(change: Change, table: &Table, chain: &str) -> Change {
    if table.has_chain(chain) { change } else { change.new_chain(chain) }
}

const RULES: &str = "CNI firewall plugin rules";
const ADMIN: &str = "CNI firewall plugin admin overrides";

fn to_forward() -> Rule {
    words(&["-m", "comment", "--comment", RULES, "-j", CNI_FORWARD])
}

fn to_admin(chain: &str) -> Rule {
    words(&["-m", "comment", "--comment", ADMIN, "-j", chain])
}

/// The rules of an address.
fn accepting(address: IpAddr) -> [Rule; 2] {
    let network = host_network(address);
    let answers = ["-d", &network, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT"];
    [words(&answers), words(&["-s", &network, "-j", "ACCEPT"])]
}

/// Whose traffic a rule lets through, if it is one of [`accepting`].
fn address_of(rule: &Rule) -> Option<IpAddr> {
    let address = value_of(rule, "-s")?.split_once('/')?.0.parse().ok()?;
    (accepting(address)[1] == *rule).then_some(address)
}

/// The rules that keep a bridge's containers apart, chain by chain.
fn isolating(bridge: &str, policy: IngressPolicy) -> [(&'static str, Vec<Rule>); 3] {
    let comment = format!("{RULES} (ingressPolicy: {policy})");
    let rule = |head: &[&str], target: &str| {
        let comment = ["-m", "comment", "--comment", &comment, "-j", target];
        words(&[head, &comment].concat())
    };
    let mut stage_1 = vec![rule(&["-i", bridge, "!", "-o", bridge], STAGE_2), rule(&[], "RETURN")];
    if policy == IngressPolicy::Isolated {
        stage_1.insert(0, rule(&["-i", bridge, "-o", bridge], "DROP"));
    }
    let stage_2 = vec![rule(&["-o", bridge], "DROP"), rule(&[], "RETURN")];
    [(STAGE_1, stage_1), (STAGE_2, stage_2), (FORWARD, vec![rule(&[], STAGE_1)])]
}

fn words(words: &[&str]) -> Rule {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests;
