//! Policy rules of the made-up kernel. It lists them; its routes are looked up without.

use netlink_packet_route::rule::{RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno as RawErrno;

use super::{Answer, State};

/// The priority of Linux's rule for the main table; what users add without a priority goes right before the first of theirs.
const MAIN_PRIORITY: u32 = 32766;

impl State {
    pub(super) fn add_rule(&mut self, netns: usize, rule: &RuleMessage) -> Answer<()> {
        if rule.header.family == AddressFamily::Inet6 && !self.ipv6 {
            return Err(RawErrno::AFNOSUPPORT);
        }
        let rules = &mut self.namespaces[netns].rules;
        let mut rule = rule.clone();
        if priority(&rule).is_none() {
            let of_family = rules.iter().filter(|other| other.header.family == rule.header.family);
            let first = of_family.filter_map(priority).min().unwrap_or(MAIN_PRIORITY);
            rule.attributes.push(RuleAttribute::Priority(first - 1));
        }
        rules.insert(0, rule);
        rules.sort_by_key(priority);
        Ok(())
    }

    pub(super) fn delete_rule(&mut self, netns: usize, wanted: &RuleMessage) -> Answer<()> {
        let matches = |rule: &RuleMessage| {
            rule.header.family == wanted.header.family
                && rule.header.src_len == wanted.header.src_len
                && wanted.attributes.iter().all(|attribute| rule.attributes.contains(attribute))
        };
        let rules = &mut self.namespaces[netns].rules;
        let found = rules.iter().position(matches).ok_or(RawErrno::NOENT)?;
        rules.remove(found);
        Ok(())
    }

    pub(super) fn list_rules(&self, netns: usize, family: AddressFamily) -> Vec<RouteNetlinkMessage> {
        let rules = self.namespaces[netns].rules.iter().filter(|rule| rule.header.family == family);
        rules.cloned().map(RouteNetlinkMessage::NewRule).collect()
    }
}

fn priority(rule: &RuleMessage) -> Option<u32> {
    rule.attributes.iter().find_map(|attribute| match attribute {
        RuleAttribute::Priority(priority) => Some(*priority),
        _ => None,
    })
}
