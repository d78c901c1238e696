//! Gives out the addresses of a subnet: an IPAM plugin, which another plugin calls.
//!
//! [`store`] knows what is taken; here is what each command does, and which addresses there are.

pub mod store;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, Cidr, CniPlugin, Context, DelRequest, Error, ErrorCode,
    GcRequest, IpConfig, Plugin, Result, ResultExt, Route, StatusRequest,
};

use self::store::Store;

/// The configuration: an IPAM plugin's keys are in `ipam`, beside those of the plugin that calls it.
#[derive(Debug, serde::Deserialize)]
pub struct Config {
    /// This plugin's keys.
    pub ipam: Ipam,
}

/// This plugin's own configuration keys.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ipam {
    /// The network whose addresses are given out.
    pub subnet: Cidr,
    /// The gateway, which is not given out. By default the first address of the subnet.
    pub gateway: Option<IpAddr>,
    /// What containers reach through the gateway.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Where it is written down what is taken: a directory for each network.
    #[serde(default = "default_dir")]
    pub data_dir: PathBuf,
}

fn default_dir() -> PathBuf {
    "/var/lib/cni/networks/my-plugin".into()
}

/// Gives out the addresses of a subnet.
#[derive(Debug, CniPlugin)]
#[cni(name = "my-plugin", versions = "0.3.1..=1.1.0", config = Config)]
pub struct MyPlugin;

#[cni_skel::plugin]
impl Plugin for MyPlugin {
    // Called again for the same attachment, it gives the same address.
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let ipam = &req.config().ipam;
        let gateway = ipam.gateway()?;
        let owner = store::owner(req.container_id().as_str(), req.ifname().as_str());
        let address = store(req)?
            .reserve(&owner, ipam.addresses()?)?
            .ok_or_else(|| ipam.is_full())?;

        // An IPAM plugin's result has no interfaces.
        let mut result = AddResult::default();
        result
            .ips
            .push(IpConfig::new(Cidr::new(address, ipam.subnet.prefix())?).with_gateway(gateway));
        result.routes.clone_from(&ipam.routes);
        Ok(result)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let owner = store::owner(req.container_id().as_str(), req.ifname().as_str());
        let Some(address) = store(req)?.find(&owner)? else {
            return Err(Error::message("no address is reserved for the attachment"));
        };
        if req
            .prev_result()
            .ips
            .iter()
            .any(|ip| ip.address.address() == address)
        {
            Ok(())
        } else {
            Err(Error::message(format!(
                "prevResult does not have {address}, which is reserved for the attachment"
            )))
        }
    }

    // Called again, and for what was never attached, it succeeds.
    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        store(req)?.release(&store::owner(
            req.container_id().as_str(),
            req.ifname().as_str(),
        ))
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let valid: Vec<_> = req
            .valid_attachments()
            .iter()
            .map(|valid| store::owner(valid.container_id(), valid.ifname()))
            .collect();
        store(req)?.retain(&valid)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let ipam = &req.config().ipam;
        let free = store(req).and_then(|store| store.first_free(ipam.addresses()?));
        match free
            .context("no address can be given out")
            .code(ErrorCode::PLUGIN_NOT_AVAILABLE)?
        {
            Some(_) => Ok(()),
            None => Err(ipam.is_full().with_code(ErrorCode::PLUGIN_NOT_AVAILABLE)),
        }
    }
}

/// The reservations of the request's network.
fn store(req: &Context<MyPlugin>) -> Result<Store> {
    Store::open(req.config().ipam.data_dir.join(req.network().as_str()))
}

impl Ipam {
    fn gateway(&self) -> Result<IpAddr> {
        let gateway = self.gateway.unwrap_or_else(|| nth(self.subnet, 1));
        if self.subnet.contains(gateway) {
            return Ok(gateway);
        }
        let msg = format!(
            "ipam.gateway {gateway} is not in ipam.subnet {}",
            self.subnet
        );
        Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg))
    }

    /// What may be given out, lowest first: neither the network's own address nor IPv4's broadcast address.
    fn addresses(&self) -> Result<impl Iterator<Item = IpAddr> + use<>> {
        let (subnet, gateway) = (self.subnet, self.gateway()?);
        let bits = if subnet.is_ipv4() { 32 } else { 128 } - u32::from(subnet.prefix());
        if bits < 2 {
            let msg =
                format!("ipam.subnet {subnet} has no address for a container beside the gateway");
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
        }
        let last = 1_u128.checked_shl(bits).map_or(u128::MAX, |size| size - 1);
        let last = if subnet.is_ipv4() { last - 1 } else { last };
        Ok((1..=last)
            .map(move |number| nth(subnet, number))
            .filter(move |address| *address != gateway))
    }

    /// Code 11 asks the runtime to try again later.
    fn is_full(&self) -> Error {
        Error::new(
            ErrorCode::TRY_AGAIN,
            format!("no address of {} is free", self.subnet),
        )
    }
}

/// The address of a subnet with this number, which must be one.
fn nth(subnet: Cidr, number: u128) -> IpAddr {
    match subnet.network().address() {
        IpAddr::V4(first) => {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            Ipv4Addr::from_bits(first.to_bits().saturating_add(number)).into()
        }
        IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits().saturating_add(number)).into(),
    }
}
