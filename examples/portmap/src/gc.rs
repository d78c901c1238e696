//! What belongs to no valid attachment: by the records, and by the comments of iptables rules.

use std::collections::{BTreeMap, HashMap, HashSet};

use cni_skel::types::config::Attachment;
use cni_skel::{Error, Result};
use plugin_support::firewall::probe::Backend;
use plugin_support::records::Records;

use crate::firewall::FAMILIES;
use crate::rules::Removal;
use crate::store::Record;
use crate::{Portmap, firewall, iptables, names, warn};

impl Portmap {
    /// Removes what belongs to no valid attachment of a network.
    pub(crate) fn collect(&self, network: &str, valid: &[Attachment], store: &Records<Record>) -> Result<()> {
        let names: HashSet<_> =
            valid.iter().map(|attachment| (attachment.container_id(), attachment.ifname())).collect();
        let is_valid =
            |record: &Record| names.contains(&(record.container_id.as_str(), record.ifname.as_str()));
        let records: Vec<_> = store.all()?.into_iter().filter(|record| record.network == network).collect();
        let (alive, dead): (Vec<_>, Vec<_>) = records.into_iter().partition(is_valid);
        let mut errors = Vec::new();
        let mut ports = Vec::new();

        // Rules of iptables name their network, so that those without a record are found as well.
        let chains: HashSet<_> =
            valid.iter().map(|attachment| names::dnat_chain(network, attachment.container_id())).collect();
        let removals = removals(network, valid, &alive, &dead, Backend::Iptables);
        for family in FAMILIES {
            let is_valid = |chain: &str| chains.contains(chain);
            match iptables::collect(&*self.tools, family, network, is_valid, &removals) {
                Ok(found) => ports.push((family, found)),
                // What is not installed has made nothing, or can no longer be asked.
                Err(error) if firewall::is_missing(&error) => {}
                Err(error) if removals.is_empty() => {
                    warn(&format!("cannot look for leftover rules: {}", error.to_object().msg));
                }
                Err(error) => errors.push(error),
            }
        }
        let of_nftables = self::removals(network, valid, &alive, &dead, Backend::Nftables);
        if !of_nftables.is_empty() {
            match self.by(Backend::Nftables).remove(&FAMILIES, &of_nftables) {
                Ok(found) => ports.extend(found),
                Err(error) if firewall::is_missing(&error) => {}
                Err(error) => errors.push(error),
            }
        }
        self.forget_udp(&ports);
        if errors.is_empty() {
            let removed = dead.iter().map(|record| store.remove(&record.container_id, &record.ifname));
            errors.extend(removed.filter_map(|removed| removed.err().map(Error::from)));
        }
        Error::all(errors).map_or(Ok(()), Err)
    }
}

/// What to remove for the sake of dead attachments, one removal a container.
fn removals(
    network: &str,
    valid: &[Attachment],
    alive: &[Record],
    dead: &[Record],
    backend: Backend,
) -> Vec<Removal> {
    let recorded: HashSet<_> =
        alive.iter().map(|record| (record.container_id.as_str(), record.ifname.as_str())).collect();
    let is_unknown =
        |attachment: &&Attachment| !recorded.contains(&(attachment.container_id(), attachment.ifname()));
    let unknown: HashSet<_> = valid.iter().filter(is_unknown).map(Attachment::container_id).collect();
    let mut others: HashMap<&str, Vec<_>> = HashMap::new();
    for record in alive {
        others.entry(record.container_id.as_str()).or_default().extend(&record.addresses);
    }
    let mut removals: BTreeMap<&str, Removal> = BTreeMap::new();
    for record in dead.iter().filter(|record| record.backend == backend) {
        let container_id = record.container_id.as_str();
        let removal = removals.entry(container_id).or_insert_with(|| Removal {
            network: network.to_owned(),
            container_id: container_id.to_owned(),
            addresses: None,
            others: others.get(container_id).cloned().unwrap_or_default(),
            has_unknown: unknown.contains(container_id),
        });
        removal.addresses.get_or_insert_default().extend(&record.addresses);
    }
    removals.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::rules::Owner;

    fn record(id: usize, ifname: &str, host: u8) -> Record {
        let owner = Owner { network: "n1".into(), container_id: format!("c{id:05}"), ifname: ifname.into() };
        Record::new(&owner, Backend::Iptables, vec![IpAddr::from([10, 1, 0, host])])
    }

    #[test]
    fn each_of_many_containers_has_one_removal_that_spares_its_living_interfaces() {
        // So many that whoever compares each with each is not done for minutes.
        const CONTAINERS: usize = 50_000;
        let all = |ifname, host| (0..CONTAINERS).map(move |id| record(id, ifname, host));
        let dead: Vec<_> = all("eth0", 5).chain(all("eth1", 6)).collect();
        let alive: Vec<_> = all("eth2", 7).chain(all("eth3", 8)).collect();
        let attachment = |record: &Record| Attachment::new(&record.container_id, &record.ifname);
        let mut valid: Vec<_> = alive.iter().map(attachment).collect();
        valid.push(Attachment::new("c00003", "net1"));
        let removals = removals("n1", &valid, &alive, &dead, Backend::Iptables);
        assert_eq!(removals.len(), CONTAINERS);
        for (id, removal) in removals.into_iter().enumerate() {
            let addresses = |hosts: [u8; 2]| hosts.map(|host| IpAddr::from([10, 1, 0, host])).to_vec();
            let expected = Removal {
                network: "n1".into(),
                container_id: format!("c{id:05}"),
                addresses: Some(addresses([5, 6])),
                others: addresses([7, 8]),
                // Nobody recorded where its `net1` leads to.
                has_unknown: id == 3,
            };
            assert_eq!(removal, expected);
        }
        assert_eq!(self::removals("n1", &valid, &alive, &dead, Backend::Nftables), []);
    }
}
