//! Rules as nft lists them in JSON, read for what they do.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use cni_skel::capability::Protocol;
use cni_skel::{Error, Result};
use plugin_support::firewall::nft::{Rule, Table};
use serde_json::Value;

use super::script::{self, BASE};
use super::{ALL, HOSTPORTS, MASQUERADING, OLD_HOSTIP_HOSTPORTS, address, is_of};
use crate::names;
use crate::rules::{Claim, Dnat, Forwarding, Owner, Removal};

/// What a rule does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen<'t> {
    /// The chain that it is in.
    pub(super) chain: &'t str,
    /// What names it.
    pub(super) handle: u64,
    comment: Option<&'t str>,
    protocol: Option<Protocol>,
    host_port: Option<u16>,
    destination: Option<IpAddr>,
    /// Address or network.
    source: Option<String>,
    /// Where it leads.
    pub(super) to: Option<(IpAddr, Option<u16>)>,
    /// Whose connections it masquerades.
    pub(super) masqueraded: Option<IpAddr>,
    is_local: bool,
    jump: Option<&'t str>,
    /// Whether it has a match that is none of these.
    is_conditional: bool,
}

impl<'t> Seen<'t> {
    fn all(table: &'t Table) -> impl Iterator<Item = Self> {
        table.rules.iter().map(Self::new)
    }

    fn new(rule: &'t Rule) -> Self {
        let mut seen = Self {
            chain: &rule.chain,
            handle: rule.handle,
            comment: rule.comment.as_deref(),
            ..Self::default()
        };
        for statement in rule.expr.as_array().into_iter().flatten() {
            let Some((kind, value)) = statement.as_object().and_then(|object| object.iter().next()) else {
                continue;
            };
            match kind.as_str() {
                "match" => seen.is_conditional |= seen.learn(value).is_none(),
                "dnat" => seen.to = target(value),
                "masquerade" => seen.masqueraded = seen.destination,
                "jump" => seen.jump = value.get("target").and_then(Value::as_str),
                "counter" => {}
                _ => seen.is_conditional = true,
            }
        }
        seen
    }

    /// Takes in a match that is understood.
    fn learn(&mut self, value: &Value) -> Option<()> {
        if value.get("op")?.as_str()? != "==" {
            return None;
        }
        let (left, right) = (value.get("left")?, value.get("right")?);
        if let Some(fib) = left.get("fib") {
            let is_destination = fib.get("result")? == "type" && fib.get("flags")?.as_array()? == &["daddr"];
            self.is_local = is_destination && right.as_str()? == "local";
            return self.is_local.then_some(());
        }
        let payload = left.get("payload")?;
        match (payload.get("protocol")?.as_str()?, payload.get("field")?.as_str()?) {
            ("ip" | "ip6", "daddr") if self.destination.is_none() => {
                self.destination = Some(right.as_str()?.parse().ok()?);
            }
            ("ip" | "ip6", "saddr") if self.source.is_none() => self.source = Some(network(right)?),
            (protocol, "dport") if self.protocol.is_none() => {
                let known = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
                self.protocol = Some(known.into_iter().find(|known| known.as_str() == protocol)?);
                self.host_port = Some(right.as_u64()?.try_into().ok()?);
            }
            _ => return None,
        }
        Some(())
    }

    /// The translation that this is.
    pub(super) fn dnat(&self) -> Option<Dnat> {
        let (address, port) = self.to?;
        let (protocol, host_port) = (self.protocol?, self.host_port?);
        let to = SocketAddr::new(address, port.unwrap_or(host_port));
        Some(Dnat { protocol, host_port, host_ip: self.destination, to })
    }
}

/// The rules that removals take, in order.
pub(super) fn taken<'t>(table: &'t Table, removals: &[Removal]) -> Vec<Seen<'t>> {
    let mut by_comment: HashMap<_, Vec<_>> = HashMap::new();
    for removal in removals {
        by_comment.entry(names::nft_comment(&removal.container_id)).or_default().push(removal);
    }
    let goes = |rule: &Seen<'_>| {
        let removals = rule.comment.and_then(|comment| by_comment.get(comment));
        removals.is_some_and(|removals| removals.iter().any(|removal| removal.takes(address(rule))))
    };
    Seen::all(table).filter(goes).collect()
}

/// What other containers have.
pub(super) fn claims(table: &Table, owner: &Owner) -> Vec<Claim> {
    let foreign = Seen::all(table).filter(|rule| !is_of(rule.comment, &owner.container_id));
    let claim = |rule: Seen<'_>| {
        Some(Claim {
            dnat: rule.dnat()?,
            container_id: rule.comment?.to_owned(),
            network: None,
            conditional: rule.is_conditional || rule.source.is_some(),
        })
    };
    foreign.filter_map(claim).collect()
}

/// Whether a chain leads to another one, whatever the packet.
pub(super) fn leads(table: &Table, chain: &str, to: &str) -> bool {
    Seen::all(table).any(|rule| {
        let always = Seen {
            chain: rule.chain,
            handle: rule.handle,
            comment: rule.comment,
            jump: Some(to),
            ..Seen::default()
        };
        rule.chain == chain && rule == always
    })
}

/// Whether a base chain lets a forwarding's connections in.
pub(super) fn is_entered(table: &Table, chain: &str, forwarding: &Forwarding) -> bool {
    let conditions = script::conditions_comment(forwarding);
    Seen::all(table).filter(|rule| rule.chain == chain && rule.jump == Some(ALL) && rule.is_local).any(
        |rule| {
            // Conditions are not read; the comment tells which they are.
            match &conditions {
                Some(conditions) => rule.comment == Some(conditions),
                None => {
                    !rule.is_conditional
                        && rule.destination.is_none()
                        && rule.source.is_none()
                        && rule.protocol.is_none()
                }
            }
        },
    )
}

/// Verifies a container's rules, and that something leads to them.
pub(super) fn check(table: Option<&Table>, owner: &Owner, forwarding: &Forwarding) -> Result<()> {
    let ip = script::family(forwarding.family);
    let Some(table) = table else {
        return Err(Error::message(format!("table {ip} {} not found", super::TABLE)));
    };
    for (chain, _) in BASE {
        if !table.is_hooked(chain, chain) || !is_entered(table, chain, forwarding) {
            return Err(Error::message(format!("missing jump to {ALL:?} in {chain:?} chain of table {ip}")));
        }
    }
    if !leads(table, ALL, HOSTPORTS) {
        return Err(Error::message(format!("missing jump to {HOSTPORTS:?} in {ALL:?} chain of table {ip}")));
    }
    let own: Vec<_> = Seen::all(table).filter(|rule| is_of(rule.comment, &owner.container_id)).collect();
    for mapping in forwarding.own() {
        let expected = Dnat {
            protocol: mapping.protocol,
            host_port: mapping.host_port,
            host_ip: mapping.only_to(),
            to: forwarding.target(mapping),
        };
        let is_it = |rule: &Seen<'_>| {
            let Some(found) = rule.dnat() else { return false };
            [HOSTPORTS, OLD_HOSTIP_HOSTPORTS].contains(&rule.chain)
                && if forwarding.conditions.is_empty() {
                    found == expected && !rule.is_conditional && rule.source.is_none()
                } else {
                    // What conditions add, an address of the host maybe, is not read.
                    Dnat { host_ip: expected.host_ip, ..found } == expected
                }
        };
        if !own.iter().any(is_it) {
            return Err(Error::message(format!("missing hostport rules in {HOSTPORTS:?} chain: {expected}")));
        }
    }
    let container = forwarding.container.address();
    for source in &forwarding.masqueraded {
        let source = script::source_words(*source, container);
        let is_it = |rule: &Seen<'_>| {
            rule.chain == MASQUERADING
                && rule.masqueraded == Some(container)
                && rule.source.as_ref() == Some(&source)
                && !rule.is_conditional
        };
        if !table.is_hooked(MASQUERADING, "postrouting") || !own.iter().any(is_it) {
            return Err(Error::message(format!(
                "missing hostport rules in {MASQUERADING:?} chain: from {source} to {container}"
            )));
        }
    }
    Ok(())
}

/// Where a rule leads; releases before 1.7 wrote address and port as one.
fn target(dnat: &Value) -> Option<(IpAddr, Option<u16>)> {
    let address = dnat.get("addr")?;
    let (address, port) = match address.get("concat").and_then(Value::as_array).map(Vec::as_slice) {
        Some([address, port]) => (address, Some(port)),
        _ => (address, dnat.get("port")),
    };
    Some((
        address.as_str()?.parse().ok()?,
        port.and_then(Value::as_u64).and_then(|port| port.try_into().ok()),
    ))
}

/// An address or a network as text.
fn network(value: &Value) -> Option<String> {
    let Some(prefix) = value.get("prefix") else { return value.as_str().map(str::to_owned) };
    Some(format!("{}/{}", prefix.get("addr")?.as_str()?, prefix.get("len")?.as_u64()?))
}
