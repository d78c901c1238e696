//! GC: what belongs to no valid attachment of the network goes, and so do its addresses.

use cni_skel::{Error, GcRequest, Result};
use plugin_attach::{masquerade, teardown};

use crate::{Bridge, macspoof};

pub(crate) fn gc(plugin: &Bridge, req: &GcRequest<Bridge>) -> Result<()> {
    let (network, valid) = (req.network().as_str(), req.valid_attachments());
    let mut failures = Vec::new();
    failures.extend(teardown::collect_pairs(&plugin.kernel, network, valid).err());
    // The configuration may have said `ipMasq` when they were made.
    let is_wanted = req.config().masquerade().is_some();
    failures.extend(masquerade::collect(&*plugin.tools, network, valid, is_wanted).err());
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
