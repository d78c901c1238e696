use std::collections::HashMap;
use std::net::IpAddr;
use std::process::ExitCode;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, Cidr, CniArgs, CniPlugin, Context, DelRequest, Error, ErrorCode, IpConfig,
    Plugin, Result,
};

#[derive(serde::Deserialize)]
struct Config {
    ipam: Ipam,
}

#[derive(serde::Deserialize)]
struct Ipam {
    #[serde(default)]
    addresses: HashMap<String, Cidr>,
    gateway: Option<IpAddr>,
}

#[derive(CniArgs)]
struct Args {
    k8s_pod_name: String,
}

/// Gives a pod the address which the configuration has for its name.
#[derive(CniPlugin)]
#[cni(name = "named", config = Config, args = Args)]
struct Named;

impl Named {
    fn address(req: &Context<Self>, pod: &str) -> Result<Cidr> {
        let unknown = || Error::new(ErrorCode::new(110), format!("no address for pod {pod:?}"));
        req.config().ipam.addresses.get(pod).copied().ok_or_else(unknown)
    }
}

#[cni_skel::plugin]
impl Plugin for Named {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let mut address = IpConfig::new(Self::address(req, &req.args().k8s_pod_name)?);
        address.gateway = req.config().ipam.gateway;
        let mut result = AddResult::default();
        result.ips.push(address);
        Ok(result)
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let address = Self::address(req, &req.args().k8s_pod_name)?;
        if req.prev_result().ips.iter().any(|ip| ip.address == address) {
            return Ok(());
        }
        Err(Error::message(format!("the container has not got {address}")))
    }
}

fn main() -> ExitCode {
    cni_skel::run(&Named)
}
