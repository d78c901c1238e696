//! What the host must let happen, or must not.

use std::net::IpAddr;

use cni_skel::{Result, ResultExt};
use plugin_support::netns::NetNs;

use crate::warn;

/// What lets a host forward packets of a family: IPv4 or not, and the sysctl.
const FORWARDING: [(bool, &str); 2] =
    [(true, "net/ipv4/ip_forward"), (false, "net/ipv6/conf/all/forwarding")];

/// Lets the host forward packets of the families of these addresses.
///
/// # Errors
///
/// When it does not, and does not let itself be told to.
pub fn enable_forwarding(host: &NetNs, addresses: impl IntoIterator<Item = IpAddr>) -> Result<()> {
    match not_forwarded(host, addresses)?.as_slice() {
        [] => Ok(()),
        keys => keys
            .iter()
            .try_for_each(|key| host.sysctl().write(key, "1"))
            .context("failed to enable forwarding"),
    }
}

/// The sysctls of the families of these addresses whose packets are not forwarded.
///
/// # Errors
///
/// When that cannot be told.
pub fn not_forwarded(host: &NetNs, addresses: impl IntoIterator<Item = IpAddr>) -> Result<Vec<&'static str>> {
    let addresses: Vec<_> = addresses.into_iter().collect();
    let mut keys = Vec::new();
    for (v4, key) in FORWARDING {
        let is_used = addresses.iter().any(|address| address.is_ipv4() == v4);
        if is_used && host.sysctl().read_if_present(key)?.is_none_or(|value| value == "0") {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// Lets nobody behind a link of the host tell the host where to send its packets (CVE-2020-10749). Before it is up.
pub fn no_router_advertisements(host: &NetNs, link: &str) {
    // Where sysctls cannot be written, Go's plugins go on as well; a kernel without IPv6 has none.
    if let Err(error) = host.sysctl().write_if_present(&format!("net/ipv6/conf/{link}/accept_ra"), "0") {
        warn(&format!("{link} may accept router advertisements: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use plugin_support::testing::FakeKernel;

    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn only_the_families_that_are_used_are_forwarded() {
        let host = FakeKernel::new().host();
        enable_forwarding(&host, ips(&["fd00::1"])).unwrap();
        assert_eq!(host.sysctl().read("net.ipv4.ip_forward").unwrap(), "0");
        assert_eq!(not_forwarded(&host, ips(&["10.1.0.1", "fd00::1"])).unwrap(), ["net/ipv4/ip_forward"]);
        enable_forwarding(&host, ips(&["10.1.0.1", "fd00::1"])).unwrap();
        assert_eq!(not_forwarded(&host, ips(&["10.1.0.1", "fd00::1"])).unwrap(), [""; 0]);
    }

    #[test]
    fn c65_without_ipv6_nothing_of_it_is_touched() {
        let host = FakeKernel::without_ipv6().host();
        no_router_advertisements(&host, "eth0");
        enable_forwarding(&host, ips(&["10.1.0.1"])).unwrap();
        assert!(enable_forwarding(&host, ips(&["fd00::1"])).is_err());
    }
}
