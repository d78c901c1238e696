//! The configuration: from the keys as they are written to settings that make sense.
//!
//! Only ADD, CHECK and STATUS need that. DEL and GC must work whatever stands there.

use cni_skel::Result;
use plugin_attach::keys;
use plugin_attach::masquerade::Masquerade;

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    ip_masq: Option<bool>,
    ip_masq_backend: Option<String>,
    mtu: Option<i64>,
}

/// A configuration that makes sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether, and how, what leaves the network gets the host's address.
    pub masquerade: Option<Masquerade>,
    /// Largest payload in bytes; `None` for the kernel's choice.
    pub mtu: Option<u32>,
}

impl Config {
    /// How addresses are masqueraded, as far as that can be told; `None` if they are not.
    pub fn masquerade(&self) -> Option<Masquerade> {
        Masquerade::as_far_as_told(self.ip_masq, self.ip_masq_backend.as_deref())
    }
}

impl Settings {
    /// The settings of a configuration.
    ///
    /// # Errors
    ///
    /// When a key has an impossible value. Code 7.
    pub fn new(config: &Config) -> Result<Self> {
        Ok(Self {
            masquerade: Masquerade::new(config.ip_masq, config.ip_masq_backend.as_deref())?,
            mtu: keys::mtu(config.mtu)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use cni_skel::ErrorCode;
    use plugin_support::firewall::probe::Backend;
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "the keys are written where it is called")]
    fn settings(keys: Value) -> Result<Settings> {
        Settings::new(&serde_json::from_value(keys).unwrap())
    }

    #[test]
    fn without_a_key_there_is_nothing_special() {
        assert_eq!(settings(json!({})).unwrap(), Settings::default());
        let nothing = json!({"mtu": 0, "ipMasq": false, "ipMasqBackend": "whatever"});
        assert_eq!(settings(nothing).unwrap(), Settings::default());
        let null = json!({"mtu": null, "ipMasq": null, "ipMasqBackend": null});
        assert_eq!(settings(null).unwrap(), Settings::default());
    }

    #[test]
    fn every_key_is_read() {
        let settings = settings(json!({"mtu": 1400, "ipMasq": true, "ipMasqBackend": "nftables"})).unwrap();
        let masquerade = Some(Masquerade { backend: Some(Backend::Nftables) });
        assert_eq!(settings, Settings { masquerade, mtu: Some(1400) });
    }

    #[test]
    fn values_that_cannot_be_are_told() {
        for (keys, told) in [
            (json!({"mtu": -1}), "mtu: invalid value -1, expected 0 or a number from 68 to 65535"),
            (json!({"ipMasq": true, "ipMasqBackend": "pf"}), r#"unknown ipmasq backend "pf""#),
        ] {
            let error = settings(keys).unwrap_err().to_object();
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
            assert!(error.msg.contains(told), "{error}");
        }
    }
}
