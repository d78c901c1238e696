//! The configuration: which device is meant.
//!
//! Only ADD, CHECK and STATUS need that to make sense. DEL and GC must work whatever stands there.

use cni_skel::{Error, ErrorCode, MacAddr, Result, RuntimeConfig};
use plugin_attach::keys;

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub struct Config {
    pub(crate) device: Option<String>,
    hwaddr: Option<String>,
    kernelpath: Option<String>,
    #[serde(rename = "pciBusID")]
    pci_bus_id: Option<String>,
    #[serde(rename = "DPDKMode")]
    dpdk_mode: Option<bool>,
}

/// What the runtime gives.
#[derive(Clone, Debug, Default, RuntimeConfig)]
pub struct Runtime {
    device_id: Option<String>,
}

/// How a device is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// By the link's name.
    Name(String),
    /// By the hardware address.
    Mac(MacAddr),
    /// By its place below `/sys/devices`.
    KernelPath(String),
    /// By its address on the PCI bus.
    Pci(String),
    /// By what a device plugin has given out: an address on the PCI or the auxiliary bus.
    DeviceId(String),
}

impl Config {
    /// Which device is meant; the first of these keys counts, and the runtime's goes before `pciBusID`.
    ///
    /// # Errors
    ///
    /// When none is, or nothing can have such an address. Code 7.
    pub fn wanted(&self, runtime: &Runtime) -> Result<Wanted> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let refused = |msg: String| Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
        if let Some(name) = given(&self.device) {
            return Ok(Wanted::Name(name));
        }
        if let Some(text) = given(&self.hwaddr) {
            return match keys::mac_address(&text) {
                Ok(mac) => Ok(Wanted::Mac(mac)),
                Err(error) => {
                    refused(format!("failed to parse MAC address {text:?}: {}", error.to_object().msg))
                }
            };
        }
        if let Some(path) = given(&self.kernelpath) {
            let inside = path.strip_prefix("/sys/devices/");
            if inside.is_none_or(|path| path.split('/').any(|part| part == "..")) {
                return refused(format!(
                    "kernel device path {path:?} must be absolute and begin with /sys/devices/"
                ));
            }
            return Ok(Wanted::KernelPath(path));
        }
        let (key, address) = match (given(&runtime.device_id), given(&self.pci_bus_id)) {
            (Some(id), _) => ("runtimeConfig.deviceID", Wanted::DeviceId(id)),
            (None, Some(address)) => ("pciBusID", Wanted::Pci(address)),
            (None, None) => {
                return refused(r#"specify either "device", "hwaddr", "kernelpath" or "pciBusID""#.into());
            }
        };
        match &address {
            Wanted::Pci(text) | Wanted::DeviceId(text) if text.contains('/') || text.starts_with('.') => {
                refused(format!("{key} is {text:?}, expected an address such as \"0000:00:1f.6\""))
            }
            _ => Ok(address),
        }
    }

    /// Whether a program of the container drives the device by itself, so that there is no link.
    pub(crate) fn is_dpdk(&self) -> bool {
        self.dpdk_mode.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "the keys are written where it is called")]
    fn wanted(keys: Value, id: Option<&str>) -> Result<Wanted> {
        let config: Config = serde_json::from_value(keys).unwrap();
        config.wanted(&Runtime { device_id: id.map(str::to_owned) })
    }

    #[test]
    fn the_first_key_counts_and_the_runtimes_goes_before_the_configurations() {
        let mut keys = json!({"device": "ens5", "hwaddr": "02:00:00:00:00:01", "kernelpath": "/sys/devices/pci0/x", "pciBusID": "0000:00:1f.6"});
        let mac = MacAddr::new([2, 0, 0, 0, 0, 1]);
        for (key, expected) in [
            ("device", Wanted::Name("ens5".into())),
            ("hwaddr", Wanted::Mac(mac)),
            ("kernelpath", Wanted::KernelPath("/sys/devices/pci0/x".into())),
            ("pciBusID", Wanted::Pci("0000:00:1f.6".into())),
        ] {
            assert_eq!(wanted(keys.clone(), None).unwrap(), expected);
            keys[key] = json!("");
        }
        let id = Some("mlx5_core.sf.4");
        assert_eq!(wanted(json!({"pciBusID": "x"}), id).unwrap(), Wanted::DeviceId("mlx5_core.sf.4".into()));
    }

    #[test]
    fn nonsense_is_refused() {
        for (keys, told) in [
            (json!({}), r#"specify either "device", "hwaddr", "kernelpath" or "pciBusID""#),
            (json!({"hwaddr": "bogus"}), "failed to parse MAC address \"bogus\": "),
            (
                json!({"kernelpath": "/etc"}),
                "kernel device path \"/etc\" must be absolute and begin with /sys/devices/",
            ),
            (json!({"kernelpath": "/sys/devices/../../etc"}), "kernel device path"),
            (json!({"pciBusID": "../../x"}), "pciBusID is \"../../x\", expected an address"),
        ] {
            let error = wanted(keys, None).unwrap_err().to_object();
            assert!(error.msg.starts_with(told), "{error}");
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
        }
    }
}
