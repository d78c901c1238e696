//! The configuration: from the keys as they are written to settings that make sense.
//!
//! Only ADD, CHECK and STATUS need that. DEL and GC must work whatever stands there.

use cni_skel::{Error, ErrorCode, Result};

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    master: Option<String>,
    vlan_id: Option<i64>,
    mtu: Option<i64>,
    link_in_container: Option<bool>,
}

/// A configuration that makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings<'a> {
    /// The link below.
    pub master: &'a str,
    /// VLAN ID, 0 to 4094.
    pub id: u16,
    /// Largest payload in bytes, which the master's limits.
    pub mtu: Option<i64>,
    /// Whether the link below is one of the container.
    pub link_in_container: bool,
}

impl<'a> Settings<'a> {
    /// The settings of a configuration.
    ///
    /// # Errors
    ///
    /// When there is no master, or no such VLAN. Code 7.
    pub fn new(config: &'a Config) -> Result<Self> {
        let invalid = |msg: String| Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg);
        let Some(master) = config.master.as_deref().filter(|name| !name.is_empty()) else {
            let msg =
                "\"master\" field is required. It specifies the host interface name to create the VLAN for";
            return Err(invalid(msg.to_owned()));
        };
        let id = config.vlan_id.unwrap_or_default();
        let Some(id) = u16::try_from(id).ok().filter(|id| *id < 4095) else {
            // Go's words, whatever they say of 4095.
            let msg = format!("invalid VLAN ID {id} (must be between 0 and 4095 inclusive)");
            return Err(invalid(format!("{msg}: vlanId: expected a number from 0 to 4094")));
        };
        Ok(Self {
            master,
            id,
            mtu: config.mtu,
            link_in_container: config.link_in_container.unwrap_or_default(),
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
    fn every_key_is_read() {
        let config = config(json!({"master": "up0", "vlanId": 100, "mtu": 1400, "linkInContainer": true}));
        let expected = Settings { master: "up0", id: 100, mtu: Some(1400), link_in_container: true };
        assert_eq!(Settings::new(&config).unwrap(), expected);
    }

    #[test]
    fn without_an_id_it_is_0() {
        let config = config(json!({"master": "up0", "vlanId": null}));
        let expected = Settings { master: "up0", id: 0, mtu: None, link_in_container: false };
        assert_eq!(Settings::new(&config).unwrap(), expected);
    }

    #[test]
    fn values_that_cannot_be_are_told() {
        for (keys, told) in [
            (json!({}), "\"master\" field is required"),
            (json!({"master": ""}), "\"master\" field is required"),
            (
                json!({"master": "up0", "vlanId": 4095}),
                "invalid VLAN ID 4095 (must be between 0 and 4095 inclusive)",
            ),
            (json!({"master": "up0", "vlanId": -1}), "expected a number from 0 to 4094"),
            (json!({"master": "up0", "vlanId": 65636}), "invalid VLAN ID 65636"),
        ] {
            let config = config(keys);
            let error = Settings::new(&config).unwrap_err().to_object();
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
            assert!(error.msg.contains(told), "{error}");
        }
    }
}
