//! The configuration: from the keys as they are written to settings that make sense.
//!
//! Only ADD, CHECK and STATUS need that. DEL and GC must work whatever stands there.

use cni_skel::types::InterfaceName;
use cni_skel::{CniArgs, ErrorCode, MacAddr, Result, ResultExt, RuntimeConfig};
use plugin_attach::keys;

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    multi_queue: Option<bool>,
    mtu: Option<i64>,
    mac: Option<String>,
    owner: Option<u32>,
    group: Option<u32>,
    selinux_context: Option<String>,
    bridge: Option<String>,
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

/// A configuration that makes sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings<'a> {
    /// Whether the program at the other end may have several queues.
    pub multi_queue: bool,
    /// Largest payload in bytes; `None` for the kernel's choice.
    pub mtu: Option<u32>,
    /// The user who may attach a program without privileges; `None` for nobody.
    pub owner: Option<u32>,
    /// The group whose members may; `None` for nobody.
    pub group: Option<u32>,
    /// The SELinux context in which the link is made.
    pub selinux_context: Option<&'a str>,
    /// The bridge of the container whose port the link becomes.
    pub bridge: Option<&'a str>,
}

impl Config {
    /// The hardware address that is asked for, `None` if none is. The runtime's goes before that of `CNI_ARGS`, and that
    /// before the one of the configuration.
    ///
    /// # Errors
    ///
    /// When the one that counts is no address that an interface can have. Code 7, or 4 for that of `CNI_ARGS`.
    pub fn mac(&self, runtime: &Runtime, args: &Args) -> Result<Option<MacAddr>> {
        keys::own_mac(runtime.mac.as_deref(), args.mac.as_deref(), self.mac.as_deref())
    }
}

impl<'a> Settings<'a> {
    /// The settings of a configuration.
    ///
    /// # Errors
    ///
    /// When a key has an impossible value. Code 7.
    pub fn new(config: &'a Config) -> Result<Self> {
        let given = |text: &'a Option<String>| text.as_deref().filter(|text| !text.is_empty());
        let bridge = given(&config.bridge);
        if let Some(bridge) = bridge {
            let name = InterfaceName::new(bridge).context("bridge");
            name.code(ErrorCode::INVALID_NETWORK_CONFIG)?;
        }
        Ok(Self {
            multi_queue: config.multi_queue.unwrap_or_default(),
            mtu: keys::mtu(config.mtu)?,
            owner: config.owner,
            group: config.group,
            selinux_context: given(&config.selinux_context),
            bridge,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "the keys are written where it is called")]
    fn config(keys: Value) -> Config {
        serde_json::from_value(keys).unwrap()
    }

    #[test]
    fn without_a_key_there_is_nothing_special() {
        for keys in [json!({}), json!({"mtu": 0, "selinuxContext": "", "bridge": "", "multiQueue": null})] {
            assert_eq!(Settings::new(&config(keys)).unwrap(), Settings::default());
        }
    }

    #[test]
    fn every_key_is_read() {
        let config = config(json!({
            "multiQueue": true, "mtu": 1400, "owner": 0, "group": 1000, "bridge": "br0",
            "selinuxContext": "system_u:system_r:container_t:s0",
        }));
        let expected = Settings {
            multi_queue: true,
            mtu: Some(1400),
            owner: Some(0),
            group: Some(1000),
            selinux_context: Some("system_u:system_r:container_t:s0"),
            bridge: Some("br0"),
        };
        assert_eq!(Settings::new(&config).unwrap(), expected);
    }

    #[test]
    fn values_that_cannot_be_are_told() {
        for (keys, told) in [
            (json!({"mtu": 1}), "mtu: invalid value 1"),
            (json!({"bridge": "a-name-of-16-byt"}), "bridge: interface name is too long"),
        ] {
            let config = config(keys);
            let error = Settings::new(&config).unwrap_err().to_object();
            assert!(error.msg.starts_with(told), "{error}");
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
        }
    }
}
