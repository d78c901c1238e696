//! GC: what belongs to no valid attachment of the network goes, and so do its addresses.

use cni_skel::{Error, GcRequest, Result};

use crate::names::{Owner, network_key};
use crate::{Bridge, macspoof, masq, veth};

pub(crate) fn gc(plugin: &Bridge, req: &GcRequest<Bridge>) -> Result<()> {
    let (network, valid) = (req.network().as_str(), req.valid_attachments());
    let mut failures = Vec::new();
    failures.extend(collect_links(plugin, req).err());
    // Without the key no such rules were made, and to look for them would load a firewall into the kernel.
    if req.config().masquerade().is_some() {
        failures.extend(masq::collect(&*plugin.tools, network, valid).err());
    }
    if req.config().mac_spoof_check() {
        let host = plugin.kernel.current().and_then(|host| host.netlink());
        let collected = host
            .map_err(Error::from)
            .and_then(|host| macspoof::collect(&*plugin.tools, &host, network, valid));
        failures.extend(collected.err());
    }
    // When nobody has the addresses any more.
    if req.wants_ipam() {
        failures.extend(req.ipam().and_then(|ipam| ipam.gc()).err());
    }
    Error::all(failures).map_or(Ok(()), Err)
}

/// Deletes the pairs that this plugin has labelled as the network's, save for those of valid attachments.
fn collect_links(plugin: &Bridge, req: &GcRequest<Bridge>) -> Result<()> {
    let network = req.network().as_str();
    let of_network = network_key(network);
    let valid: Vec<_> = req.valid_attachments().iter().map(|valid| Owner::of(network, valid).key()).collect();
    let is_stale = |key: &str| key.starts_with(&of_network) && !valid.iter().any(|valid| valid == key);
    veth::delete_labelled(&plugin.kernel.current()?.netlink()?, is_stale)
}
