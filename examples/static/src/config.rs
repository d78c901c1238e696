//! The four places that addresses come from, and which of them count:
//!
//! 1. the configuration's `ipam.addresses`, and those of `IP=` in `CNI_ARGS` after them,
//! 2. or instead of all these the configuration's `args.cni.ips`,
//! 3. or instead of all these the runtime's `ips`.
//!
//! `GATEWAY=` in `CNI_ARGS` sets the gateway of whatever addresses are in its subnet, wherever they come from. Go's plugin
//! leaves out those of the configuration and of the runtime.

use std::net::IpAddr;

use cni_skel::{Cidr, CniArgs, CniError, CniVersion, Dns, IpConfig, Route, RuntimeConfig};
use serde::{Deserialize, Deserializer, de};

/// The keys of the configuration that this plugin reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    ipam: Option<Ipam>,
    args: Option<ConfigArgs>,
}

/// The `ipam` object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ipam {
    addresses: Option<Vec<Address>>,
    routes: Option<Vec<Route>>,
    dns: Option<Dns>,
}

/// An element of `ipam.addresses`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Address {
    address: String,
    #[serde(deserialize_with = "address_if_any")]
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
    ips: Option<Vec<String>>,
}

/// What the runtime gives.
#[derive(Debug, RuntimeConfig)]
pub struct Runtime {
    ips: Vec<String>,
}

/// The keys of `CNI_ARGS`, each a list separated by commas. Read when they are needed, so that DEL never fails for them.
#[derive(Debug, Default, CniArgs)]
pub struct Args {
    ip: String,
    gateway: String,
}

impl Config {
    /// The addresses that count, checked.
    ///
    /// # Errors
    ///
    /// When one is not in CIDR notation, a gateway is no address, or there are more than this version has room for.
    pub fn addresses(
        &self,
        args: &Args,
        runtime: &Runtime,
        version: CniVersion,
    ) -> Result<Vec<IpConfig>, ConfigError> {
        let ipam = self.ipam.as_ref().ok_or(ConfigError::NoIpam)?;
        let of_args = list(&args.ip)
            .map(|text| {
                cidr(text).map(IpConfig::new).ok_or_else(|| ConfigError::IpArg { value: text.to_owned() })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let gateways = list(&args.gateway)
            .map(|text| text.parse().map_err(|_| ConfigError::GatewayArg { value: text.to_owned() }))
            .collect::<Result<Vec<IpAddr>, _>>()?;
        let given =
            requested(self.args.iter().flat_map(|args| &args.cni).flat_map(|cni| &cni.ips).flatten())?;
        let by_runtime = requested(&runtime.ips)?;

        let mut addresses = if !by_runtime.is_empty() {
            by_runtime
        } else if !given.is_empty() {
            given
        } else {
            let configured = ipam.addresses.iter().flatten().map(|Address { address, gateway }| {
                let address = cidr(address).ok_or_else(|| ConfigError::Address { value: address.clone() })?;
                let mut ip = IpConfig::new(address);
                ip.gateway = *gateway;
                Ok(ip)
            });
            let mut addresses = configured.collect::<Result<Vec<_>, _>>()?;
            addresses.extend(of_args);
            addresses
        };

        for gateway in gateways {
            for ip in addresses.iter_mut().filter(|ip| ip.address.contains(gateway)) {
                ip.gateway = Some(gateway);
            }
        }
        let of_v4 = addresses.iter().filter(|ip| ip.address.is_ipv4()).count();
        if version < CniVersion::V0_3_0 && (of_v4 > 1 || addresses.len() - of_v4 > 1) {
            return Err(ConfigError::OneAddressPerFamily { version });
        }
        Ok(addresses)
    }

    /// The routes for the result.
    pub fn routes(&self) -> Vec<Route> {
        self.ipam.as_ref().and_then(|ipam| ipam.routes.clone()).unwrap_or_default()
    }

    /// The name resolution for the result.
    pub fn dns(&self) -> Dns {
        self.ipam.as_ref().and_then(|ipam| ipam.dns.clone()).unwrap_or_default()
    }
}

/// The addresses of a list that takes the place of what is configured.
fn requested<'a>(ips: impl IntoIterator<Item = &'a String>) -> Result<Vec<IpConfig>, ConfigError> {
    let read =
        |text: &String| cidr(text).map(IpConfig::new).ok_or_else(|| ConfigError::Ips { value: text.clone() });
    ips.into_iter().map(read).collect()
}

/// The elements of a list separated by commas; the empty text has none.
fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(move |_| !text.is_empty())
}

/// An address with its prefix length; an IPv4-mapped one is the IPv4 address that it holds, as Go has it.
fn cidr(text: &str) -> Option<Cidr> {
    let cidr: Cidr = text.parse().ok()?;
    match cidr.address().to_canonical() {
        v4 @ IpAddr::V4(_) if cidr.is_ipv6() => Cidr::new(v4, cidr.prefix().checked_sub(96)?).ok(),
        _ => Some(cidr),
    }
}

/// An address; the empty text is as good as absent. In Go's words, which have the value without quotes.
fn address_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpAddr>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty());
    let parse =
        |text: String| text.parse().map_err(|_| de::Error::custom(format!("invalid IP address: {text}")));
    text.map(parse).transpose()
}

/// What is wrong with the configuration or the arguments, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, CniError)]
#[cni(code = INVALID_NETWORK_CONFIG)]
#[non_exhaustive]
pub enum ConfigError {
    /// An element of `ipam.addresses`.
    #[error("the 'address' field is expected to be in CIDR notation, got: '{value}'")]
    Address {
        /// The text found.
        value: String,
    },
    /// An element of `GATEWAY=`.
    #[error("invalid gateway address: {value}")]
    #[cni(code = INVALID_ENVIRONMENT)]
    GatewayArg {
        /// The text found.
        value: String,
    },
    /// An element of `IP=`.
    #[error("the 'ip' field is expected to be in CIDR notation, got: '{value}'")]
    #[cni(code = INVALID_ENVIRONMENT)]
    IpArg {
        /// The text found.
        value: String,
    },
    /// An element of `args.cni.ips` or of the runtime's `ips`.
    #[error("an entry in the 'ips' field is NOT in CIDR notation, got: '{value}'")]
    Ips {
        /// The text found.
        value: String,
    },
    /// There is no `ipam` object.
    #[error("IPAM config missing 'ipam' key")]
    NoIpam,
    /// Old versions have room for one address of each family.
    #[error("CNI version {version} does not support more than 1 address per family")]
    OneAddressPerFamily {
        /// The version.
        version: CniVersion,
    },
}
