//! Scripts for nft, in the words of Go's plugin.

use std::fmt::Write as _;
use std::net::IpAddr;

use plugin_support::Result;
use plugin_support::firewall::Family;
use plugin_support::firewall::nft::{Table, quoted};

use super::{ALL, HOSTPORTS, MASQUERADING, OLD_HOSTIP_HOSTPORTS, TABLE, seen};
use crate::names;
use crate::rules::{Forwarding, Owner, Source};

/// The base chains that connections come in by, and their hook's place among others. nft of release 0.9 has no name for
/// that of the second.
pub(super) const BASE: [(&str, &str); 2] = [("prerouting", "dstnat"), ("output", "-100")];

/// A family as nft names it.
pub(super) fn family(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip",
        Family::V6 => "ip6",
    }
}

/// Deletes a rule.
pub(super) fn delete(of: Family, chain: &str, handle: u64) -> String {
    format!("delete rule {} {TABLE} {chain} handle {handle}\n", family(of))
}

/// Adds what a container's rules need and is missing, and the rules.
///
/// Chains that are there are left alone: to add one again takes the kernel longer than everything else together.
pub(super) fn add(owner: &Owner, forwarding: &Forwarding, table: Option<&Table>) -> Result<String> {
    let mut script = Script { ip: family(forwarding.family), text: String::new() };
    let is_there = |chain| table.is_some_and(|table| table.has_chain(chain));
    if table.is_none() {
        script.table("CNI portmap plugin");
    }
    for chain in [HOSTPORTS, OLD_HOSTIP_HOSTPORTS, ALL] {
        if !is_there(chain) {
            script.chain(chain, "");
        }
    }
    for chain in [OLD_HOSTIP_HOSTPORTS, HOSTPORTS] {
        if !table.is_some_and(|table| seen::leads(table, ALL, chain)) {
            script.rule(ALL, &["jump", chain], None)?;
        }
    }
    for (chain, priority) in BASE {
        if !is_there(chain) {
            script.chain(chain, &format!(" {{ type nat hook {chain} priority {priority}; }}"));
        }
        if !table.is_some_and(|table| seen::is_entered(table, chain, forwarding)) {
            let mut rule: Vec<_> = forwarding.conditions.iter().map(String::as_str).collect();
            rule.extend(["fib", "daddr", "type", "local", "jump", ALL]);
            script.rule(chain, &rule, conditions_comment(forwarding).as_deref())?;
        }
    }
    if !forwarding.masqueraded.is_empty() && !is_there(MASQUERADING) {
        script.chain(MASQUERADING, " { type nat hook postrouting priority srcnat; }");
    }
    script.container(owner, forwarding)?;
    Ok(script.text)
}

/// What marks a rule of a base chain as the one for these conditions; `None` if there are none.
///
/// Go has one such rule, and whoever comes last sets the conditions of all. Here each mapping has its own, and the base
/// chain one rule for each set of them, so that nobody's is made wider.
pub(super) fn conditions_comment(forwarding: &Forwarding) -> Option<String> {
    if forwarding.conditions.is_empty() {
        return None;
    }
    Some(format!("conditions {}", names::digest(&[&forwarding.conditions.join(" ")], 16)))
}

struct Script {
    ip: &'static str,
    text: String,
}

// Writing to a `String` cannot fail.
impl Script {
    fn table(&mut self, comment: &str) {
        let _ = writeln!(self.text, "add table {} {TABLE} {{ comment \"{comment}\"; }}", self.ip);
    }

    fn chain(&mut self, chain: &str, definition: &str) {
        let _ = writeln!(self.text, "add chain {} {TABLE} {chain}{definition}", self.ip);
    }

    fn rule(&mut self, chain: &str, words: &[&str], comment: Option<&str>) -> Result<()> {
        let _ = write!(self.text, "add rule {} {TABLE} {chain} {}", self.ip, words.join(" "));
        if let Some(comment) = comment {
            let _ = write!(self.text, " comment {}", quoted(comment)?);
        }
        self.text.push('\n');
        Ok(())
    }

    /// The rules of a container.
    fn container(&mut self, owner: &Owner, forwarding: &Forwarding) -> Result<()> {
        let ip = self.ip;
        let comment = names::nft_comment(&owner.container_id);
        let container = forwarding.container.address().to_string();
        for mapping in forwarding.own() {
            let host_ip = mapping.only_to().map(|address| address.to_string());
            let (port, target) = (mapping.host_port.to_string(), forwarding.target(mapping).to_string());
            let mut rule: Vec<_> = forwarding.conditions.iter().map(String::as_str).collect();
            if let Some(host_ip) = &host_ip {
                rule.extend([ip, "daddr", host_ip]);
            }
            rule.extend([mapping.protocol.as_str(), "dport", &port, "dnat", "to", &target]);
            self.rule(HOSTPORTS, &rule, Some(&comment))?;
        }
        for source in &forwarding.masqueraded {
            let source = source_words(*source, forwarding.container.address());
            let rule = [ip, "saddr", &source, ip, "daddr", &container, "masquerade"];
            self.rule(MASQUERADING, &rule, Some(&comment))?;
        }
        Ok(())
    }
}

/// Where connections come from, as an address or a network.
pub(super) fn source_words(source: Source, container: IpAddr) -> String {
    match (source, container) {
        (Source::Container, container) => container.to_string(),
        (Source::Everyone, IpAddr::V4(_)) => "0.0.0.0/0".to_owned(),
        (Source::Everyone, IpAddr::V6(_)) => "::/0".to_owned(),
        (Source::Localhost, _) => "127.0.0.1".to_owned(),
    }
}
