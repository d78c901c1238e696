//! The nftables backend: a table of its own. Containers' addresses and bridges are elements of sets, so that a packet meets
//! the same few rules however many containers there are.
//!
//! ```text
//! forward      hooked    jump CNI-ADMIN, which is the administrator's
//!                        jump containers
//! containers             to an address of the set, if related or established, and from one: accept
//! isolation    hooked    from a bridge of `isolated` to itself: drop; of `same_bridge`: return
//!                        from one of `bridges` to another: drop
//! ```
//!
//! To drop is final, to accept is not: the packet has the chains of other tables before it still. So what keeps containers
//! apart always does; what lets them through does where `forward` itself has the policy `drop`, which is the
//! administrator's to say, and nowhere lifts what another table drops.
//!
//! A call reads the table, decides what to change, and changes it in one transaction. Chains that are there are left alone,
//! their policy too. The comment of an address says whose it is. Everything goes to nft as JSON: no name is ever read as
//! words of a rule.

use std::net::IpAddr;

use cni_skel::{Error, ErrorCode, Result};
use plugin_attach::Owner;
use plugin_attach::owner::key_of;
use plugin_support::firewall::nft::{self, Element, Nft, Rule, Table, quoted};
use plugin_support::firewall::{Tools, transact};
use serde_json::{Value, json};

use crate::config::{DEFAULT_ADMIN_CHAIN, IngressPolicy};
use crate::rules::{Removal, Wanted};

const FAMILY: &str = "inet";
const TABLE: &str = "cni_plugins_firewall";
const FORWARD: &str = "forward";
const CONTAINERS: &str = "containers";
const ISOLATION: &str = "isolation";
/// The sets of addresses, each with what nft calls its family and its type.
const ADDRESSES: [(&str, &str, &str); 2] =
    [("containers_v4", "ip", "ipv4_addr"), ("containers_v6", "ip6", "ipv6_addr")];
/// The set of bridges that are kept apart, and those of bridges whose containers are and are not, among themselves.
const BRIDGES: &str = "bridges";
const ISOLATED: &str = "isolated";
const SAME_BRIDGE: &str = "same_bridge";

/// Makes what is missing, all or nothing, and tells whether containers are let through for the first time.
///
/// # Errors
///
/// When the program is missing or refuses, or something has a name that nftables cannot have. Code 7 if that is the
/// administrator's chain.
pub(crate) fn add(tools: &dyn Tools, owner: &Owner, wanted: &Wanted) -> Result<bool> {
    let nft = Nft::new(tools);
    let read = || nft.table_and_elements(FAMILY, TABLE);
    let plan = |table: &Option<Table>| {
        // An administrator may have made the hooked chain, but not this one.
        let is_first =
            wanted.admin_chain.is_some() && !table.as_ref().is_some_and(|table| table.has_chain(CONTAINERS));
        if let Some(admin_chain) = &wanted.admin_chain
            && !table.as_ref().is_some_and(|table| table.has_chain(admin_chain))
        {
            check_admin_chain(tools, admin_chain)?;
        }
        Ok::<_, Error>((addition(table.as_ref(), owner, wanted)?.commands, is_first))
    };
    transact(read()?, read, plan, |commands| nft.run_json(commands))
}

/// Removes what there is of it, and what else belongs to an attachment whose key is doomed; but no address that others have
/// by their record, nor by the comment.
///
/// # Errors
///
/// When the program is missing or refuses.
pub(crate) fn remove(
    tools: &dyn Tools,
    removal: &Removal,
    is_doomed: impl Fn(&str) -> bool,
    is_gone: impl Fn(&str) -> bool,
) -> Result<()> {
    let nft = Nft::new(tools);
    let read = || nft.table_and_elements(FAMILY, TABLE).map(Option::unwrap_or_default);
    let goes = |element: &Element, address: &IpAddr| {
        let by_comment = element.comment.as_deref().and_then(key_of).map(&is_doomed);
        !removal.kept.contains(address) && by_comment.unwrap_or_else(|| removal.addresses.contains(address))
    };
    let plan = |table: &Table| {
        let addresses =
            ADDRESSES.iter().flat_map(|(set, ..)| elements(table, set).map(move |element| (*set, element)));
        let (doomed, staying): (Vec<_>, Vec<_>) = addresses
            .filter_map(|(set, element)| Some((set, element, address_of(element)?)))
            .partition(|(_, element, address)| goes(element, address));
        let bridges = removal.bridges_that_go(staying.into_iter().map(|(.., address)| address), &is_gone);
        let goes = |set: &str, element: &Element, bridge: &str| {
            let is_over = |policy| bridges.contains(&(bridge, policy));
            match set {
                ISOLATED => element.value == pair(bridge) && is_over(IngressPolicy::Isolated),
                SAME_BRIDGE => element.value == pair(bridge) && is_over(IngressPolicy::SameBridge),
                _ => {
                    element.value == bridge
                        && is_over(IngressPolicy::Isolated)
                        && is_over(IngressPolicy::SameBridge)
                }
            }
        };
        let sets = [BRIDGES, ISOLATED, SAME_BRIDGE].into_iter();
        let of_bridges = sets.flat_map(|set| elements(table, set).map(move |element| (set, element)));
        let of_bridges =
            of_bridges.filter(|(set, element)| bridges.iter().any(|(bridge, _)| goes(set, element, bridge)));
        let doomed = doomed.into_iter().map(|(set, element, _)| (set, element)).chain(of_bridges);
        let commands = doomed.map(|(set, element)| to_element("delete", set, &element.value)).collect();
        Ok::<(Vec<Value>, ()), Error>((commands, ()))
    };
    transact(read()?, read, plan, |commands| nft.run_json(commands))
}

/// Verifies that everything is there, and where it belongs. Nothing is changed.
///
/// # Errors
///
/// When something is not, or the program is missing or fails.
pub(crate) fn check(tools: &dyn Tools, owner: &Owner, wanted: &Wanted) -> Result<()> {
    let table = Nft::new(tools).table_and_elements(FAMILY, TABLE)?;
    match addition(table.as_ref(), owner, wanted)?.missing.first() {
        Some(_) if table.is_none() => {
            Err(Error::message(format!("expected nftables table {FAMILY} {TABLE} not found")))
        }
        Some(missing) => {
            Err(Error::message(format!("expected {missing} not found in nftables table {FAMILY} {TABLE}")))
        }
        None => Ok(()),
    }
}

/// The chains of other tables that drop forwarded packets which nobody accepts there.
///
/// # Errors
///
/// When the program is missing or fails.
pub(crate) fn droppers(tools: &dyn Tools) -> plugin_support::Result<Vec<String>> {
    let mut chains = Nft::new(tools).dropping("forward")?;
    let own = format!("{FAMILY} {TABLE} ");
    chains.retain(|chain| !chain.starts_with(&own));
    Ok(chains)
}

/// What ADD is to change.
#[derive(Debug, Default)]
struct Addition {
    commands: Vec<Value>,
    /// What is not there, in words.
    missing: Vec<String>,
}

/// Rules that are the plugin's alone, and what they refer to.
struct Part {
    chain: &'static str,
    is_hooked: bool,
    sets: Vec<(&'static str, Value)>,
    /// Each with the comment that it is known by.
    rules: Vec<(String, Value)>,
}

impl Addition {
    fn lacks(&mut self, what: String, command: Value) {
        self.missing.push(what);
        self.commands.push(command);
    }

    fn chain(&mut self, chain: &str, hook: Option<&str>) {
        let mut fields = json!({"name": chain});
        if let Some(hook) = hook {
            fields = json!({"name": chain, "type": "filter", "hook": hook, "prio": 0, "policy": "accept"});
        }
        self.lacks(format!("chain {chain}"), command("add", "chain", fields));
    }

    /// What is missing of a part. If rules are, they are all made anew, as their order matters.
    fn part(&mut self, table: &Table, part: &Part) {
        for (set, kind) in part.sets.iter().filter(|(set, _)| table.set(set).is_none()) {
            self.lacks(format!("set {set}"), command("add", "set", json!({"name": set, "type": kind})));
        }
        if part.is_hooked && !table.is_hooked(part.chain, "forward") {
            self.chain(part.chain, Some("forward"));
        } else if !part.is_hooked && !table.has_chain(part.chain) {
            self.chain(part.chain, None);
        }
        let is_there = |rule: &Rule, (comment, statements): &(String, Value)| {
            rule.comment.as_ref() == Some(comment) && rule.has(verdict(statements))
        };
        let there: Vec<_> = table.rules.iter().filter(|rule| rule.chain == part.chain).collect();
        let mut pairs = there.iter().zip(&part.rules);
        if there.len() == part.rules.len() && pairs.all(|(rule, wanted)| is_there(rule, wanted)) {
            return;
        }
        if !there.is_empty() {
            self.commands.push(command("flush", "chain", json!({"name": part.chain})));
        }
        for (comment, statements) in &part.rules {
            let rule = json!({"chain": part.chain, "expr": statements, "comment": comment});
            self.lacks(format!("rule {comment:?} of chain {}", part.chain), command("add", "rule", rule));
        }
    }

    /// What leads to the administrator's chain, which comes first, and to the containers'.
    fn jumps(&mut self, table: &Table, admin_chain: &str) {
        if !table.is_hooked(FORWARD, "forward") {
            self.chain(FORWARD, Some("forward"));
        }
        if !table.has_chain(admin_chain) {
            self.chain(admin_chain, None);
        }
        let rules: Vec<_> = table.rules.iter().filter(|rule| rule.chain == FORWARD).collect();
        let leading = |chain: &str| rules.iter().position(|rule| rule.has(&jump(chain)));
        let rule = |chain: &str| json!({"chain": FORWARD, "expr": [jump(chain)]});
        let what = |chain: &str| format!("rule \"jump {chain}\" of chain {FORWARD}");
        let (admin, containers) = (leading(admin_chain), leading(CONTAINERS));
        if admin.is_none() {
            self.lacks(what(admin_chain), command("insert", "rule", rule(admin_chain)));
        }
        match (admin, containers) {
            (Some(admin), Some(containers)) if containers < admin => {
                let late = json!({"chain": FORWARD, "handle": rules[containers].handle});
                self.commands.push(command("delete", "rule", late));
                self.lacks(
                    format!("{} after that to {admin_chain}", what(CONTAINERS)),
                    command("add", "rule", rule(CONTAINERS)),
                );
            }
            (_, None) => self.lacks(what(CONTAINERS), command("add", "rule", rule(CONTAINERS))),
            _ => {}
        }
    }

    fn address(&mut self, table: &Table, address: IpAddr, label: &str) {
        let [(v4, ..), (v6, ..)] = ADDRESSES;
        let set = if address.is_ipv4() { v4 } else { v6 };
        let element = json!({"elem": {"val": address, "comment": label}});
        match elements(table, set).find(|element| address_of(element) == Some(address)) {
            None => self.lacks(format!("address {address} of set {set}"), to_element("add", set, &element)),
            Some(found) if found.comment.as_deref() == Some(label) => {}
            // To add it again would leave the comment, which says that it is somebody else's.
            Some(found) => {
                self.commands.push(to_element("delete", set, &found.value));
                self.commands.push(to_element("add", set, &element));
            }
        }
    }

    fn bridge(&mut self, table: &Table, bridge: &str, policy: IngressPolicy) {
        let among_themselves = if policy == IngressPolicy::Isolated { ISOLATED } else { SAME_BRIDGE };
        for (set, value) in [(BRIDGES, json!(bridge)), (among_themselves, pair(bridge))] {
            if !elements(table, set).any(|element| element.value == value) {
                self.lacks(format!("bridge {bridge:?} of set {set}"), to_element("add", set, &value));
            }
        }
    }
}

fn addition(table: Option<&Table>, owner: &Owner, wanted: &Wanted) -> Result<Addition> {
    let mut addition = Addition::default();
    if table.is_none() {
        let fields = json!({"add": {"table": {"family": FAMILY, "name": TABLE}}});
        addition.lacks("everything".to_owned(), fields);
    }
    let none = Table::default();
    let table = table.unwrap_or(&none);
    if let Some(admin_chain) = &wanted.admin_chain {
        check_chain_name(admin_chain)?;
        check_kinds(table, admin_chain)?;
        addition.part(table, &containers());
        addition.jumps(table, admin_chain);
        for address in &wanted.addresses {
            addition.address(table, *address, &owner.label());
        }
    }
    if let Some((bridge, policy)) = &wanted.isolation {
        check_link_name(bridge)?;
        check_kind(table, ISOLATION, true)?;
        addition.part(table, &isolation());
        addition.bridge(table, bridge, *policy);
    }
    Ok(addition)
}

/// What lets containers' traffic through.
fn containers() -> Part {
    let rules = ADDRESSES.iter().flat_map(|(set, family, _)| {
        let is_in_set = |field: &str| equal(&json!({"payload": {"protocol": family, "field": field}}), set);
        let is_answer = json!({"match": {
            "op": "in", "left": {"ct": {"key": "state"}}, "right": ["established", "related"],
        }});
        [
            (
                format!("answers to containers ({family})"),
                json!([is_in_set("daddr"), is_answer, {"accept": null}]),
            ),
            (format!("from containers ({family})"), json!([is_in_set("saddr"), {"accept": null}])),
        ]
    });
    let sets = ADDRESSES.iter().map(|(set, _, kind)| (*set, json!(kind))).collect();
    Part { chain: CONTAINERS, is_hooked: false, sets, rules: rules.collect() }
}

/// What keeps containers apart.
fn isolation() -> Part {
    let [from, to] = ["iifname", "oifname"].map(|key| json!({"meta": {"key": key}}));
    let both = json!({"concat": [from, to]});
    let rules = [
        ("within an isolated bridge", json!([equal(&both, ISOLATED), {"drop": null}])),
        ("within a bridge", json!([equal(&both, SAME_BRIDGE), {"return": null}])),
        ("between bridges", json!([equal(&from, BRIDGES), equal(&to, BRIDGES), {"drop": null}])),
    ];
    Part {
        chain: ISOLATION,
        is_hooked: true,
        sets: vec![
            (BRIDGES, json!("ifname")),
            (ISOLATED, json!(["ifname", "ifname"])),
            (SAME_BRIDGE, json!(["ifname", "ifname"])),
        ],
        rules: rules.map(|(comment, statements)| (comment.to_owned(), statements)).into(),
    }
}

fn equal(left: &Value, set: &str) -> Value {
    json!({"match": {"op": "==", "left": left, "right": format!("@{set}")}})
}

fn jump(chain: &str) -> Value {
    json!({"jump": {"target": chain}})
}

/// From a bridge to itself.
fn pair(bridge: &str) -> Value {
    json!({"concat": [bridge, bridge]})
}

fn command(verb: &str, what: &str, fields: Value) -> Value {
    nft::command(verb, what, [FAMILY, TABLE], fields)
}

fn to_element(verb: &str, set: &str, element: &Value) -> Value {
    command(verb, "element", json!({"name": set, "elem": [element]}))
}

fn elements<'t>(table: &'t Table, set: &str) -> impl Iterator<Item = &'t Element> {
    table.set(set).into_iter().flat_map(|set| &set.elements)
}

fn address_of(element: &Element) -> Option<IpAddr> {
    element.value.as_str()?.parse().ok()
}

/// What becomes of a packet in the end. How nft lists the rest depends on its release.
fn verdict(statements: &Value) -> &Value {
    statements.as_array().and_then(|statements| statements.last()).unwrap_or(&Value::Null)
}

/// Verifies that an administrator can write the chain's name. Which words are nft's own, only nft knows.
///
/// # Errors
///
/// Code 7 when not.
pub(crate) fn check_admin_chain(tools: &dyn Tools, chain: &str) -> Result<()> {
    check_chain_name(chain)?;
    if chain == DEFAULT_ADMIN_CHAIN {
        return Ok(());
    }
    let script = format!("table {FAMILY} {TABLE}_names {{\nchain {chain} {{\n}}\n}}\n");
    match Nft::new(tools).would_run(&script) {
        Err(plugin_support::Error::Tool { stderr, .. }) if stderr.contains("syntax error") => {
            Err(invalid_chain_name(chain))
        }
        // What else is wrong, the change itself will tell.
        _ => Ok(()),
    }
}

fn check_chain_name(chain: &str) -> Result<()> {
    let is_word = chain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && chain.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    if is_word && ![FORWARD, CONTAINERS, ISOLATION].contains(&chain) {
        return Ok(());
    }
    Err(invalid_chain_name(chain))
}

fn invalid_chain_name(chain: &str) -> Error {
    let expected = "expected a name that nft(8) takes and the plugin does not have itself";
    Error::new(
        ErrorCode::INVALID_NETWORK_CONFIG,
        format!("invalid chain name {chain:?} in key iptablesAdminChainName: {expected}"),
    )
}

/// Chains that somebody made beforehand, and whose kind no rule and no command changes, must be of the kind that they are
/// to be.
fn check_kinds(table: &Table, admin_chain: &str) -> Result<()> {
    check_kind(table, FORWARD, true)?;
    check_kind(table, CONTAINERS, false)?;
    check_kind(table, admin_chain, false)
}

fn check_kind(table: &Table, chain: &str, is_hooked: bool) -> Result<()> {
    let hooks = table.chains.iter().filter(|found| found.name == chain).map(|found| found.hook.as_deref());
    let expected = is_hooked.then_some("forward");
    if hooks.into_iter().all(|hook| hook == expected) {
        return Ok(());
    }
    let remedy = match is_hooked {
        true => "add it with { type filter hook forward priority 0; }",
        false => "add it without a hook",
    };
    Err(Error::message(format!(
        "chain {chain} of nftables table {FAMILY} {TABLE} is of another kind than expected: delete it, or {remedy}"
    )))
}

/// Some names mean something else than the link of that name: many links, or a set.
fn check_link_name(link: &str) -> Result<()> {
    if link.starts_with('@') || link.contains(['*', '\\']) || quoted(link).is_err() {
        return Err(Error::message(format!(
            "nftables cannot express the name of bridge {link:?}: give it another, or use the backend iptables"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
