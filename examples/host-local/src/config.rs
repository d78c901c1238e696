//! The configuration: as it is written, and as the rest of the plugin sees it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use cni_skel::capability::{IpRange, RequestedIp};
use cni_skel::types::args::InvalidArgs;
use cni_skel::{ArgValue, Cidr, CniArgs, CniError, CniVersion, Route, RuntimeConfig};
use serde::{Deserialize, Deserializer, de};

use crate::addr::{Addr, Family};
use crate::range::{Bounds, RangeError, RangeSet};
use crate::store::DEFAULT_DATA_DIR;

/// The most ranges that a configuration may have, all sets together. Each is compared with every other, and asked for an
/// address by every ADD; pools in use have fewer than a hundred.
pub const MAX_RANGES: usize = 1024;
/// The most addresses that may be asked for. An attachment gets one of each range set.
pub const MAX_REQUESTED: usize = 1024;

/// The keys of the configuration that this plugin reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    ipam: Option<Ipam>,
    args: Option<ConfigArgs>,
}

/// The `ipam` object.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Ipam {
    #[serde(deserialize_with = "subnet_if_any")]
    subnet: Option<Cidr>,
    #[serde(deserialize_with = "address_if_any")]
    range_start: Option<IpAddr>,
    #[serde(deserialize_with = "address_if_any")]
    range_end: Option<IpAddr>,
    #[serde(deserialize_with = "address_if_any")]
    gateway: Option<IpAddr>,
    ranges: Option<Vec<Vec<RangeKeys>>>,
    routes: Option<Vec<Route>>,
    resolv_conf: Option<PathBuf>,
    data_dir: Option<PathBuf>,
}

/// An element of `ipam.ranges`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RangeKeys {
    #[serde(deserialize_with = "subnet")]
    subnet: Cidr,
    #[serde(deserialize_with = "address_if_any", default)]
    range_start: Option<IpAddr>,
    #[serde(deserialize_with = "address_if_any", default)]
    range_end: Option<IpAddr>,
    #[serde(deserialize_with = "address_if_any", default)]
    gateway: Option<IpAddr>,
}

/// The `args` object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConfigArgs {
    cni: Option<Requests>,
}

/// The `args.cni` object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Requests {
    ips: Option<Vec<RequestedIp>>,
}

/// What the runtime gives.
#[derive(Debug, RuntimeConfig)]
pub struct Runtime {
    ip_ranges: Vec<Vec<IpRange>>,
    ips: Vec<RequestedIp>,
}

/// The keys of `CNI_ARGS`.
#[derive(Debug, CniArgs)]
pub struct Args {
    ip: IpArg,
}

/// An address that is asked for by `IP=`; the empty text asks for none.
#[derive(Clone, Copy, Debug, Default)]
struct IpArg(Option<RequestedIp>);

impl ArgValue for IpArg {
    fn from_value(key: &str, value: &str) -> Result<Self, InvalidArgs> {
        if value.is_empty() {
            return Ok(Self(None));
        }
        let parsed = value.parse().map(|requested| Self(Some(requested)));
        parsed.map_err(|_| InvalidArgs::value(key, value, format!("invalid IP address {value}")))
    }
}

/// What ADD, CHECK and STATUS go by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The sets to give an address from each.
    pub sets: Vec<RangeSet>,
    /// The routes for the result.
    pub routes: Vec<Route>,
    /// The file to take name resolution from.
    pub resolv_conf: Option<PathBuf>,
}

impl Config {
    /// Where the networks are kept. This is all that DEL and GC need, so they work whatever became of the ranges.
    ///
    /// # Errors
    ///
    /// When there is no `ipam` object.
    pub fn data_dir(&self) -> Result<&Path, ConfigError> {
        let given = self.ipam()?.data_dir.as_deref().filter(|path| !path.as_os_str().is_empty());
        Ok(given.unwrap_or(Path::new(DEFAULT_DATA_DIR)))
    }

    /// Checks the ranges: those of the runtime come first, then the one of the old form, then the others.
    ///
    /// # Errors
    ///
    /// When there are none, or they are wrong or not for this version.
    pub fn settings(&self, runtime: &Runtime, version: CniVersion) -> Result<Settings, ConfigError> {
        let ipam = self.ipam()?;
        let old_form = ipam.subnet.map(|subnet| {
            let (start, end, gateway) = (ipam.range_start, ipam.range_end, ipam.gateway);
            vec![Bounds { subnet, start, end, gateway }]
        });
        let of_runtime = runtime.ip_ranges.iter().map(|set| set.iter().map(Bounds::from).collect());
        let configured = ipam.ranges.iter().flatten().map(|set| set.iter().map(Bounds::from).collect());
        let given: Vec<Vec<Bounds>> = of_runtime.chain(old_form).chain(configured).collect();
        let found = given.iter().map(|set| set.len().max(1)).sum();
        if found > MAX_RANGES {
            return Err(ConfigError::TooManyRanges { found });
        }

        let checked = |(at, bounds): (usize, Vec<Bounds>)| {
            RangeSet::new(bounds).map_err(|error| ConfigError::RangeSet { at, error })
        };
        let sets: Vec<RangeSet> = given.into_iter().enumerate().map(checked).collect::<Result<_, _>>()?;
        if sets.is_empty() {
            return Err(ConfigError::NoRanges);
        }
        let of = |family| sets.iter().filter(|set| set.family() == family).count();
        if version < CniVersion::V0_3_0 && (of(Family::V4) > 1 || of(Family::V6) > 1) {
            return Err(ConfigError::OneAddressPerFamily { version });
        }
        for (at, set) in sets.iter().enumerate() {
            if let Some(after) = sets[at + 1..].iter().position(|other| set.overlaps(other)) {
                return Err(ConfigError::SetsOverlap { first: at, second: at + 1 + after });
            }
        }
        let resolv_conf = ipam.resolv_conf.clone().filter(|path| !path.as_os_str().is_empty());
        Ok(Settings { sets, routes: ipam.routes.clone().unwrap_or_default(), resolv_conf })
    }

    /// The addresses that are asked for, each once: by `CNI_ARGS`, then by the configuration, then by the runtime. A
    /// prefix length does not count, since the range has one.
    ///
    /// # Errors
    ///
    /// When they are more than [`MAX_REQUESTED`].
    pub fn requested(&self, runtime: &Runtime, args: &Args) -> Result<Vec<Addr>, ConfigError> {
        let configured = self.args.iter().flat_map(|args| &args.cni).flat_map(|cni| &cni.ips).flatten();
        let all = args.ip.0.iter().chain(configured).chain(&runtime.ips);
        let found = all.clone().count();
        if found > MAX_REQUESTED {
            return Err(ConfigError::TooManyRequested { found });
        }
        let mut requested = Vec::new();
        for request in all {
            let address = Addr::from(request.address);
            if !requested.contains(&address) {
                requested.push(address);
            }
        }
        Ok(requested)
    }

    fn ipam(&self) -> Result<&Ipam, ConfigError> {
        self.ipam.as_ref().ok_or(ConfigError::NoIpam)
    }
}

impl From<&IpRange> for Bounds {
    fn from(range: &IpRange) -> Self {
        Self { subnet: range.subnet, start: range.range_start, end: range.range_end, gateway: range.gateway }
    }
}

impl From<&RangeKeys> for Bounds {
    fn from(range: &RangeKeys) -> Self {
        Self { subnet: range.subnet, start: range.range_start, end: range.range_end, gateway: range.gateway }
    }
}

// What follows is there for Go's words, which have the value without quotes.

fn subnet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cidr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| de::Error::custom(format!("invalid CIDR address: {text}")))
}

fn subnet_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cidr>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let parse =
        |text: String| text.parse().map_err(|_| de::Error::custom(format!("invalid CIDR address: {text}")));
    text.map(parse).transpose()
}

/// An address; the empty text is as good as absent.
fn address_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpAddr>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty());
    let parse =
        |text: String| text.parse().map_err(|_| de::Error::custom(format!("invalid IP address: {text}")));
    text.map(parse).transpose()
}

/// What is wrong with the configuration. Each text starts with Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, CniError)]
#[cni(code = INVALID_NETWORK_CONFIG)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no `ipam` object.
    #[error("IPAM config missing 'ipam' key")]
    NoIpam,
    /// There is no range.
    #[error("no IP ranges specified: expected ipam.subnet, ipam.ranges or the runtime's ipRanges")]
    NoRanges,
    /// Old versions have room for one address of each family.
    #[error("CNI version {version} does not support more than 1 address per family")]
    OneAddressPerFamily {
        /// The version.
        version: CniVersion,
    },
    /// A set is wrong.
    #[error("invalid range set {at}: {error}")]
    RangeSet {
        /// The set, counted from 0.
        at: usize,
        /// What is wrong.
        error: RangeError,
    },
    /// Two sets overlap.
    #[error("range set {first} overlaps with {second}")]
    SetsOverlap {
        /// The one.
        first: usize,
        /// The other.
        second: usize,
    },
    /// There are more ranges than are compared with each other.
    #[error(
        "{found} IP ranges in ipam.subnet, ipam.ranges and the runtime's ipRanges, expected at most {MAX_RANGES}"
    )]
    TooManyRanges {
        /// How many.
        found: usize,
    },
    /// There are more requested addresses than any attachment can get.
    #[error(
        "{found} addresses requested by CNI_ARGS, args.cni.ips and the runtime's ips, expected at most {MAX_REQUESTED}"
    )]
    TooManyRequested {
        /// How many.
        found: usize,
    },
}

#[cfg(test)]
mod tests;
