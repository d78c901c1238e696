//! The configuration: from the keys as they are written to settings that make sense.
//!
//! Only ADD, CHECK and STATUS need that. DEL must work whatever stands there.

use std::net::IpAddr;

use cni_skel::{Error, ErrorCode, Result};

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    table: Option<i64>,
    gateways: Option<Vec<String>>,
    add_source_hints: Option<bool>,
}

/// A configuration that makes sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The table that somebody else has filled; `None` for own ones.
    pub table: Option<u32>,
    /// The router of IPv4 addresses, instead of what the result says.
    pub gateway_v4: Option<IpAddr>,
    /// The same for IPv6.
    pub gateway_v6: Option<IpAddr>,
    /// Whether the main table keeps the networks of the interface, with the address to send from.
    pub source_hints: bool,
}

impl Config {
    /// The table that is asked for, as far as there can be one.
    pub(crate) fn table(&self) -> Option<u32> {
        self.table.and_then(|table| u32::try_from(table).ok()).filter(|table| *table != 0)
    }
}

impl Settings {
    /// The settings of a configuration.
    ///
    /// # Errors
    ///
    /// When there can be no such table, or the routers are not one of each family at most. Code 7.
    pub fn new(config: &Config) -> Result<Self> {
        let refused = |msg: String| Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
        if let (Some(table), None) = (config.table, config.table()) {
            return refused(format!("invalid table {table}, expected 1 to {}", u32::MAX));
        }
        let mut settings = Self {
            table: config.table(),
            source_hints: config.add_source_hints.unwrap_or_default(),
            ..Self::default()
        };
        let gateways = config.gateways.as_deref().unwrap_or_default();
        if gateways.len() > 2 {
            let msg = "gateways list cannot contain more than 2 entries (one IPv4, one IPv6)";
            return refused(format!("{msg}: found {}", gateways.len()));
        }
        for text in gateways {
            let Ok(gateway) = text.parse::<IpAddr>() else {
                return refused(format!("invalid static gateway IP address: {text}"));
            };
            let (family, place) = match gateway {
                IpAddr::V4(_) => ("IPv4", &mut settings.gateway_v4),
                IpAddr::V6(_) => ("IPv6", &mut settings.gateway_v6),
            };
            if let Some(first) = place.replace(gateway) {
                return refused(format!(
                    "gateways list contains multiple {family} addresses: {first} and {text}"
                ));
            }
        }
        Ok(settings)
    }

    /// The router for packets from an address; `said` is what the result says.
    pub(crate) fn gateway(&self, address: IpAddr, said: Option<IpAddr>) -> Option<IpAddr> {
        let own = if address.is_ipv4() { self.gateway_v4 } else { self.gateway_v6 };
        own.or(said)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "the keys are written where it is called")]
    fn settings(keys: Value) -> Result<Settings> {
        Settings::new(&serde_json::from_value(keys).unwrap())
    }

    #[test]
    fn every_key_is_read() {
        assert_eq!(settings(json!({})).unwrap(), Settings::default());
        let keys = json!({"table": 1000, "gateways": ["10.1.0.1", "fd00::1"], "addSourceHints": true});
        let all = settings(keys).unwrap();
        assert_eq!((all.table, all.source_hints), (Some(1000), true));
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let gateway = |ip: &str| all.gateway(address(ip), Some(address("10.9.9.9"))).unwrap().to_string();
        assert_eq!((gateway("10.1.0.5"), gateway("fd00::5")), ("10.1.0.1".into(), "fd00::1".into()));
        let said = settings(json!({"gateways": ["fd00::1"]})).unwrap();
        assert_eq!(said.gateway(address("10.1.0.5"), Some(address("10.9.9.9"))), Some(address("10.9.9.9")));
    }

    #[test]
    fn nonsense_is_refused() {
        for (keys, told) in [
            (json!({"table": 0}), "invalid table 0, expected 1 to 4294967295"),
            (json!({"table": -1}), "invalid table -1"),
            (json!({"table": 4_294_967_296_i64}), "invalid table 4294967296"),
            (json!({"gateways": ["10.1.0.1/24"]}), "invalid static gateway IP address: 10.1.0.1/24"),
            (
                json!({"gateways": ["::1", "::2"]}),
                "gateways list contains multiple IPv6 addresses: ::1 and ::2",
            ),
            (
                json!({"gateways": ["::1", "10.1.0.1", "::2"]}),
                "gateways list cannot contain more than 2 entries",
            ),
        ] {
            let error = settings(keys).unwrap_err().to_object();
            assert!(error.msg.starts_with(told), "{error}");
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
        }
    }
}
