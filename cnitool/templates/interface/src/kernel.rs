//! How an attachment comes to be on the kernel, is verified and goes.
//!
//! The container's end takes no route to its subnet, as others of it are behind other interfaces: everything goes through
//! the gateway, which is the host's end.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::IpAddr;

use cni_skel::{Cidr, Error, MacAddr, Netns, Result, ResultExt};

use crate::netlink::Netlink;

/// What is asked of the kernel. Tests have one in memory.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// Makes the pair with its addresses and routes, or nothing. Gives the host's end and the container's.
    fn attach(&self, pair: &Pair) -> Result<[Link; 2]>;

    /// Verifies that both ends are there and up, and that the container's has these addresses.
    fn check(&self, netns: &Netns, ifname: &str, host_end: &str, addresses: &[Cidr]) -> Result<()>;

    /// Removes the host's end, and with it the container's. One that is not there is no error.
    fn detach(&self, host_end: &str) -> Result<()>;

    /// The host's ends that have this alias.
    fn host_ends(&self, alias: &str) -> Result<Vec<String>>;
}

/// An attachment.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The name of the host's end.
    pub host_end: String,
    /// The alias of the host's end.
    pub alias: String,
    /// The container's namespace.
    pub netns: Netns,
    /// The name of the container's end.
    pub ifname: String,
    /// The MTU of both ends in bytes.
    pub mtu: Option<u32>,
    /// The container's addresses with their gateways.
    pub gateways: Vec<Gateway>,
    /// The container's routes, and the gateway of each.
    pub routes: Vec<(Cidr, IpAddr)>,
}

/// An address of the container and its gateway, which the host's end has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gateway {
    /// The container's address.
    pub of: Cidr,
    /// The host's.
    pub address: IpAddr,
}

/// An interface.
#[derive(Clone, Debug)]
pub struct Link {
    /// The number by which requests name it.
    pub index: u32,
    /// The name.
    pub name: String,
    /// Free text about it.
    pub alias: Option<String>,
    /// The hardware address.
    pub mac: MacAddr,
    /// Whether it is up.
    pub up: bool,
}

/// The kernel of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Linux;

impl Kernel for Linux {
    fn attach(&self, pair: &Pair) -> Result<[Link; 2]> {
        let netns = File::open(pair.netns.path())
            .with_context(|| format!("opening netns {}", pair.netns))?;
        let host = Netlink::open()?;
        // The kernel refuses if either name is taken.
        host.create_veth(pair, &netns)
            .with_context(|| format!("creating interface {:?}", pair.ifname))?;
        configure(pair, &host).inspect_err(|_| {
            // Nothing of it was there before, so nothing may stay; the first error is the one to tell.
            let _ = self.detach(&pair.host_end);
        })
    }

    fn check(&self, netns: &Netns, ifname: &str, host_end: &str, addresses: &[Cidr]) -> Result<()> {
        let host = Netlink::open()?;
        let container = inside(netns)?;
        let mut found = Vec::new();
        for (netlink, name) in [(&host, host_end), (&container, ifname)] {
            let Some(link) = netlink.link(name)? else {
                return Err(Error::message(format!("interface {name:?} is missing")));
            };
            if !link.up {
                return Err(Error::message(format!("interface {name:?} is down")));
            }
            found.push(link);
        }
        let actual = container.addresses(found[1].index)?;
        match addresses.iter().find(|address| !actual.contains(address)) {
            Some(address) => Err(Error::message(format!(
                "interface {ifname:?} has lost its address {address}"
            ))),
            None => Ok(()),
        }
    }

    fn detach(&self, host_end: &str) -> Result<()> {
        let host = Netlink::open()?;
        let Some(link) = host.link(host_end)? else {
            return Ok(());
        };
        host.delete(link.index)
            .with_context(|| format!("deleting interface {host_end:?}"))
    }

    fn host_ends(&self, alias: &str) -> Result<Vec<String>> {
        let links = Netlink::open()?.links()?;
        Ok(links
            .into_iter()
            .filter(|link| link.alias.as_deref() == Some(alias))
            .map(|link| link.name)
            .collect())
    }
}

/// Brings both ends up, with addresses and routes.
fn configure(pair: &Pair, host: &Netlink) -> Result<[Link; 2]> {
    let container = inside(&pair.netns)?;
    let missing = |name: &str| Error::message(format!("interface {name:?} has vanished"));
    let host_end = host
        .link(&pair.host_end)?
        .ok_or_else(|| missing(&pair.host_end))?;
    let eth0 = container
        .link(&pair.ifname)?
        .ok_or_else(|| missing(&pair.ifname))?;

    host.set_up(host_end.index)
        .context("setting the host's end up")?;
    container
        .set_up(eth0.index)
        .context("setting the container's end up")?;
    for Gateway { of, address } in &pair.gateways {
        let what = || format!("adding address {of} with gateway {address}");
        container.add_address(eth0.index, *of).with_context(what)?;
        host.add_address(host_end.index, Cidr::host(*address))
            .with_context(what)?;
        host.add_route(host_end.index, Cidr::host(of.address()), None)
            .with_context(what)?;
        let gateway = container.add_route(eth0.index, Cidr::host(*address), None);
        first_wins(gateway).with_context(what)?;
        if of.network() != Cidr::host(of.address()) {
            let subnet = container.add_route(eth0.index, of.network(), Some(*address));
            first_wins(subnet).with_context(what)?;
        }
    }
    for (dst, via) in &pair.routes {
        let what = || format!("adding route to {dst} via {via}");
        first_wins(container.add_route(eth0.index, *dst, Some(*via))).with_context(what)?;
    }
    Ok([host_end, eth0])
}

/// A container with two interfaces of a network has one way out: the first. Of the host's routes each is needed.
fn first_wins(added: io::Result<()>) -> io::Result<()> {
    match added {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        added => added,
    }
}

/// A connection to the kernel that works in the container, from any thread.
fn inside(netns: &Netns) -> Result<Netlink> {
    Ok(netns.run(Netlink::open)??)
}
