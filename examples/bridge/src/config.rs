//! The configuration: from the keys as they are written to settings that make sense together.
//!
//! Only ADD, CHECK and STATUS need all of it. DEL and GC must work whatever stands there, so nothing is refused before
//! [`Settings::new`] is asked.

mod vlans;

use cni_skel::types::InterfaceName;
use cni_skel::types::config::PluginConfig;
use cni_skel::{CniArgs, Dns, Error, ErrorCode, MacAddr, Result, ResultExt, RuntimeConfig};
use plugin_attach::keys;
use plugin_attach::masquerade::Masquerade;

use self::vlans::TrunkEntry;

pub use self::vlans::Vlans;

/// The bridge, if the configuration does not say.
const BRIDGE: &str = "cni0";

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    bridge: Option<String>,
    is_gateway: Option<bool>,
    is_default_gateway: Option<bool>,
    force_address: Option<bool>,
    ip_masq: Option<bool>,
    ip_masq_backend: Option<String>,
    mtu: Option<i64>,
    hairpin_mode: Option<bool>,
    promisc_mode: Option<bool>,
    port_isolation: Option<bool>,
    vlan: Option<i64>,
    vlan_trunk: Option<Vec<TrunkEntry>>,
    preserve_default_vlan: Option<bool>,
    macspoofchk: Option<bool>,
    enabledad: Option<bool>,
    disable_container_interface: Option<bool>,
    args: Option<NetworkArgs>,
}

/// What the runtime gives.
#[derive(Clone, Debug, Default, RuntimeConfig)]
pub struct Runtime {
    mac: Option<String>,
}

/// What is taken from `CNI_ARGS`.
#[derive(Clone, Debug, Default, CniArgs)]
pub struct Args {
    mac: Option<String>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct NetworkArgs {
    cni: Option<CniKeys>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct CniKeys {
    mac: Option<String>,
}

/// A configuration that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The bridge's name.
    pub bridge: String,
    /// Whether an IPAM plugin gives addresses. Without, the container gets a link and nothing more.
    pub ipam: bool,
    /// Whether the bridge has the containers' gateway address.
    pub is_gateway: bool,
    /// Whether that gateway leads everywhere.
    pub is_default_gateway: bool,
    /// Whether other addresses of the bridge, those that contradict, are removed.
    pub force_address: bool,
    /// Whether, and how, what leaves the network gets the host's address.
    pub masquerade: Option<Masquerade>,
    /// Largest payload in bytes; `None` for the kernel's choice.
    pub mtu: Option<u32>,
    /// Whether the bridge sends frames back where they came from.
    pub hairpin: bool,
    /// Whether the bridge takes every frame.
    pub promisc: bool,
    /// Whether containers are kept from each other.
    pub isolated: bool,
    /// Which VLANs the container takes part in; `None` for a bridge that knows none.
    pub vlans: Option<Vlans>,
    /// Whether the container may send from its own hardware address alone.
    pub mac_spoof_check: bool,
    /// Whether other nodes are asked if they have the container's IPv6 addresses already.
    pub detect_duplicates: bool,
    /// Whether the container's link is set up.
    pub link_up: bool,
    /// Name resolution, which goes before that of the IPAM plugin.
    pub dns: Option<Dns>,
}

impl Config {
    /// The bridge's name.
    pub fn bridge(&self) -> &str {
        self.bridge.as_deref().unwrap_or(BRIDGE)
    }

    /// How addresses are masqueraded, as far as that can be told; `None` if they are not.
    ///
    /// For DEL, which looks for rules of every backend anyway.
    pub fn masquerade(&self) -> Option<Masquerade> {
        Masquerade::as_far_as_told(self.ip_masq, self.ip_masq_backend.as_deref())
    }

    /// Whether hardware addresses are checked.
    pub fn mac_spoof_check(&self) -> bool {
        self.macspoofchk.unwrap_or_default()
    }

    /// The hardware address that is asked for, `None` if none is. The runtime's goes before that of `args.cni`, and that
    /// before the one of `CNI_ARGS`.
    ///
    /// # Errors
    ///
    /// When the one that counts is no address that an interface can have. Code 7, or 4 for that of `CNI_ARGS`.
    pub fn mac(&self, runtime: &Runtime, args: &Args) -> Result<Option<MacAddr>> {
        let of_network = self.args.as_ref().and_then(|args| args.cni.as_ref()?.mac.as_ref());
        keys::first_mac(&[
            ("runtimeConfig.mac", runtime.mac.as_deref(), ErrorCode::INVALID_NETWORK_CONFIG),
            ("args.cni.mac", of_network.map(String::as_str), ErrorCode::INVALID_NETWORK_CONFIG),
            ("CNI_ARGS: MAC", args.mac.as_deref(), ErrorCode::INVALID_ENVIRONMENT),
        ])
    }
}

impl Settings {
    /// The settings of a request.
    ///
    /// # Errors
    ///
    /// When a key has an impossible value, or keys contradict each other. Code 7.
    pub fn new(config: &Config, request: &PluginConfig) -> Result<Self> {
        Self::checked(config, request).code(ErrorCode::INVALID_NETWORK_CONFIG)
    }

    fn checked(config: &Config, request: &PluginConfig) -> Result<Self> {
        let on = |flag: Option<bool>| flag.unwrap_or_default();
        let settings = Self {
            bridge: InterfaceName::new(config.bridge()).context("bridge")?.into_string(),
            ipam: request.ipam_type().is_some_and(|plugin_type| !plugin_type.is_empty()),
            is_gateway: on(config.is_gateway) || on(config.is_default_gateway),
            is_default_gateway: on(config.is_default_gateway),
            force_address: on(config.force_address),
            masquerade: Masquerade::new(config.ip_masq, config.ip_masq_backend.as_deref())?,
            mtu: keys::mtu(config.mtu)?,
            hairpin: on(config.hairpin_mode),
            promisc: on(config.promisc_mode),
            isolated: on(config.port_isolation),
            vlans: Vlans::new(
                config.vlan.unwrap_or_default(),
                config.vlan_trunk.as_deref(),
                on(config.preserve_default_vlan),
            )?,
            mac_spoof_check: config.mac_spoof_check(),
            detect_duplicates: on(config.enabledad),
            link_up: !on(config.disable_container_interface),
            dns: Some(request.dns.clone()).filter(|dns| !dns.is_empty()),
        };
        if settings.ipam && !settings.link_up {
            return Err(Error::message("cannot use IPAM when DisableContainerInterface flag is set"));
        }
        if settings.hairpin && settings.promisc {
            return Err(Error::message("cannot set hairpin mode and promiscuous mode at the same time"));
        }
        if let Some(gateway) = settings.vlan_gateway() {
            InterfaceName::new(gateway).context("the gateway of vlan")?;
        }
        Ok(settings)
    }

    /// The name of the interface that has the gateway's address, if that is not the bridge itself: the bridge of a VLAN
    /// takes part in it by a link of its own.
    pub fn vlan_gateway(&self) -> Option<String> {
        let id = self.vlans.as_ref()?.access?;
        (self.ipam && self.is_gateway).then(|| format!("{}.{id}", self.bridge))
    }
}

#[cfg(test)]
mod tests;
