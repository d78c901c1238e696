//! The configuration: from the keys as they are written to settings that make sense.
//!
//! Only ADD, CHECK and STATUS need that. DEL and GC must work whatever stands there.

use cni_skel::{AddResult, Error, ErrorCode, Result};
use plugin_support::netlink::IpvlanMode;

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    master: Option<String>,
    mode: Option<String>,
    mtu: Option<i64>,
    link_in_container: Option<bool>,
}

/// A configuration that makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings<'a> {
    /// The link below; `None` for that of an earlier plugin of the chain, or of the default route.
    pub master: Option<&'a str>,
    /// Switching or routing.
    pub mode: IpvlanMode,
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
    /// When there is no such mode. Code 7.
    pub fn new(config: &'a Config) -> Result<Self> {
        let mode = match config.mode.as_deref().unwrap_or_default() {
            "" | "l2" => IpvlanMode::L2,
            "l3" => IpvlanMode::L3,
            "l3s" => IpvlanMode::L3S,
            other => {
                let msg = format!(r#"unknown ipvlan mode: {other:?}, expected "l2", "l3" or "l3s""#);
                return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
            }
        };
        Ok(Self {
            master: config.master.as_deref().filter(|name| !name.is_empty()),
            mode,
            mtu: config.mtu,
            link_in_container: config.link_in_container.unwrap_or_default(),
        })
    }

    /// The name of the link below: that of the configuration, or of the only interface of an earlier plugin; `None` for the
    /// link of the default route.
    ///
    /// # Errors
    ///
    /// When an earlier plugin has several interfaces, or none.
    pub fn master_after(&self, earlier: Option<&'a AddResult>) -> Result<Option<&'a str>> {
        match (self.master, earlier.map(|earlier| earlier.interfaces.as_slice())) {
            (Some(name), _) => Ok(Some(name)),
            (None, None) => Ok(None),
            (None, Some([only])) if !only.name.is_empty() => Ok(Some(&only.name)),
            (None, Some(interfaces)) => Err(Error::message(format!(
                "chained master failure. PrevResult lacks a single named interface: it has {}",
                interfaces.len()
            ))),
        }
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
        let config = config(json!({"master": "up0", "mode": "l3s", "mtu": 1400, "linkInContainer": true}));
        let expected =
            Settings { master: Some("up0"), mode: IpvlanMode::L3S, mtu: Some(1400), link_in_container: true };
        assert_eq!(Settings::new(&config).unwrap(), expected);
    }

    #[test]
    fn without_a_key_it_switches() {
        for keys in [json!({}), json!({"master": "", "mode": ""}), json!({"mode": "l2"})] {
            let config = config(keys);
            let expected =
                Settings { master: None, mode: IpvlanMode::L2, mtu: None, link_in_container: false };
            assert_eq!(Settings::new(&config).unwrap(), expected);
        }
        let bad = config(json!({"mode": "l4"}));
        let error = Settings::new(&bad).unwrap_err().to_object();
        assert!(error.msg.starts_with(r#"unknown ipvlan mode: "l4""#), "{error}");
    }

    #[test]
    fn an_earlier_plugins_only_interface_is_the_master() {
        let named = |names: &[&str]| {
            let mut result = AddResult::default();
            result.interfaces.extend(names.iter().map(|name| cni_skel::Interface::new(*name)));
            result
        };
        let plain = Config::default();
        let settings = Settings::new(&plain).unwrap();
        assert_eq!(settings.master_after(None).unwrap(), None);
        assert_eq!(settings.master_after(Some(&named(&["up7"]))).unwrap(), Some("up7"));
        for names in [&[][..], &["a", "b"], &[""]] {
            let earlier = named(names);
            let error = settings.master_after(Some(&earlier)).unwrap_err().to_object();
            assert!(
                error.msg.starts_with("chained master failure. PrevResult lacks a single named interface")
            );
        }
        let own = config(json!({"master": "up0"}));
        assert_eq!(Settings::new(&own).unwrap().master_after(Some(&named(&[]))).unwrap(), Some("up0"));
    }
}
