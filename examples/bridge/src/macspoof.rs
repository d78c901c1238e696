//! Rules that let a container send from its own hardware address alone, by `nft` in the bridge family.
//!
//! Each container has a chain for frames from its port, which leads to a chain that knows the address. Names hold an
//! interface name, which may have any character, so commands are JSON.

use std::collections::HashSet;

use cni_skel::types::config::Attachment;
use cni_skel::{Error, Result, ResultExt};
use plugin_attach::Owner;
use plugin_support::Mac;
use plugin_support::firewall::nft::{self, Nft, Rule, Table};
use plugin_support::firewall::{Tools, transact};
use plugin_support::netlink::{Handle, Link};
use serde_json::{Value, json};

use crate::names::{SpoofNames as _, spoof_chains_of, spoof_id_of};

/// The key of the configuration that asks for them.
pub(crate) const KEY: &str = "macspoofchk";

const FAMILY: &str = "bridge";
const TABLE: &str = "nat";
/// The base chain.
const PREROUTING: &str = "PREROUTING";

/// Lets frames from `port`, the host's end, pass if they come from `mac`, the container's address. All or nothing.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(crate) fn add(tools: &dyn Tools, owner: &Owner, port: &str, mac: Mac) -> Result<()> {
    let nft = Nft::new(tools);
    let own = rules(owner, port, mac);
    let added = nft.run_json(&own).or_else(|error| {
        if matches!(error, plugin_support::Error::ToolMissing { .. }) {
            return Err(error);
        }
        // The first container on this host, or there are rules of this one already.
        let leftovers = nft
            .table(FAMILY, TABLE)?
            .map_or_else(Vec::new, |table| removal(&table, &[owner.spoof_comment()]));
        nft.run_json(&[base(), leftovers, own].concat())
    });
    added.context("failed to setup spoof-check")
}

/// Removes the rules of an attachment.
///
/// # Errors
///
/// When the program fails. Where it is missing, nothing can have been made.
pub(crate) fn remove(tools: &dyn Tools, owner: &Owner) -> Result<()> {
    remove_where(tools, |comment| comment == owner.spoof_comment()).context("failed to teardown spoof-check")
}

/// Verifies that the rules are there.
///
/// # Errors
///
/// When one is not, or the program is missing or fails.
pub(crate) fn check(tools: &dyn Tools, owner: &Owner, port: &str, mac: Mac) -> Result<()> {
    let table = Nft::new(tools).table(FAMILY, TABLE)?.unwrap_or_default();
    if !table.is_hooked(PREROUTING, "prerouting") {
        return Err(Error::message(format!(
            "macspoofchk: no base chain {PREROUTING} in nftables table {FAMILY} {TABLE}"
        )));
    }
    let comment = owner.spoof_comment();
    for (chain, statements) in wanted(owner, port, mac) {
        let is_there = |rule: &Rule| rule.chain == chain && without_counters(&rule.expr) == statements;
        if !table.commented(&comment).any(is_there) {
            return Err(Error::message(format!(
                "macspoofchk: a rule of {port:?} not found in chain {chain:?}"
            )));
        }
    }
    Ok(())
}

/// Removes rules for links that are gone, save for those of valid attachments.
///
/// The rules do not say their network. So it is not enough that an attachment is not valid in this one.
///
/// # Errors
///
/// When the program or the kernel refuses.
pub(crate) fn collect(
    tools: &dyn Tools,
    netlink: &Handle,
    network: &str,
    valid: &[Attachment],
) -> Result<()> {
    let nft = Nft::new(tools);
    let table = match nft.table(FAMILY, TABLE) {
        Err(plugin_support::Error::ToolMissing { .. }) | Ok(None) => return Ok(()),
        Ok(Some(table)) => table,
        Err(error) => return Err(error).context("failed to collect spoof-check rules"),
    };
    let valid: HashSet<_> =
        valid.iter().map(|attachment| Owner::of(network, attachment).spoof_comment()).collect();
    let collected = remove_from(&nft, table, |table| {
        // After the rules: a link is made before them.
        let links: HashSet<_> = netlink.links()?.into_iter().map(|link: Link| link.name).collect();
        let is_orphan = |rule: &&Rule| {
            rule.chain == PREROUTING && port_of(rule).is_some_and(|port| !links.contains(port))
        };
        let orphans = table.rules.iter().filter(is_orphan).filter_map(|rule| rule.comment.clone());
        Ok(orphans.filter(|comment| spoof_id_of(comment).is_some() && !valid.contains(comment)).collect())
    });
    collected.context("failed to collect spoof-check rules")
}

fn remove_where(tools: &dyn Tools, is_doomed: impl Fn(&str) -> bool) -> plugin_support::Result<()> {
    let nft = Nft::new(tools);
    let table = match nft.table(FAMILY, TABLE) {
        Err(plugin_support::Error::ToolMissing { .. }) | Ok(None) => return Ok(()),
        Ok(Some(table)) => table,
        Err(error) => return Err(error),
    };
    remove_from(&nft, table, |table| {
        let comments = table.rules.iter().filter_map(|rule| rule.comment.clone());
        Ok(comments.filter(|comment| is_doomed(comment)).collect())
    })
}

/// Removes everything with the comments that `doomed` finds, also if somebody else, such as GC beside DEL, removes some of
/// it at the same time.
fn remove_from(
    nft: &Nft<'_>,
    table: Table,
    doomed: impl Fn(&Table) -> plugin_support::Result<Vec<String>>,
) -> plugin_support::Result<()> {
    let read = || nft.table(FAMILY, TABLE).map(Option::unwrap_or_default);
    let plan = |table: &Table| Ok((removal(table, &doomed(table)?), ()));
    transact(table, read, plan, |commands| nft.run_json(commands))
}

/// What removes everything with these comments.
fn removal(table: &Table, comments: &[String]) -> Vec<Value> {
    let doomed: HashSet<&String> = comments.iter().collect();
    let is_doomed = |rule: &&Rule| rule.comment.as_ref().is_some_and(|comment| doomed.contains(comment));
    let jumps = table.rules.iter().filter(is_doomed).filter(|rule| rule.chain == PREROUTING);
    let jumps = jumps.map(|rule| delete("rule", json!({"chain": rule.chain, "handle": rule.handle})));
    let chains = comments.iter().filter_map(|comment| spoof_id_of(comment)).flat_map(spoof_chains_of);
    // The one that leads to the other goes first, and every one just once.
    let mut left: HashSet<&str> = table.chains.iter().map(|chain| chain.name.as_str()).collect();
    let chains = chains.filter(move |chain| left.remove(chain.as_str()));
    jumps.chain(chains.map(|chain| delete("chain", json!({"name": chain})))).collect()
}

fn base() -> Vec<Value> {
    let hook =
        json!({"name": PREROUTING, "type": "filter", "hook": "prerouting", "prio": -300, "policy": "accept"});
    vec![json!({"add": {"table": {"family": FAMILY, "name": TABLE}}}), command("add", "chain", hook)]
}

/// The chains, which must not be there yet, and the rules.
fn rules(owner: &Owner, port: &str, mac: Mac) -> Vec<Value> {
    let chains =
        owner.spoof_chains().into_iter().map(|chain| command("create", "chain", json!({"name": chain})));
    let rules = wanted(owner, port, mac).into_iter().map(|(chain, statements)| {
        command("add", "rule", json!({"chain": chain, "expr": statements, "comment": owner.spoof_comment()}))
    });
    chains.chain(rules).collect()
}

/// The rules, each with its chain.
fn wanted(owner: &Owner, port: &str, mac: Mac) -> [(String, Value); 4] {
    let [of_port, of_mac] = owner.spoof_chains();
    let equal = |left: Value, right: &str| json!({"match": {"op": "==", "left": left, "right": right}});
    let from_port = equal(json!({"meta": {"key": "iifname"}}), port);
    let from_mac = equal(json!({"payload": {"protocol": "ether", "field": "saddr"}}), &mac.to_string());
    [
        (PREROUTING.to_owned(), json!([from_port, {"jump": {"target": of_port}}])),
        (of_port, json!([{"jump": {"target": of_mac}}])),
        (of_mac.clone(), json!([from_mac, {"return": null}])),
        (of_mac, json!([{"drop": null}])),
    ]
}

/// The link that a rule of the base chain is for.
fn port_of(rule: &Rule) -> Option<&str> {
    let statements = rule.expr.as_array()?;
    statements.iter().find_map(|statement| {
        let matching = statement.get("match")?;
        (matching.get("left")? == &json!({"meta": {"key": "iifname"}}))
            .then(|| matching.get("right")?.as_str())?
    })
}

/// The statements of a rule, without what a person may have added to look at it.
fn without_counters(statements: &Value) -> Value {
    let all = statements.as_array().into_iter().flatten();
    all.filter(|statement| statement.get("counter").is_none()).cloned().collect()
}

fn command(verb: &str, what: &str, fields: Value) -> Value {
    nft::command(verb, what, [FAMILY, TABLE], fields)
}

fn delete(what: &str, fields: Value) -> Value {
    command("delete", what, fields)
}

#[cfg(test)]
mod tests;
