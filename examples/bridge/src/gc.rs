//! GC: what belongs to no valid attachment of the network goes, and so do its addresses.

use cni_skel::{Error, GcRequest, Result};
use plugin_attach::{masquerade, teardown, warn};

use crate::{Bridge, macspoof};

pub(crate) fn gc(plugin: &Bridge, req: &GcRequest<Bridge>) -> Result<()> {
    let (network, valid) = (req.network().as_str(), req.valid_attachments());
    let mut failures = Vec::new();
    failures.extend(teardown::collect_pairs(&plugin.kernel, network, valid).err());
    // The configuration may have said `ipMasq` when they were made. Without addresses there is nothing to masquerade, and to
    // look for it would load iptables' NAT into the kernel.
    let is_wanted = req.config().masquerade().is_some();
    if is_wanted || req.wants_ipam() {
        failures.extend(masquerade::collect(&*plugin.tools, network, valid, is_wanted).err());
    }
    // The same with `macspoofchk`, which needs no addresses; to list what nftables has hooks nothing into the kernel.
    let host = plugin.kernel.current().and_then(|host| host.netlink());
    let collected =
        host.map_err(Error::from).and_then(|host| macspoof::collect(&*plugin.tools, &host, network, valid));
    match collected {
        Err(error) if req.config().mac_spoof_check() => failures.push(error),
        Err(error) => warn(&error.to_object().msg),
        Ok(()) => {}
    }
    // When nobody has the addresses any more.
    if req.wants_ipam() {
        failures.extend(req.ipam().and_then(|ipam| ipam.gc()).err());
    }
    Error::all(failures).map_or(Ok(()), Err)
}
