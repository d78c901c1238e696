//! How a result comes to be.

use cni_skel::{AddResult, Dns, Interface, MacAddr};
use plugin_support::netlink::Link;

/// A link as a result tells it; without a sandbox it is the host's.
pub fn interface(link: &Link, sandbox: Option<String>) -> Interface {
    let mut interface = Interface::new(&link.name).with_mtu(link.mtu);
    interface.mac = link.mac.map(|mac| MacAddr::new(mac.octets()).to_string());
    interface.sandbox = sandbox;
    interface
}

/// Name resolution: that of the configuration, or else what the IPAM plugin said.
pub fn dns(configured: &Dns, of_ipam: &Dns) -> Dns {
    if configured.is_empty() { of_ipam.clone() } else { configured.clone() }
}

/// The result of an earlier plugin of the chain, and after it this one's own.
pub fn after(mut earlier: AddResult, own: AddResult) -> AddResult {
    let offset = earlier.interfaces.len();
    earlier.interfaces.extend(own.interfaces);
    earlier.ips.extend(own.ips.into_iter().map(|mut ip| {
        ip.interface = ip.interface.map(|index| index + offset);
        ip
    }));
    earlier.routes.extend(own.routes);
    for (earlier, own) in [
        (&mut earlier.dns.nameservers, own.dns.nameservers),
        (&mut earlier.dns.search, own.dns.search),
        (&mut earlier.dns.options, own.dns.options),
    ] {
        earlier.extend(own);
    }
    if !own.dns.domain.is_empty() {
        earlier.dns.domain = own.dns.domain;
    }
    earlier
}
