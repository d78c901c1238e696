//! Rules as iptables wants them, word by word as Go's plugin has them: its CHECK looks for exactly these.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{DNAT, MASQ, SETMARK, Source};
use crate::config::{Mapping, Mark};
use crate::names;
use crate::rules::{Forwarding, Owner};

/// How many ports the multiport match takes.
const MULTIPORT: usize = 15;

/// The rules of a container's chain.
pub(super) fn rules(forwarding: &Forwarding) -> Vec<Vec<String>> {
    let mut rules = Vec::new();
    let set_mark = match &forwarding.mark {
        Mark::Bit(_) => SETMARK,
        Mark::Chain(chain) => chain,
    };
    for mapping in forwarding.own() {
        let connection = connection(mapping);
        for source in &forwarding.masqueraded {
            let source = match (source, forwarding.container.address()) {
                (Source::Container, _) => forwarding.container.network().to_string(),
                (Source::Everyone, IpAddr::V4(_)) => "0.0.0.0/0".to_owned(),
                (Source::Everyone, IpAddr::V6(_)) => "::/0".to_owned(),
                (Source::Localhost, _) => "127.0.0.1".to_owned(),
            };
            rules.push([&connection[..], &words(["-s", &source, "-j", set_mark])].concat());
        }
        let target = forwarding.target(mapping).to_string();
        rules.push([&connection[..], &words(["-j", "DNAT", "--to-destination", &target])].concat());
    }
    rules
}

/// The rules that lead to a container's chain.
///
/// Ports of the other family are among them: Go's CHECK wants them there, and they do no harm, as the chain has no rule
/// for them.
pub(super) fn entries(owner: &Owner, forwarding: &Forwarding) -> Vec<Vec<String>> {
    let comment = names::dnat_comment(&owner.network, &owner.container_id);
    let chain = names::dnat_chain(&owner.network, &owner.container_id);
    let mut ports: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for mapping in &forwarding.mappings {
        ports.entry(mapping.protocol.as_str()).or_default().push(mapping.host_port.to_string());
    }
    let mut entries = Vec::new();
    for (protocol, ports) in ports {
        for ports in ports.chunks(MULTIPORT) {
            let ports = ports.join(",");
            let mut entry =
                words(["-m", "comment", "--comment", &comment, "-m", "multiport", "-p", protocol]);
            entry.extend(words(["--destination-ports", &ports]));
            entry.extend_from_slice(&forwarding.conditions);
            entry.extend(words(["-j", &chain]));
            entries.push(entry);
        }
    }
    entries
}

/// From the kernel's chains to the one that all containers share.
pub(super) fn to_dnat() -> Vec<String> {
    words(["-m", "addrtype", "--dst-type", "LOCAL", "-j", DNAT])
}

/// Sets the mark.
pub(super) fn set_mark(bit: u8) -> Vec<String> {
    let mark = mark(bit);
    words(["-m", "comment", "--comment", "CNI portfwd masquerade mark", "-j", "MARK", "--set-xmark", &mark])
}

/// From the kernel's chain to the one that masquerades.
pub(super) fn to_masquerade() -> Vec<String> {
    words(["-m", "comment", "--comment", "CNI portfwd requiring masquerade", "-j", MASQ])
}

/// Masquerades what has the mark.
pub(super) fn masquerade(bit: u8) -> Vec<String> {
    words(["-m", "mark", "--mark", &mark(bit), "-j", "MASQUERADE"])
}

/// A bit as a value and mask.
pub(super) fn mark(bit: u8) -> String {
    let value = 1_u32 << bit;
    format!("{value:#x}/{value:#x}")
}

/// Which connections a mapping is for.
fn connection(mapping: &Mapping) -> Vec<String> {
    let port = mapping.host_port.to_string();
    let mut connection = words(["-p", mapping.protocol.as_str(), "--dport", &port]);
    if let Some(address) = mapping.only_to() {
        connection.extend(["-d".to_owned(), address.to_string()]);
    }
    connection
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
