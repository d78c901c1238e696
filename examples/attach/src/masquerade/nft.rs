//! Masquerade by `nft`: one table for all, with a rule for each address.

use std::collections::HashSet;

use cni_skel::{Cidr, Error, Result};
use plugin_support::firewall::nft::{Nft, Rule, Table, quoted};
use plugin_support::firewall::{Tools, transact};
use serde_json::json;

use crate::owner::{Owner, key_of, network_key};

const FAMILY: &str = "inet";
const TABLE: &str = "cni_plugins_masquerade";
/// The chain with a rule for each address.
const CHECKS: &str = "masq_checks";
/// The base chain.
const POSTROUTING: &str = "postrouting";

/// Makes the rules of an attachment, all or nothing.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(super) fn add(tools: &dyn Tools, owner: &Owner, addresses: &[Cidr]) -> Result<()> {
    let nft = Nft::new(tools);
    let rules = rules(owner, addresses)?;
    // Nearly always the table is there. To make it anew costs much more than the rules: the kernel waits for whoever
    // looks at the old one.
    match nft.run(&rules) {
        Err(error) if !matches!(error, plugin_support::Error::ToolMissing { .. }) => {
            Ok(nft.run(&format!("{}{rules}", base()))?)
        }
        done => Ok(done?),
    }
}

/// Removes the rules of an attachment, and tells whether there were any.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(super) fn remove(tools: &dyn Tools, owner: &Owner) -> Result<bool> {
    let key = owner.key();
    remove_where(tools, |found| found == key)
}

/// Verifies that the rules of an attachment are there, and that packets get to them.
///
/// # Errors
///
/// When one is not, or the program is missing or fails.
pub(super) fn check(tools: &dyn Tools, owner: &Owner, addresses: &[Cidr]) -> Result<()> {
    let lacks = |what: String| {
        Error::message(format!("masquerade {what} not found in nftables table {FAMILY} {TABLE}"))
    };
    let table = Nft::new(tools).table(FAMILY, TABLE)?.unwrap_or_default();
    let is_entered =
        |rule: &Rule| rule.chain == POSTROUTING && rule.has(&json!({"goto": {"target": CHECKS}}));
    if !table.is_hooked(POSTROUTING, "postrouting") || !table.rules.iter().any(is_entered) {
        return Err(lacks(format!("rule \"goto {CHECKS}\"")));
    }
    let key = owner.key();
    let own: Vec<_> = own_rules(&table).filter(|(found, _)| *found == key).map(|(_, rule)| rule).collect();
    for address in addresses {
        if !own.iter().any(|rule| masquerades(rule, *address)) {
            return Err(lacks(format!("rule for {address}")));
        }
    }
    Ok(())
}

/// Removes the rules of a network's attachments that are not valid.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(super) fn collect(tools: &dyn Tools, network: &str, valid: &[Owner]) -> Result<()> {
    let (of_network, valid) = (network_key(network), valid.iter().map(Owner::key).collect::<HashSet<_>>());
    remove_where(tools, |key| key.starts_with(&of_network) && !valid.contains(key)).map(drop)
}

fn remove_where(tools: &dyn Tools, is_doomed: impl Fn(&str) -> bool) -> Result<bool> {
    let nft = Nft::new(tools);
    let read = || nft.table(FAMILY, TABLE).map(Option::unwrap_or_default);
    let plan = |table: &Table| {
        let doomed = own_rules(table).filter(|(key, _)| is_doomed(key));
        let script: String = doomed
            .map(|(_, rule)| format!("delete rule {FAMILY} {TABLE} {CHECKS} handle {}\n", rule.handle))
            .collect();
        let any = !script.is_empty();
        Ok((script, any))
    };
    // Somebody else may remove the same at the same time, as GC and DEL do.
    transact(read()?, read, plan, |script| nft.run(script))
}

/// The rules of attachments, each with its key.
fn own_rules(table: &Table) -> impl Iterator<Item = (&str, &Rule)> {
    let of_chain = table.rules.iter().filter(|rule| rule.chain == CHECKS);
    of_chain.filter_map(|rule| rule.comment.as_deref().and_then(key_of).map(|key| (key, rule)))
}

/// The table, the chains and what leads to them. What is there already becomes as it should be.
fn base() -> String {
    let at = format!("{FAMILY} {TABLE}");
    format!(
        "add table {at}\n\
         add chain {at} {CHECKS}\n\
         add chain {at} {POSTROUTING} {{ type nat hook postrouting priority 100 ; }}\n\
         flush chain {at} {POSTROUTING}\n\
         add rule {at} {POSTROUTING} ip daddr == 224.0.0.0/4 return\n\
         add rule {at} {POSTROUTING} ip6 daddr == ff00::/8 return\n\
         add rule {at} {POSTROUTING} goto {CHECKS}\n"
    )
}

fn rules(owner: &Owner, addresses: &[Cidr]) -> Result<String> {
    let comment = quoted(&owner.label())?;
    let rules = addresses.iter().map(|address| {
        let (ip, network) = (address.address(), address.network());
        let family = keyword(*address);
        format!(
            "add rule {FAMILY} {TABLE} {CHECKS} {family} saddr == {ip} {family} daddr != {network} masquerade comment {comment}\n"
        )
    });
    Ok(rules.collect())
}

fn masquerades(rule: &Rule, address: Cidr) -> bool {
    let field = |field| json!({"payload": {"protocol": keyword(address), "field": field}});
    let ip = address.address().to_string();
    let network = address.network();
    // A network of one address is shown as an address.
    let network = if network == Cidr::host(network.address()) {
        json!(network.address().to_string())
    } else {
        json!({"prefix": {"addr": network.address().to_string(), "len": network.prefix()}})
    };
    rule.has(&json!({"match": {"op": "==", "left": field("saddr"), "right": ip}}))
        && rule.has(&json!({"match": {"op": "!=", "left": field("daddr"), "right": network}}))
        && rule.has(&json!({"masquerade": null}))
}

fn keyword(address: Cidr) -> &'static str {
    if address.is_ipv4() { "ip" } else { "ip6" }
}
