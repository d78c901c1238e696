//! Gives a container an interface whose other end is on the host, and routes between the two.
//!
//! | module | decides |
//! | --- | --- |
//! | here | what each command does, and which addresses and routes there are |
//! | [`kernel`] | how the kernel is brought to it |
//!
//! Addresses come from the IPAM plugin of the configuration, each with a gateway: the host's end gets that.

pub mod kernel;
mod netlink;

use cni_skel::types::{ContainerId, InterfaceName, NetworkName};
use cni_skel::{
    AddRequest, AddResult, CheckRequest, Cidr, CniPlugin, Context, DelRequest, Error, ErrorCode,
    GcRequest, Interface, IpConfig, Netns, Plugin, Result, Route, StatusRequest,
};

use self::kernel::{Gateway, Kernel, Linux, Pair};

/// This plugin's own configuration keys.
#[derive(Debug, serde::Deserialize)]
pub struct Config {
    /// The MTU of both ends in bytes; the kernel's default, 1500, if absent.
    pub mtu: Option<u32>,
}

/// Connects a container to the host, and routes between them.
#[derive(Debug, CniPlugin)]
#[cni(name = "my-plugin", versions = "0.3.1..=1.1.0", config = Config)]
pub struct MyPlugin {
    kernel: Box<dyn Kernel>,
}

impl Default for MyPlugin {
    /// On this machine.
    fn default() -> Self {
        Self::on(Linux)
    }
}

impl MyPlugin {
    /// On another kernel, for tests.
    pub fn on(kernel: impl Kernel + 'static) -> Self {
        Self {
            kernel: Box::new(kernel),
        }
    }
}

#[cni_skel::plugin]
impl Plugin for MyPlugin {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        // Given back by DEL if anything below fails.
        let lease = req.ipam()?.add()?;
        let ips: Vec<_> = lease.ips().collect();
        let routes = lease.routes().to_vec();

        let host_end = host_end(req.network(), req.container_id(), req.ifname());
        let pair = pair(req, req.netns(), req.ifname(), host_end, &ips, &routes)?;
        let [host, container] = self.kernel.attach(&pair)?;

        // Empty, or in a chain the prevResult.
        let mut result = req.result();
        result.add_interface(Interface::new(pair.host_end).with_mac(host.mac));
        let eth0 = result.add_interface(req.interface().with_mac(container.mac));
        result.add_ips_on(eth0, ips);
        result.routes.extend(routes);
        if result.dns.is_empty() {
            result.dns = lease.dns().clone();
        }
        lease.commit();
        Ok(result)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        req.ipam()?.check()?;
        // What ADD has said: later plugins of the chain may have added to it, so only what is ours is looked at.
        let said = req.prev_result();
        let Some(eth0) = said.container_interface(req.ifname().as_str()) else {
            return Err(Error::message(format!(
                "prevResult has no interface {:?}",
                req.ifname().as_str()
            )));
        };
        let host_end = host_end(req.network(), req.container_id(), req.ifname());
        let addresses: Vec<_> = said.ips_of(eth0).map(|ip| ip.address).collect();
        self.kernel
            .check(req.netns(), req.ifname().as_str(), &host_end, &addresses)
    }

    // Called again, without a namespace and for what was never attached, it succeeds.
    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        self.kernel
            .detach(&host_end(req.network(), req.container_id(), req.ifname()))?;
        req.ipam()?.del()
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let valid: Vec<_> = req
            .valid_attachments()
            .iter()
            .map(|valid| name_of(req.network().as_str(), valid.container_id(), valid.ifname()))
            .collect();
        let mut errors = Vec::new();
        for host_end in self.kernel.host_ends(&alias(req.network()))? {
            if !valid.contains(&host_end) {
                errors.extend(self.kernel.detach(&host_end).err());
            }
        }
        errors.extend(req.ipam()?.gc().err());
        Error::all(errors).map_or(Ok(()), Err)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        req.ipam()?.status()
    }
}

/// What is to be on the kernel.
fn pair(
    req: &Context<MyPlugin>,
    netns: &Netns,
    ifname: &InterfaceName,
    host_end: String,
    ips: &[IpConfig],
    routes: &[Route],
) -> Result<Pair> {
    let gateways = ips.iter().map(|ip| {
        let gateway = ip.gateway.ok_or_else(|| {
            let msg = format!("address {} of the IPAM plugin has no gateway", ip.address);
            Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg)
        })?;
        Ok(Gateway {
            of: ip.address,
            address: gateway,
        })
    });
    let gateways = gateways.collect::<Result<Vec<_>>>()?;
    // A route without a gateway goes through the one of its family.
    let by_default = |dst: Cidr| {
        gateways
            .iter()
            .find(|gateway| gateway.of.is_ipv4() == dst.is_ipv4())
            .map(|gateway| gateway.address)
    };
    let routes = routes.iter().map(|route| {
        let via = route.gw.or_else(|| by_default(route.dst)).ok_or_else(|| {
            let msg = format!(
                "route to {} needs a gateway, and no address has one of its family",
                route.dst
            );
            Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg)
        })?;
        Ok((route.dst, via))
    });
    let routes = routes.collect::<Result<Vec<_>>>()?;
    Ok(Pair {
        host_end,
        alias: alias(req.network()),
        netns: netns.clone(),
        ifname: ifname.as_str().to_owned(),
        mtu: req.config().mtu,
        gateways,
        routes,
    })
}

/// The name of the host's end. It follows from the attachment, so that DEL needs nothing else.
fn host_end(network: &NetworkName, container: &ContainerId, ifname: &InterfaceName) -> String {
    name_of(network.as_str(), container.as_str(), ifname.as_str())
}

/// `veth` and part of a hash (FNV-1a, which no release of Rust changes): 15 bytes, as many as a name may have.
fn name_of(network: &str, container: &str, ifname: &str) -> String {
    let key = format!("{network}/{container}/{ifname}");
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("veth{:011x}", hash & 0xfff_ffff_ffff)
}

/// What the host's ends of a network have in common, so that GC finds them.
fn alias(network: &NetworkName) -> String {
    format!("my-plugin/{}", network.as_str())
}
