//! Policy rules: which routing table packets from an address are looked up in. Only what source-based routing needs.

use std::fmt;
use std::net::IpAddr;

use ipnetwork::IpNetwork;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::Handle;
use crate::error::Result;

/// A rule: packets from these addresses are looked up in that table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whom the packets are from; `None` for all.
    pub source: Option<IpNetwork>,
    /// The routing table.
    pub table: u32,
    /// Lower goes first. `None` leaves it to the kernel, which puts the rule before those of its own.
    pub priority: Option<u32>,
    /// Whether it looks at nothing but the source.
    pub is_plain: bool,
    v4: bool,
}

impl Rule {
    /// A rule for packets from one address.
    pub fn from_source(address: IpAddr, table: u32) -> Self {
        let source = Some(IpNetwork::from(address));
        Self { source, table, priority: None, is_plain: true, v4: address.is_ipv4() }
    }

    fn from_message(message: &RuleMessage) -> Option<Self> {
        let header = &message.header;
        let v4 = match header.family {
            AddressFamily::Inet => true,
            AddressFamily::Inet6 => false,
            _ => return None,
        };
        let mut rule = Self { source: None, table: header.table.into(), priority: None, is_plain: true, v4 };
        rule.is_plain = header.action == RuleAction::ToTable && header.dst_len == 0 && header.tos == 0;
        for attribute in &message.attributes {
            match attribute {
                RuleAttribute::Source(ip) => rule.source = IpNetwork::new(*ip, header.src_len).ok(),
                RuleAttribute::Table(table) => rule.table = *table,
                RuleAttribute::Priority(priority) => rule.priority = Some(*priority),
                RuleAttribute::Iifname(_) | RuleAttribute::Oifname(_) | RuleAttribute::FwMark(_) => {
                    rule.is_plain = false;
                }
                _ => {}
            }
        }
        Some(rule)
    }

    fn message(&self) -> RuleMessage {
        let mut message = RuleMessage::default();
        message.header.family = if self.v4 { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.action = RuleAction::ToTable;
        // Above 255, the attribute alone says it.
        message.header.table = u8::try_from(self.table).unwrap_or_default();
        message.attributes.push(RuleAttribute::Table(self.table));
        if let Some(source) = self.source {
            message.header.src_len = source.prefix();
            message.attributes.push(RuleAttribute::Source(source.ip()));
        }
        message.attributes.extend(self.priority.map(RuleAttribute::Priority));
        message
    }
}

/// As errors tell it: `from 10.1.0.5/32 lookup 100`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Some(source) => write!(f, "from {source} lookup {}", self.table),
            None => write!(f, "from all lookup {}", self.table),
        }
    }
}

impl Handle {
    /// The rules of both families, in the order in which packets come to them.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, or routes by destination alone.
    pub fn rules(&self) -> Result<Vec<Rule>> {
        let mut rules = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RuleMessage::default();
            message.header.family = family;
            let listed = self.dump(&RouteNetlinkMessage::GetRule(message), || "failed to list rules".into());
            let replies = match listed {
                // A kernel without IPv6.
                Err(error) if family == AddressFamily::Inet6 && error.is_unsupported() => break,
                listed => listed?,
            };
            rules.extend(replies.iter().filter_map(|reply| match reply {
                RouteNetlinkMessage::NewRule(message) if message.header.family == family => {
                    Rule::from_message(message)
                }
                _ => None,
            }));
        }
        Ok(rules)
    }

    /// Adds a rule. There may be the same one already.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn add_rule(&self, rule: &Rule) -> Result<()> {
        let message = RouteNetlinkMessage::NewRule(rule.message());
        self.request(&message, NLM_F_CREATE | NLM_F_EXCL, || format!("failed to add rule {rule}"))?;
        Ok(())
    }

    /// Deletes the first rule that is so.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if there is none.
    ///
    /// [`Error::is_not_found`]: crate::Error::is_not_found
    pub fn delete_rule(&self, rule: &Rule) -> Result<()> {
        let message = RouteNetlinkMessage::DelRule(rule.message());
        self.request(&message, 0, || format!("failed to delete rule {rule}"))?;
        Ok(())
    }
}
