//! The iptables backend: one chain for each container and network, entered from a chain that all share.
//!
//! ```text
//! PREROUTING, OUTPUT     to a local address -j CNI-HOSTPORT-DNAT
//! CNI-HOSTPORT-DNAT      a host port of the container -j CNI-DN-…
//! CNI-DN-…               [from where it would not come back -j CNI-HOSTPORT-SETMARK] -j DNAT
//! CNI-HOSTPORT-SETMARK   set the mark
//! POSTROUTING            -j CNI-HOSTPORT-MASQ
//! CNI-HOSTPORT-MASQ      marked -j MASQUERADE
//! ```
//!
//! A call reads the table, decides what to change, and changes it in one transaction. Interfaces of one container in one
//! network share its chain; their rules are told apart by the address they lead to.

mod seen;
mod words;

use std::collections::HashSet;
use std::net::IpAddr;

use cni_skel::Result;
use cni_skel::capability::Protocol;
use plugin_support::firewall::iptables::{Change, Iptables, Table};
use plugin_support::firewall::{self, Family, Tools};

use self::seen::{Entries, Entry, Group, has};
use crate::config::Mark;
use crate::names::{self, Named};
use crate::rules::{Claim, Forwarding, Owner, Removal, Source};

/// The table.
const NAT: &str = "nat";
/// The chain that all containers' chains are entered from.
const DNAT: &str = "CNI-HOSTPORT-DNAT";
/// The chain that sets the mark.
const SETMARK: &str = "CNI-HOSTPORT-SETMARK";
/// The chain that masquerades what has it.
const MASQ: &str = "CNI-HOSTPORT-MASQ";
/// What [`DNAT`] was to source translation before release 0.7.
const OLD_SNAT: &str = "CNI-HOSTPORT-SNAT";

/// What to do, and the UDP ports that lead nowhere afterwards.
type Plan = (Change, Vec<u16>);

/// Whether the programs can read the table.
pub(crate) fn works(tools: &dyn Tools, family: Family) -> plugin_support::Result<()> {
    Iptables::new(tools, family).table(NAT).map(drop)
}

/// Sets up a container's rules, in place of what is there of it.
///
/// `others` are the addresses of its other interfaces. `refuse` may have something against the rules of other containers.
pub(crate) fn add(
    tools: &dyn Tools,
    owner: &Owner,
    forwarding: &Forwarding,
    others: &[IpAddr],
    refuse: impl Fn(&[Claim]) -> Result<()>,
) -> Result<()> {
    transact(tools, forwarding.family, |table| {
        refuse(&seen::claims(table, owner))?;
        Ok((addition(table, owner, forwarding, others), Vec::new()))
    })?;
    Ok(())
}

/// Verifies that every rule is there, shared ones included.
pub(crate) fn check(tools: &dyn Tools, owner: &Owner, forwarding: &Forwarding) -> plugin_support::Result<()> {
    let chain = names::dnat_chain(&owner.network, &owner.container_id);
    let mut change = Change::to(NAT);
    for rule in words::rules(forwarding) {
        change = change.check(&chain, rule);
    }
    for rule in words::entries(owner, forwarding) {
        change = change.check(DNAT, rule);
    }
    for chain in ["PREROUTING", "OUTPUT"] {
        change = change.check(chain, words::to_dnat());
    }
    if let Some(bit) = own_mark(forwarding) {
        change = change.check(SETMARK, words::set_mark(bit));
        change = change.check("POSTROUTING", words::to_masquerade());
        change = change.check(MASQ, words::masquerade(bit));
    }
    Iptables::new(tools, forwarding.family).commit(&change)
}

/// Removes containers' rules, and tells the UDP ports that lead nowhere now. There is one removal a container.
pub(crate) fn remove(tools: &dyn Tools, family: Family, removals: &[Removal]) -> Result<Vec<u16>> {
    let iptables = Iptables::new(tools, family);
    match iptables.table(NAT) {
        // Someone has put rules of nftables into the table since: nothing can be set up in it, but what was can go.
        Err(plugin_support::Error::Decode { .. }) => {
            let mut chains = vec![DNAT.to_owned(), OLD_SNAT.to_owned()];
            for Removal { network, container_id, .. } in removals {
                chains.push(names::dnat_chain(network, container_id));
                chains.push(names::old_snat_chain(network, container_id));
            }
            let chains: Vec<_> = chains.iter().map(String::as_str).collect();
            let (change, ports) = removal(&iptables.chains(NAT, &chains)?, removals);
            iptables.commit(&change)?;
            Ok(ports)
        }
        table => transact_on(&iptables, table?, |table| Ok(removal(table, removals))),
    }
}

/// Removes the rules of a network's containers that have no valid attachment, whoever made them, and what `removals` say.
pub(crate) fn collect(
    tools: &dyn Tools,
    family: Family,
    network: &str,
    is_valid: impl Fn(&str) -> bool,
    removals: &[Removal],
) -> Result<Vec<u16>> {
    let chain_of = |removal: &Removal| names::dnat_chain(&removal.network, &removal.container_id);
    let removed: HashSet<_> = removals.iter().map(chain_of).collect();
    transact(tools, family, |table| {
        let dead = seen::chains_of(table, network).filter(|chain| !is_valid(chain));
        let (mut change, mut ports) = removal(table, removals);
        let entries = Entries::of(table, DNAT);
        for chain in dead {
            // One that the removals are about already, or the same by another entry.
            if !removed.contains(chain) {
                change = empty(change, table, &entries, chain, |_| false, &mut ports);
            }
        }
        Ok((change, ports))
    })
}

/// Reads the table, decides, and changes it. When the table is another one by then, it begins again.
fn transact(tools: &dyn Tools, family: Family, plan: impl Fn(&Table) -> Result<Plan>) -> Result<Vec<u16>> {
    let iptables = Iptables::new(tools, family);
    transact_on(&iptables, iptables.table(NAT)?, plan)
}

/// The same on a table that was read already.
fn transact_on(
    iptables: &Iptables<'_>,
    table: Table,
    plan: impl Fn(&Table) -> Result<Plan>,
) -> Result<Vec<u16>> {
    firewall::transact(table, || iptables.table(NAT), plan, |change| iptables.commit(change))
}

/// The bit that the plugin's own chains deal with, if they are needed.
fn own_mark(forwarding: &Forwarding) -> Option<u8> {
    match forwarding.mark {
        Mark::Bit(bit) if !forwarding.masqueraded.is_empty() => Some(bit),
        _ => None,
    }
}

/// What is missing of a container's rules.
fn addition(table: &Table, owner: &Owner, forwarding: &Forwarding, others: &[IpAddr]) -> Change {
    let mut change = Change::to(NAT);
    if let Some(bit) = own_mark(forwarding) {
        let mark = words::mark(bit);
        change = with_chain(change, table, SETMARK);
        if !has(table, SETMARK, &["--set-xmark", &mark]) {
            change = change.append(SETMARK, words::set_mark(bit));
        }
        change = with_chain(change, table, MASQ);
        if !has(table, MASQ, &["--mark", &mark]) {
            change = change.append(MASQ, words::masquerade(bit));
        }
        if !has(table, "POSTROUTING", &["-j", MASQ]) {
            // First, as what masquerades a whole network would come before otherwise.
            change = change.insert("POSTROUTING", words::to_masquerade());
        }
    }
    change = with_chain(change, table, DNAT);
    for chain in ["PREROUTING", "OUTPUT"] {
        if !has(table, chain, &["-j", DNAT]) {
            change = change.append(chain, words::to_dnat());
        }
    }
    let chain = names::dnat_chain(&owner.network, &owner.container_id);
    if table.has_chain(&chain) {
        change = keep(
            change,
            table,
            &Entries::of(table, DNAT),
            &chain,
            |group| group.address().is_some_and(|address| others.contains(&address)),
            &mut Vec::new(),
        );
    } else {
        change = change.new_chain(&chain);
    }
    for rule in words::rules(forwarding) {
        change = change.append(&chain, rule);
    }
    for rule in words::entries(owner, forwarding) {
        change = change.append(DNAT, rule);
    }
    change
}

fn with_chain(change: Change, table: &Table, chain: &str) -> Change {
    if table.has_chain(chain) { change } else { change.new_chain(chain) }
}

fn removal(table: &Table, removals: &[Removal]) -> Plan {
    let (mut change, mut ports) = (Change::to(NAT), Vec::new());
    let (entries, old_entries) = (Entries::of(table, DNAT), Entries::of(table, OLD_SNAT));
    for removal in removals {
        let chain = names::dnat_chain(&removal.network, &removal.container_id);
        if table.has_chain(&chain) {
            let stays = |group: &Group<'_>| !removal.takes_from_network(group.address());
            change = empty(change, table, &entries, &chain, stays, &mut ports);
        }
        let old_chain = names::old_snat_chain(&removal.network, &removal.container_id);
        if table.has_chain(&old_chain) {
            change = empty(change, table, &old_entries, &old_chain, |_| false, &mut ports);
        }
    }
    (change, ports)
}

/// Takes rules out of a container's chain and, if none are left, the chain out of the table.
fn empty(
    change: Change,
    table: &Table,
    entries: &Entries<'_>,
    chain: &str,
    stays: impl Fn(&Group<'_>) -> bool,
    ports: &mut Vec<u16>,
) -> Change {
    let all_go = !Group::all(table, chain).iter().any(&stays);
    let change = keep(change, table, entries, chain, stays, ports);
    if all_go { change.delete_chain(chain) } else { change }
}

/// Takes rules out of a container's chain, and what leads to it for their sake out of the chain that it is entered from.
fn keep(
    mut change: Change,
    table: &Table,
    entries: &Entries<'_>,
    chain: &str,
    stays: impl Fn(&Group<'_>) -> bool,
    ports: &mut Vec<u16>,
) -> Change {
    change = change.chain(chain);
    let (staying, going): (Vec<_>, Vec<_>) =
        Group::all(table, chain).into_iter().partition(|group| stays(group));
    for rule in staying.iter().flat_map(|group| group.rules) {
        change = change.append(chain, rule.clone());
    }
    let is_needed =
        |entry: &Entry<'_>| staying.iter().filter_map(|group| group.dnat).any(|dnat| entry.covers(&dnat));
    for entry in entries.to(chain).iter().filter(|entry| !is_needed(entry)) {
        change = change.delete(entries.from, entry.rule.to_vec());
    }
    let udp = going.iter().filter_map(|group| group.dnat).filter(|dnat| dnat.protocol == Protocol::Udp);
    ports.extend(udp.map(|dnat| dnat.host_port));
    change
}

#[cfg(test)]
mod tests;
