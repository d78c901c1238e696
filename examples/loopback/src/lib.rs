//! Brings the loopback interface of a container up. Runtimes call it before anything else.
//!
//! The interface is always `lo`, whatever `CNI_IFNAME` says. Alone, the result has `lo` and its addresses; in a chain
//! the `prevResult` is passed on as it is.

use std::net::IpAddr;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, Cidr, CniPlugin, DelRequest, Error, Interface, IpConfig, MacAddr,
    Plugin, Result, ResultExt,
};
use plugin_support::netlink::{Address, Link};
use plugin_support::netns::NetNs;

/// The interface's name in every namespace.
const LO: &str = "lo";

/// The loopback plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "loopback", about = "brings the loopback interface up")]
pub struct Loopback;

#[cni_skel::plugin]
impl Plugin for Loopback {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let netlink = NetNs::open(req.netns().path())?.netlink()?;
        let lo = netlink.link(LO)?;
        // Looked at first: a refused ADD leaves the link as it was.
        refuse_foreign(&netlink.addresses(&lo)?)?;
        netlink.set_up(&lo)?;
        if let Some(prev_result) = req.prev_result() {
            return Ok(prev_result.clone());
        }
        let mut result = AddResult::default();
        let interface = Interface::new(LO).with_mac(MacAddr::new([0; 6])).in_sandbox(req.netns().to_string());
        let index = result.add_interface(interface);
        // The kernel gives the addresses when the link comes up.
        let addresses = netlink.addresses(&lo)?;
        let first =
            |v4: bool| addresses.iter().map(|found| found.network).find(|network| network.is_ipv4() == v4);
        for network in [first(true), first(false)].into_iter().flatten() {
            result.add_ips_on(index, [IpConfig::new(Cidr::new(network.ip(), network.prefix())?)]);
        }
        Ok(result)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let netlink = NetNs::open(req.netns().path())?.netlink()?;
        let lo = netlink.link(LO)?;
        refuse_down(&lo)?;
        let addresses = netlink.addresses(&lo)?;
        refuse_foreign(&addresses)?;
        // What ADD reported for `lo` must still be there; the addresses of other interfaces are not this plugin's.
        let prev_result = req.prev_result();
        let Some(index) = prev_result.container_interface(LO) else { return Ok(()) };
        for expected in prev_result.ips_of(index).map(|ip| ip.address) {
            let same = |found: &Address| {
                found.network.ip() == expected.address() && found.network.prefix() == expected.prefix()
            };
            if !addresses.iter().any(same) {
                return Err(Error::message(format!("loopback interface has lost its address {expected}")));
            }
        }
        Ok(())
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        // Without a namespace there is no link either.
        let Some(netns) = req.netns() else { return Ok(()) };
        let netns = match NetNs::open(netns.path()) {
            Err(error) if error.is_not_found() => return Ok(()),
            opened => opened?,
        };
        let netlink = netns.netlink()?;
        let lo = netlink.link(LO)?;
        netlink.set_down(&lo).context("taking the loopback interface down")
    }
}

fn refuse_down(lo: &Link) -> Result<()> {
    if lo.is_up() { Ok(()) } else { Err(Error::message("loopback interface is down")) }
}

/// An address that is no loopback address makes `lo` something that a container must not be given.
fn refuse_foreign(addresses: &[Address]) -> Result<()> {
    let foreign = |address: IpAddr| !address.is_loopback();
    match addresses.iter().map(|found| found.network.ip()).find(|address| foreign(*address)) {
        None => Ok(()),
        Some(address) => {
            let found = address.to_string();
            Err(Error::message(format!("loopback interface found with non-loopback address {found:?}")))
        }
    }
}
