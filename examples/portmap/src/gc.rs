//! What belongs to no valid attachment: by the records, and by the comments of iptables rules.

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
        let is_valid = |record: &Record| {
            valid.iter().any(|attachment| attachment.is(&record.container_id, &record.ifname))
        };
        let records: Vec<_> = store.all()?.into_iter().filter(|record| record.network == network).collect();
        let (alive, dead): (Vec<_>, Vec<_>) = records.into_iter().partition(is_valid);
        let mut errors = Vec::new();
        let mut ports = Vec::new();

        // Rules of iptables name their network, so that those without a record are found as well.
        let chains: Vec<_> =
            valid.iter().map(|attachment| names::dnat_chain(network, attachment.container_id())).collect();
        let removals = removals(network, valid, &alive, &dead, Backend::Iptables);
        for family in FAMILIES {
            let is_valid = |chain: &str| chains.iter().any(|valid| valid == chain);
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
    let mut removals: Vec<Removal> = Vec::new();
    for record in dead.iter().filter(|record| record.backend == backend) {
        if let Some(known) = removals.iter_mut().find(|removal| removal.container_id == record.container_id) {
            known.addresses.get_or_insert_default().extend(&record.addresses);
            continue;
        }
        let of_container = |other: &&Record| other.container_id == record.container_id;
        let others: Vec<_> = alive.iter().filter(of_container).collect();
        let is_recorded =
            |attachment: &&Attachment| others.iter().any(|other| other.ifname == attachment.ifname());
        let of_valid = valid.iter().filter(|attachment| attachment.container_id() == record.container_id);
        removals.push(Removal {
            network: network.to_owned(),
            container_id: record.container_id.clone(),
            addresses: Some(record.addresses.clone()),
            others: others.iter().flat_map(|other| other.addresses.clone()).collect(),
            has_unknown: of_valid.into_iter().any(|attachment| !is_recorded(&attachment)),
        });
    }
    removals
}
