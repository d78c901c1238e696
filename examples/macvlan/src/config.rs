//! The configuration: from the keys as they are written to settings that make sense.
//!
//! Only ADD, CHECK and STATUS need that. DEL and GC must work whatever stands there.

use cni_skel::{CniArgs, Error, ErrorCode, MacAddr, Result, RuntimeConfig};
use plugin_attach::keys;
use plugin_support::netlink::MacvlanMode;

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    master: Option<String>,
    mode: Option<String>,
    mtu: Option<i64>,
    mac: Option<String>,
    link_in_container: Option<bool>,
    bcqueuelen: Option<u32>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings<'a> {
    /// The link below; `None` for that of the default route.
    pub master: Option<&'a str>,
    /// Who may talk to whom.
    pub mode: MacvlanMode,
    /// Largest payload in bytes, which the master's limits.
    pub mtu: Option<i64>,
    /// Whether the link below is one of the container.
    pub link_in_container: bool,
    /// How many broadcasts may wait; `None` for the kernel's choice.
    pub broadcast_queue: Option<u32>,
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
    /// When there is no such mode. Code 7.
    pub fn new(config: &'a Config) -> Result<Self> {
        let mode = match config.mode.as_deref().unwrap_or_default() {
            "" | "bridge" => MacvlanMode::Bridge,
            "private" => MacvlanMode::Private,
            "vepa" => MacvlanMode::Vepa,
            "passthru" => MacvlanMode::Passthrough,
            other => {
                let expected = r#"expected "bridge", "private", "vepa" or "passthru""#;
                let msg = format!("unknown macvlan mode: {other:?}, {expected}");
                return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
            }
        };
        Ok(Self {
            master: config.master.as_deref().filter(|name| !name.is_empty()),
            mode,
            mtu: config.mtu,
            link_in_container: config.link_in_container.unwrap_or_default(),
            broadcast_queue: config.bcqueuelen.filter(|packets| *packets != 0),
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
    fn without_a_key_it_is_a_switch_on_the_default_routes_link() {
        for keys in [
            json!({}),
            json!({"master": "", "mode": "", "bcqueuelen": 0}),
            json!({"master": null, "mode": null}),
        ] {
            let config = config(keys);
            let settings = Settings::new(&config).unwrap();
            let plain = Settings {
                master: None,
                mode: MacvlanMode::Bridge,
                mtu: None,
                link_in_container: false,
                broadcast_queue: None,
            };
            assert_eq!(settings, plain);
        }
    }

    #[test]
    fn every_key_is_read() {
        let config = config(
            json!({"master": "up0", "mode": "vepa", "mtu": 1400, "linkInContainer": true, "bcqueuelen": 2000}),
        );
        let settings = Settings::new(&config).unwrap();
        assert_eq!(
            (settings.master, settings.mtu, settings.broadcast_queue),
            (Some("up0"), Some(1400), Some(2000))
        );
        assert!(settings.link_in_container);
    }

    #[test]
    fn modes_have_names() {
        for name in ["bridge", "private", "vepa", "passthru"] {
            let config = config(json!({"mode": name}));
            assert_eq!(Settings::new(&config).unwrap().mode.to_string(), name);
        }
        let bad = config(json!({"mode": "source"}));
        let error = Settings::new(&bad).unwrap_err().to_object();
        assert!(error.msg.starts_with(r#"unknown macvlan mode: "source""#), "{error}");
        assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
    }

    #[test]
    fn the_runtimes_mac_goes_first_and_the_configurations_last() {
        let [config_mac, args_mac, runtime_mac] = [1, 2, 3].map(|n| format!("02:00:00:00:00:0{n}"));
        let config = config(json!({"mac": config_mac}));
        let mac = |runtime: Option<&str>, args: Option<&str>| {
            let runtime = Runtime { mac: runtime.map(str::to_owned) };
            config.mac(&runtime, &Args { mac: args.map(str::to_owned) }).map(|mac| mac.unwrap().to_string())
        };
        assert_eq!(mac(None, None).unwrap(), config_mac);
        assert_eq!(mac(Some(""), Some(&args_mac)).unwrap(), args_mac);
        assert_eq!(mac(Some(&runtime_mac), Some(&args_mac)).unwrap(), runtime_mac);
        let error = mac(Some("bogus"), Some(&args_mac)).unwrap_err().to_object();
        assert!(
            error.msg.starts_with(
                "invalid args bogus for MAC addr: runtimeConfig.mac: invalid MAC address \"bogus\""
            ),
            "{error}"
        );
    }
}
