//! Which layout a result must have, version by version, told by the path of what is wrong.
//!
//! Written against the spec alone: it shares no code with what reads results elsewhere, so that a fault there is not a
//! fault here. Keys that no version has are let through, since plugins may add their own.

use std::net::IpAddr;

use cni_types::CniVersion;
use serde_json::{Map, Value};

/// What is wrong with a result, but for its `cniVersion`; nothing when it fits.
pub(crate) fn problems(version: CniVersion, result: &Map<String, Value>) -> Vec<String> {
    let mut layout = Layout { version, problems: Vec::new() };
    if version < CniVersion::V0_3_0 {
        layout.of_0_1_0(result);
    } else {
        layout.of_0_3_0(result);
    }
    layout.problems
}

/// The indexes of `ips` that are none of an interface.
pub(crate) fn wrong_indexes(result: &Map<String, Value>) -> Vec<String> {
    let interfaces = list(result, "interfaces").len() as u64;
    let wrong = |(at, ip): (usize, &Value)| {
        let index = ip["interface"].as_u64().filter(|index| *index >= interfaces)?;
        Some(format!("ips[{at}].interface is {index}, and interfaces has no such entry"))
    };
    list(result, "ips").iter().enumerate().filter_map(wrong).collect()
}

/// How many addresses say which interface they are on.
pub(crate) fn indexes(result: &Map<String, Value>) -> usize {
    list(result, "ips").iter().filter(|ip| ip["interface"].is_u64()).count()
}

/// What of an earlier result a later one has lost.
pub(crate) fn lost(earlier: &Value, later: &Map<String, Value>) -> Vec<String> {
    let empty = Map::new();
    let earlier = earlier.as_object().unwrap_or(&empty);
    let mut lost = Vec::new();
    for (key, identity) in
        [("interfaces", &["name", "sandbox"][..]), ("ips", &["address"]), ("routes", &["dst"])]
    {
        let identities = |items: &[Value]| -> Vec<String> {
            let identity = |item: &Value| {
                let parts = identity.iter().map(|key| text_of(&item[*key])).filter(|part| !part.is_empty());
                parts.collect::<Vec<_>>().join(" in ")
            };
            items.iter().map(identity).collect()
        };
        let kept = identities(list(later, key));
        let gone = identities(list(earlier, key)).into_iter().filter(|item| !kept.contains(item));
        lost.extend(gone.map(|item| format!("{} {item}", key.trim_end_matches('s'))));
    }
    let no_dns = Value::Null;
    let (before, after) = (earlier.get("dns").unwrap_or(&no_dns), later.get("dns").unwrap_or(&no_dns));
    for key in ["nameservers", "search", "options"] {
        let kept = after[key].as_array().map_or(&[][..], Vec::as_slice);
        let gone = before[key].as_array().into_iter().flatten().filter(|item| !kept.contains(item));
        lost.extend(gone.map(|item| format!("dns.{key} {}", text_of(item))));
    }
    lost
}

/// The items of a list; none of what is no list.
pub(crate) fn list<'v>(object: &'v Map<String, Value>, key: &str) -> &'v [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The addresses of a result of any layout.
pub(crate) fn addresses(result: &Map<String, Value>) -> Vec<String> {
    let old = ["ip4", "ip6"].into_iter().filter_map(|key| result.get(key)?["ip"].as_str());
    let new = list(result, "ips").iter().filter_map(|ip| ip["address"].as_str());
    old.chain(new).map(str::to_owned).collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(String::new, str::to_owned)
}

struct Layout {
    version: CniVersion,
    problems: Vec<String>,
}

impl Layout {
    /// `ip4` and `ip6`, each with one address.
    fn of_0_1_0(&mut self, result: &Map<String, Value>) {
        self.foreign("", result, &["interfaces", "ips", "routes"]);
        for (family, is_v4) in [("ip4", true), ("ip6", false)] {
            let Some(ip) = self.object("", result, family) else { continue };
            self.cidr(family, ip, "ip", true, Some(is_v4));
            self.address(family, ip, "gateway");
            self.each(family, ip, "routes", |layout, at, route| layout.route(at, route));
        }
        self.dns(result);
    }

    /// `interfaces`, `ips`, `routes`: 0.3.0 to 1.1.0.
    fn of_0_3_0(&mut self, result: &Map<String, Value>) {
        self.foreign("", result, &["ip4", "ip6"]);
        self.each("", result, "interfaces", Self::interface);
        self.each("", result, "ips", Self::ip);
        self.each("", result, "routes", Self::route);
        self.dns(result);
    }

    fn interface(&mut self, at: &str, interface: &Map<String, Value>) {
        self.text(at, interface, "name", true);
        for key in ["mac", "sandbox"] {
            self.text(at, interface, key, false);
        }
        if self.version >= CniVersion::V1_1_0 {
            self.count(at, interface, "mtu");
            for key in ["socketPath", "pciID"] {
                self.text(at, interface, key, false);
            }
        }
    }

    fn ip(&mut self, at: &str, ip: &Map<String, Value>) {
        let is_v4 = self.family(at, ip);
        self.cidr(at, ip, "address", true, is_v4);
        self.address(at, ip, "gateway");
        self.count(at, ip, "interface");
    }

    /// `version` of an address: required from 0.3.0 to 0.4.0, gone since.
    fn family(&mut self, at: &str, ip: &Map<String, Value>) -> Option<bool> {
        if self.version >= CniVersion::V1_0_0 {
            self.foreign(at, ip, &["version"]);
            return None;
        }
        match ip.get("version").and_then(Value::as_str) {
            Some("4") => Some(true),
            Some("6") => Some(false),
            _ => {
                self.wrong(at, "version", ip.get("version"), "\"4\" or \"6\"");
                None
            }
        }
    }

    fn route(&mut self, at: &str, route: &Map<String, Value>) {
        self.cidr(at, route, "dst", true, None);
        self.address(at, route, "gw");
        if self.version >= CniVersion::V1_1_0 {
            for key in ["mtu", "advmss", "priority", "table", "scope"] {
                self.count(at, route, key);
            }
        }
    }

    fn dns(&mut self, result: &Map<String, Value>) {
        let Some(dns) = self.object("", result, "dns") else { return };
        self.text("dns", dns, "domain", false);
        for key in ["nameservers", "search", "options"] {
            let items = match dns.get(key) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(items)) => items,
                Some(other) => {
                    self.wrong("dns", key, Some(other), "a list of strings");
                    continue;
                }
            };
            for (index, item) in items.iter().enumerate() {
                let key = format!("{key}[{index}]");
                match item.as_str() {
                    None => self.wrong("dns", &key, Some(item), "a string"),
                    Some(text) if key.starts_with("nameservers") && text.parse::<IpAddr>().is_err() => {
                        self.wrong("dns", &key, Some(item), "an IP address");
                    }
                    Some(_) => {}
                }
            }
        }
    }

    // Values. What is null counts as absent.

    fn object<'v>(
        &mut self,
        at: &str,
        object: &'v Map<String, Value>,
        key: &str,
    ) -> Option<&'v Map<String, Value>> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::Object(found)) => Some(found),
            other => {
                self.wrong(at, key, other, "an object");
                None
            }
        }
    }

    fn each(
        &mut self,
        at: &str,
        object: &Map<String, Value>,
        key: &str,
        mut look: impl FnMut(&mut Self, &str, &Map<String, Value>),
    ) {
        match object.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let path = path(at, &format!("{key}[{index}]"));
                    match item.as_object() {
                        Some(item) => look(self, &path, item),
                        None => self.wrong("", &path, Some(item), "an object"),
                    }
                }
            }
            other => self.wrong(at, key, other, "a list of objects"),
        }
    }

    fn text(&mut self, at: &str, object: &Map<String, Value>, key: &str, required: bool) {
        match object.get(key) {
            None | Some(Value::Null) if !required => {}
            Some(Value::String(text)) if !required || !text.is_empty() => {}
            other => {
                self.wrong(at, key, other, if required { "a string that is not empty" } else { "a string" });
            }
        }
    }

    fn count(&mut self, at: &str, object: &Map<String, Value>, key: &str) {
        match object.get(key) {
            None | Some(Value::Null) => {}
            Some(value) if value.is_u64() => {}
            other => self.wrong(at, key, other, "a whole number from 0 on"),
        }
    }

    fn address(&mut self, at: &str, object: &Map<String, Value>, key: &str) {
        match object.get(key) {
            None | Some(Value::Null) => {}
            // Deployed plugins print an empty text for no address.
            Some(Value::String(text)) if text.is_empty() || text.parse::<IpAddr>().is_ok() => {}
            other => self.wrong(at, key, other, "an IP address"),
        }
    }

    fn cidr(
        &mut self,
        at: &str,
        object: &Map<String, Value>,
        key: &str,
        required: bool,
        is_v4: Option<bool>,
    ) {
        let found = object.get(key);
        if !required && found.is_none_or(Value::is_null) {
            return;
        }
        let parsed = found.and_then(Value::as_str).and_then(|text| {
            let (address, prefix) = text.split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            let prefix: u8 = prefix.parse().ok()?;
            (prefix <= if address.is_ipv4() { 32 } else { 128 }).then_some(address)
        });
        match (parsed, is_v4) {
            (Some(address), Some(is_v4)) if address.is_ipv4() != is_v4 => {
                self.wrong(at, key, found, if is_v4 { "an IPv4 address" } else { "an IPv6 address" });
            }
            (Some(_), _) => {}
            (None, _) => self.wrong(at, key, found, "an address in CIDR notation"),
        }
    }

    /// Keys that belong to another layout.
    fn foreign(&mut self, at: &str, object: &Map<String, Value>, keys: &[&str]) {
        for key in keys.iter().filter(|key| object.contains_key(**key)) {
            self.problems.push(format!(
                "{} does not belong into a result of {}",
                path(at, key),
                self.version
            ));
        }
    }

    fn wrong(&mut self, at: &str, key: &str, found: Option<&Value>, expected: &str) {
        let found = found.map_or_else(|| "missing".to_owned(), Value::to_string);
        self.problems.push(format!("{} is {found}, expected {expected}", path(at, key)));
    }
}

fn path(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

#[cfg(test)]
mod tests;
