use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use cni_skel::capability::RuntimeDns;
use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniArgs, CniError, CniPlugin, Context, DelRequest, Error, ErrorCode, Plugin,
    Result, ResultExt, RuntimeConfig,
};

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    nameservers: Vec<String>,
    state_dir: PathBuf,
}

#[derive(RuntimeConfig)]
struct Runtime {
    dns: RuntimeDns,
}

#[derive(CniArgs)]
struct Args {
    k8s_pod_namespace: String,
}

#[derive(Debug, CniError)]
#[cni(code = 100, details = "neither in the configuration nor from the runtime")]
struct NoServer;

impl std::fmt::Display for NoServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no name server")
    }
}

impl std::error::Error for NoServer {}

/// Stands in a chain and adds name resolution to the result.
#[derive(CniPlugin)]
#[cni(name = "resolver", versions = "0.3.1..=1.0.0")]
#[cni(config = Config, runtime = Runtime, args = Args, errors(NoServer))]
struct Resolver;

impl Resolver {
    /// The file of an attachment.
    fn file(req: &Context<Self>, container_id: &str, ifname: &str) -> PathBuf {
        req.config().state_dir.join(format!("{container_id}-{ifname}"))
    }
}

#[cni_skel::plugin]
impl Plugin for Resolver {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        if req.prev_result().is_none() {
            let message = "resolver must stand behind another plugin";
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, message));
        }
        let asked = &req.runtime().dns.servers;
        let servers = if asked.is_empty() { &req.config().nameservers } else { asked };
        if servers.is_empty() {
            return Err(NoServer)?;
        }
        let mut result = req.result();
        result.dns.nameservers.extend_from_slice(servers);
        let namespace = &req.args().k8s_pod_namespace;
        if !namespace.is_empty() {
            result.dns.search.push(format!("{namespace}.svc.cluster.local"));
        }
        let file = Self::file(req, req.container_id().as_str(), req.ifname().as_str());
        fs::write(file, servers.join("\n")).context("cannot keep the name servers")?;
        Ok(result)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        match fs::remove_file(Self::file(req, req.container_id().as_str(), req.ifname().as_str())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error)?,
            _ => Ok(()),
        }
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let file = Self::file(req, req.container_id().as_str(), req.ifname().as_str());
        fs::metadata(file).context("the name servers are gone")?;
        Ok(())
    }
}

fn main() -> ExitCode {
    cni_skel::run(&Resolver)
}
