//! The configuration: four places that may say the same, and what they come to together.
//!
//! The last one wins: the plugin's own keys, `MAC` of `CNI_ARGS`, the runtime's `mac`, and `args.cni`.

use std::fmt;
use std::path::{Path, PathBuf};

use cni_skel::types::ErrorCode;
use cni_skel::{CniArgs, Error, MacAddr, Result, RuntimeConfig};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::sysctls::Setting;

/// Where backups are, if the configuration does not say.
const DATA_DIR: &str = "/run/cni/tuning";

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    sysctl: Option<Pairs>,
    mac: Option<String>,
    promisc: Option<bool>,
    mtu: Option<u32>,
    allmulti: Option<bool>,
    #[serde(rename = "txQLen")]
    tx_queue: Option<u32>,
    data_dir: Option<PathBuf>,
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
    sysctl: Option<Pairs>,
    mac: Option<String>,
    promisc: Option<bool>,
    mtu: Option<u32>,
    allmulti: Option<bool>,
    #[serde(rename = "txQLen")]
    tx_queue: Option<u32>,
}

/// The pairs of an object in their order, also those whose key stands there twice.
#[derive(Clone, Debug, Default)]
struct Pairs(Vec<(String, String)>);

/// What is to be changed. What is `None` is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Sysctls, in the order in which they are written.
    pub sysctls: Vec<Setting>,
    /// Settings of the interface.
    pub link: LinkSettings,
}

/// What is to be changed of the interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSettings {
    /// Hardware address.
    pub mac: Option<MacAddr>,
    /// Whether to take every frame; never switched off.
    pub promisc: bool,
    /// Largest payload in bytes.
    pub mtu: Option<u32>,
    /// Whether to take every multicast frame.
    pub allmulti: Option<bool>,
    /// Transmit queue length in packets.
    pub tx_queue: Option<u32>,
}

impl Config {
    /// Where backups are.
    pub fn data_dir(&self) -> &Path {
        self.data_dir.as_deref().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(DATA_DIR))
    }
}

impl Settings {
    /// What the four places come to for an interface.
    ///
    /// # Errors
    ///
    /// When a sysctl is none of the network's or stands there twice, or the address is none. Code 7.
    pub fn new(config: &Config, args: &Args, runtime: &Runtime, ifname: &str) -> Result<Self> {
        let last = config.args.as_ref().and_then(|args| args.cni.clone()).unwrap_or_default();

        let mut sysctls = settings(config.sysctl.as_ref(), ifname)?;
        for later in settings(last.sysctl.as_ref(), ifname)? {
            match sysctls.iter_mut().find(|earlier| earlier.path == later.path) {
                Some(earlier) => *earlier = later,
                None => sysctls.push(later),
            }
        }

        // Go takes an empty address of the runtime for none at all, but one of `args.cni` for "leave alone".
        let given = |mac: &Option<String>| mac.clone().filter(|mac| !mac.is_empty());
        let mac = last
            .mac
            .or_else(|| given(&runtime.mac))
            .or_else(|| given(&args.mac))
            .or_else(|| given(&config.mac));
        let link = LinkSettings {
            mac: mac.filter(|mac| !mac.is_empty()).map(|mac| mac_address(&mac)).transpose()?,
            promisc: last.promisc.or(config.promisc).unwrap_or_default(),
            mtu: last.mtu.or(config.mtu).filter(|mtu| *mtu != 0),
            allmulti: last.allmulti.or(config.allmulti),
            tx_queue: last.tx_queue.or(config.tx_queue),
        };
        Ok(Self { sysctls, link })
    }
}

impl LinkSettings {
    /// Whether anything is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn settings(pairs: Option<&Pairs>, ifname: &str) -> Result<Vec<Setting>> {
    let mut settings: Vec<Setting> = Vec::new();
    for (key, value) in pairs.iter().flat_map(|pairs| &pairs.0) {
        let setting = Setting::new(key, value, ifname)?;
        if let Some(other) = settings.iter().find(|other| other.path == setting.path) {
            let both = format!("{:?} and {key:?} are the same", other.key);
            return Err(invalid(format!("duplicated sysctl keys are not allowed: {both}")));
        }
        settings.push(setting);
    }
    Ok(settings)
}

/// An address in one of the notations that Go takes: `00:11:22:aa:bb:cc`, with dashes, or `0011.22aa.bbcc`.
fn mac_address(text: &str) -> Result<MacAddr> {
    let mut plain = text.to_owned();
    let groups: Vec<_> = text.split('.').collect();
    if groups.len() == 3 && groups.iter().all(|group| group.len() == 4 && group.is_ascii()) {
        plain = groups.iter().flat_map(|group| [&group[..2], &group[2..]]).collect::<Vec<_>>().join(":");
    }
    plain.parse().map_err(|error| invalid(format!("invalid args {text} for MAC addr: {error}")))
}

/// An error that the configuration is to blame for.
pub(crate) fn invalid(msg: String) -> Error {
    Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg)
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and text values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

#[cfg(test)]
mod tests;
