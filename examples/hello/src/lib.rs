//! The plugin of the README: it delegates addresses to an IPAM plugin and reports them on the container's interface.
//!
//! It touches no kernel object, so that it runs anywhere; a real plugin makes its interface where the comment says so.

use cni_skel::capability::PortMapping;
use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result, RuntimeConfig};

/// The plugin's own configuration keys.
#[derive(Debug, serde::Deserialize)]
pub struct Config {
    /// The bridge to attach to.
    pub bridge: String,
    /// The interface's MTU in bytes; the bridge's own if absent.
    pub mtu: Option<u32>,
}

/// What the runtime may pass per container. Each field is a capability: `portMappings`, `mac`.
#[derive(Debug, RuntimeConfig)]
pub struct Runtime {
    /// Ports of the host that lead to the container.
    pub port_mappings: Vec<PortMapping>,
    /// The hardware address that the interface should have.
    pub mac: Option<String>,
}

/// The plugin.
#[derive(Debug, CniPlugin)]
#[cni(name = "hello", about = "says hello to a bridge", versions = "0.3.1..=1.1.0", config = Config, runtime = Runtime)]
pub struct Hello;

impl Plugin for Hello {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let mut interface = req.interface();
        interface.mac.clone_from(&req.runtime().mac);
        interface.mtu = req.config().mtu.map(Into::into);
        // Here a real plugin makes the interface and attaches it to `req.config().bridge`.
        let mut result = req.result();
        result.add_interface(interface);
        Ok(result)
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}
