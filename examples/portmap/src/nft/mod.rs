//! The nftables backend: a table of its own in each family, with a rule for each mapping.
//!
//! ```text
//! prerouting, output    to a local address jump hostports_all
//! hostports_all         jump hostports
//! hostports             [conditions] [ip daddr …] tcp dport … dnat to …      comment: the container
//! masquerading          [from where it would not come back] ip daddr … masquerade
//! ```
//!
//! A call reads the tables, decides what to change, and changes both in one transaction. Go's rules name the container
//! alone, not the network and the interface; so these are told apart by the address that a rule leads to.

mod script;
mod seen;

use std::net::IpAddr;
use std::slice;

use cni_skel::Result;
use cni_skel::capability::Protocol;
use plugin_support::firewall::nft::{Nft, Table};
use plugin_support::firewall::{self, Family, Tools};

use self::seen::Seen;
use crate::names;
use crate::rules::{Claim, Forwarding, Owner, Removal};

/// The table's name, in each family.
const TABLE: &str = "cni_hostport";
/// What the base chains lead to.
const ALL: &str = "hostports_all";
/// The chain of the mappings.
const HOSTPORTS: &str = "hostports";
/// Where release 1.6 had the mappings of one address.
const OLD_HOSTIP_HOSTPORTS: &str = "hostip_hostports";
/// The chain that masquerades.
const MASQUERADING: &str = "masquerading";

/// The tables of some families.
type Tables = Vec<(Family, Option<Table>)>;

/// The UDP ports of a family.
pub(crate) type Ports = (Family, Vec<u16>);

/// Sets up a container's rules in all families, in place of those that lead to the same address.
///
/// `refuse` may have something against the rules of other containers.
pub(crate) fn add(
    tools: &dyn Tools,
    owner: &Owner,
    forwardings: &[Forwarding],
    refuse: impl Fn(&Forwarding, &[Claim]) -> Result<()>,
) -> Result<()> {
    let families: Vec<_> = forwardings.iter().map(|forwarding| forwarding.family).collect();
    transact(tools, &families, |tables| {
        let mut script = String::new();
        for forwarding in forwardings {
            let table = of(tables, forwarding.family);
            refuse(forwarding, &table.map(|table| seen::claims(table, owner)).unwrap_or_default())?;
            let own = Removal {
                network: owner.network.clone(),
                container_id: owner.container_id.clone(),
                addresses: Some(vec![forwarding.container.address()]),
                others: Vec::new(),
                has_unknown: false,
            };
            for rule in table.into_iter().flat_map(|table| seen::taken(table, slice::from_ref(&own))) {
                script.push_str(&script::delete(forwarding.family, rule.chain, rule.handle));
            }
            script.push_str(&script::add(owner, forwarding, table)?);
        }
        Ok((script, ()))
    })?;
    Ok(())
}

/// Verifies that every rule is there, those that lead to them included.
pub(crate) fn check(tools: &dyn Tools, owner: &Owner, forwarding: &Forwarding) -> Result<()> {
    let table = Nft::new(tools).table(script::family(forwarding.family), TABLE)?;
    seen::check(table.as_ref(), owner, forwarding)
}

/// Removes containers' rules of these families, and tells the UDP ports that lead nowhere now.
pub(crate) fn remove(tools: &dyn Tools, families: &[Family], removals: &[Removal]) -> Result<Vec<Ports>> {
    transact(tools, families, |tables| {
        let (mut script, mut ports) = (String::new(), Vec::new());
        for (family, table) in tables {
            let Some(table) = table else { continue };
            let taken = seen::taken(table, removals);
            script.extend(taken.iter().map(|rule| script::delete(*family, rule.chain, rule.handle)));
            let udp = taken.iter().filter_map(Seen::dnat).filter(|dnat| dnat.protocol == Protocol::Udp);
            ports.push((*family, udp.map(|dnat| dnat.host_port).collect()));
        }
        Ok((script, ports))
    })
}

/// Reads the tables, decides, and changes them. When they are others by then, it begins again.
fn transact<T>(
    tools: &dyn Tools,
    families: &[Family],
    plan: impl Fn(&Tables) -> Result<(String, T)>,
) -> Result<T> {
    let nft = Nft::new(tools);
    let read = || {
        let table = |family: &Family| Ok((*family, nft.table(script::family(*family), TABLE)?));
        families.iter().map(table).collect()
    };
    firewall::transact(read()?, read, plan, |script| nft.run(script))
}

fn of(tables: &Tables, family: Family) -> Option<&Table> {
    tables.iter().find(|(of, _)| *of == family).and_then(|(_, table)| table.as_ref())
}

/// Whether a comment is that of a container's rules.
fn is_of(comment: Option<&str>, container_id: &str) -> bool {
    comment == Some(names::nft_comment(container_id).as_str())
}

/// The address that a rule is about.
fn address(rule: &Seen<'_>) -> Option<IpAddr> {
    rule.to.map(|(address, _)| address).or(rule.masqueraded)
}

#[cfg(test)]
mod tests;
