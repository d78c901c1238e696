//! The plugin of the README, with its tests: it asks an IPAM plugin for addresses and reports them on the container's
//! interface.
//!
//! It touches no kernel object, so that it runs anywhere; a real plugin makes its interface where the comment says so.

use cni_skel::capability::PortMapping;
use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, GcRequest, Plugin, Result, RuntimeConfig,
    StatusRequest,
};

/// This plugin's own configuration keys.
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

/// Says hello to a bridge.
#[derive(Debug, CniPlugin)]
#[cni(name = "hello", versions = "0.3.1..=1.1.0", config = Config, runtime = Runtime)]
pub struct Hello;

#[cni_skel::plugin]
impl Plugin for Hello {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let lease = req.ipam()?.add()?; // delegate; given back by DEL unless committed
        let mut interface = req.interface();
        interface.mac.clone_from(&req.runtime().mac);
        interface.mtu = req.config().mtu.map(u64::from);
        // Here a real plugin makes the interface and attaches it to `req.config().bridge`.
        let mut result = req.result(); // prevResult if chained, else empty
        let eth0 = result.add_interface(interface);
        result.add_ips_on(eth0, lease.ips()); // indexes kept right by construction
        lease.commit();
        Ok(result)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        req.ipam()?.del()
    }

    // What is delegated has to be asked, too: without these, the three commands succeed without action.

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        req.ipam()?.check()
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        req.ipam()?.status()
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        req.ipam()?.gc()
    }
}

/// The plugin in the workspace's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use cni_skel::testing::Invocation;
    use serde_json::{Value, json};

    use super::Hello;

    fn config() -> Value {
        json!({"cniVersion": "1.1.0", "name": "n", "type": "hello", "bridge": "cni0", "mtu": 1400, "ipam": {"type": "host-local"}})
    }

    #[test]
    fn add_without_a_netns() {
        let outcome = Invocation::add("c1", "/run/netns/x", "eth0")
            .config(config())
            .capability("mac", "00:11:22:33:44:55")
            .delegate("host-local", |call| call.reply(json!({"ips": [{"address": "10.1.0.5/16"}]})))
            .run(&Hello);
        outcome.assert_success();
        let result = outcome.result();
        let eth0 = &result.interfaces[0];
        assert_eq!(
            (eth0.name.as_str(), eth0.sandbox.as_deref(), eth0.mtu),
            ("eth0", Some("/run/netns/x"), Some(1400))
        );
        assert_eq!(eth0.mac.as_deref(), Some("00:11:22:33:44:55"));
        assert_eq!(result.ips[0].address.to_string(), "10.1.0.5/16");
        assert_eq!(result.ips[0].interface, Some(0));
    }

    #[test]
    fn del_gives_the_address_back() {
        let outcome = Invocation::del("c1", "eth0")
            .config(config())
            .delegate("host-local", |call| call.reply(json!({})))
            .run(&Hello);
        outcome.assert_success();
        assert_eq!(outcome.delegate_calls().len(), 1);
    }

    #[test]
    fn c99_a_wrong_value_is_told_with_path_and_expectation() {
        let mut config = config();
        config["mtu"] = json!("big");
        let outcome = Invocation::add("c1", "/run/netns/x", "eth0").config(config).run(&Hello);
        let error = outcome.assert_error(7);
        assert!(error.msg.contains("mtu: invalid type: string \"big\", expected u32"), "{error}");
    }
}
