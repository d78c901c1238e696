//! The documented capabilities: what a runtime gives per container under `runtimeConfig`.
//!
//! Keys are found in any letter case: go-cni, and so containerd, writes `HostPort` for `hostPort`.
//!
//! See [the conventions](https://github.com/containernetworking/cni/blob/main/CONVENTIONS.md#dynamic-plugin-specific-fields-capabilities--runtime-configuration).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Cidr;
use crate::error::DecodeError;
use crate::wire::{ExtraKeys, OptAddress, OptValue, Required, TextList, Value, parsed, wire_object};

/// `portMappings`: a list of [`PortMapping`].
pub const PORT_MAPPINGS: &str = "portMappings";
/// `ips`: a list of [`RequestedIp`].
pub const IPS: &str = "ips";
/// `ipRanges`: a list of lists of [`IpRange`].
pub const IP_RANGES: &str = "ipRanges";
/// `mac`: a [`MacAddr`](crate::MacAddr).
pub const MAC: &str = "mac";
/// `bandwidth`: [`Bandwidth`].
pub const BANDWIDTH: &str = "bandwidth";
/// `dns`: [`RuntimeDns`].
pub const DNS: &str = "dns";
/// `infinibandGUID`: text.
pub const INFINIBAND_GUID: &str = "infinibandGUID";
/// `deviceID`: text.
pub const DEVICE_ID: &str = "deviceID";
/// `aliases`: a list of text.
pub const ALIASES: &str = "aliases";
/// `cgroupPath`: text.
pub const CGROUP_PATH: &str = "cgroupPath";

/// Every documented capability.
pub const DOCUMENTED: [&str; 10] =
    [ALIASES, BANDWIDTH, CGROUP_PATH, DEVICE_ID, DNS, INFINIBAND_GUID, IP_RANGES, IPS, MAC, PORT_MAPPINGS];

/// The values of `runtimeConfig`, by key, each as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Values {
    /// The keys and values.
    pub extra: ExtraKeys,
}

wire_object! { Values {} }

impl Values {
    /// Decodes the value of a capability; `None` when the runtime gave none or `null`.
    ///
    /// The key is found exactly, or else in another letter case.
    ///
    /// # Errors
    ///
    /// When the value is not of the type, with the path from `runtimeConfig` on. Code 7.
    pub fn decode<T: DeserializeOwned>(&self, capability: &str) -> Result<Option<T>, DecodeError> {
        let folded = || self.extra.iter().filter(|(key, _)| key.eq_ignore_ascii_case(capability)).last();
        let found = self.extra.find(capability).or_else(|| folded().map(|(_, value)| value));
        let Some(raw) = found.filter(|raw| raw.as_str() != "null") else { return Ok(None) };
        let path = format!("runtimeConfig.{capability}");
        // A type of anybody's may refuse a value after it was read, when the parser has gone on and its place tells nothing.
        serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(raw.as_str()))
            .map(Some)
            .map_err(|error| {
                DecodeError::parsing_at(WHAT, &error.path().to_string(), error.inner()).under(WHAT, &path)
            })
    }
}

const WHAT: &str = "network configuration";

/// A port of the host that leads to a port of the container.
///
/// ```
/// use cni_types::config::capability::{PortMapping, Protocol};
/// let mapping: PortMapping = serde_json::from_str(r#"{"hostPort":8080,"containerPort":80}"#)?;
/// assert_eq!(mapping.protocol, Protocol::Tcp);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortMapping {
    /// The host's port.
    pub host_port: u16,
    /// The container's port.
    pub container_port: u16,
    /// The protocol; absent and empty mean TCP.
    pub protocol: Protocol,
    /// The host's address to listen on; absent and empty mean every one.
    pub host_ip: Option<IpAddr>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    PortMapping {
        "hostPort" => host_port: Value<u16>,
        "containerPort" => container_port: Value<u16>,
        "protocol" => protocol: Value<Protocol>,
        "hostIP" => host_ip: OptAddress,
    }
}

/// A transport protocol, in lower case on the wire and in any case from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// SCTP.
    Sctp,
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// The protocol as the wire has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, |text| {
            let known = [Self::Sctp, Self::Tcp, Self::Udp].into_iter();
            match known.into_iter().find(|protocol| text.eq_ignore_ascii_case(protocol.as_str())) {
                Some(protocol) => Ok(protocol),
                None if text.is_empty() => Ok(Self::Tcp),
                None => Err(format!("invalid value: string {text:?}, expected tcp, udp or sctp")),
            }
        })
    }
}

/// An address that a runtime asks for, with or without a prefix length.
///
/// ```
/// use cni_types::config::capability::RequestedIp;
/// let bare: RequestedIp = "10.2.2.42".parse()?;
/// assert_eq!(bare.prefix, None);
/// let full: RequestedIp = "10.2.2.43/24".parse()?;
/// assert_eq!(full.prefix, Some(24));
/// # Ok::<(), cni_types::config::capability::InvalidRequestedIp>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestedIp {
    /// The address.
    pub address: IpAddr,
    /// The prefix length in bits, if one was given.
    pub prefix: Option<u8>,
}

impl FromStr for RequestedIp {
    type Err = InvalidRequestedIp;

    fn from_str(text: &str) -> Result<Self, InvalidRequestedIp> {
        if let Ok(address) = text.parse() {
            return Ok(Self { address, prefix: None });
        }
        match text.parse::<Cidr>() {
            Ok(cidr) => Ok(Self { address: cidr.address(), prefix: Some(cidr.prefix()) }),
            Err(_) => Err(InvalidRequestedIp { value: text.to_owned() }),
        }
    }
}

/// A text is no address, be it with or without a prefix length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid IP address: {value:?}, expected an address such as \"10.1.0.5\" or \"10.1.0.5/16\"")]
#[non_exhaustive]
pub struct InvalidRequestedIp {
    /// The text found.
    pub value: String,
}

impl fmt::Display for RequestedIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            None => write!(f, "{}", self.address),
            Some(prefix) => write!(f, "{}/{prefix}", self.address),
        }
    }
}

impl Serialize for RequestedIp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestedIp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, str::parse)
    }
}

/// A range to allocate from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IpRange {
    /// The subnet.
    pub subnet: Cidr,
    /// The first address to give out; the plugin's default if absent.
    pub range_start: Option<IpAddr>,
    /// The last address to give out; the plugin's default if absent.
    pub range_end: Option<IpAddr>,
    /// The subnet's gateway; the plugin's default if absent.
    pub gateway: Option<IpAddr>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    IpRange {
        "subnet" => subnet: Required<Cidr>,
        "rangeStart" => range_start: OptAddress,
        "rangeEnd" => range_end: OptAddress,
        "gateway" => gateway: OptAddress,
    }
}

impl IpRange {
    /// The whole of a subnet, as far as the plugin's defaults go.
    pub fn new(subnet: Cidr) -> Self {
        Self { subnet, range_start: None, range_end: None, gateway: None, extra: ExtraKeys::default() }
    }
}

/// Limits of an interface's traffic. "Ingress" is towards the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bandwidth {
    /// Towards the container, in bits a second.
    pub ingress_rate: Option<u64>,
    /// Burst towards the container, in bits.
    pub ingress_burst: Option<u64>,
    /// From the container, in bits a second.
    pub egress_rate: Option<u64>,
    /// Burst from the container, in bits.
    pub egress_burst: Option<u64>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Bandwidth {
        "ingressRate" => ingress_rate: OptValue<u64>,
        "ingressBurst" => ingress_burst: OptValue<u64>,
        "egressRate" => egress_rate: OptValue<u64>,
        "egressBurst" => egress_burst: OptValue<u64>,
    }
}

/// Name resolution that a runtime asks for; the keys differ from those of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeDns {
    /// Addresses of name servers.
    pub servers: Vec<String>,
    /// Search domains.
    pub searches: Vec<String>,
    /// Options for the resolver.
    pub options: Vec<String>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    RuntimeDns {
        "servers" => servers: TextList,
        "searches" => searches: TextList,
        "options" => options: TextList,
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Deserializer, de};

    use crate::config::PluginConfig;

    /// As types are usually written.
    #[derive(Debug)]
    struct Good;

    impl<'de> Deserialize<'de> for Good {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            if text == "good" { Ok(Self) } else { Err(de::Error::custom("not good")) }
        }
    }

    #[test]
    fn a_type_that_refuses_a_value_after_it_was_read_has_the_path_to_it() {
        for (nets, path) in [
            (r#"["good", "bad", "good"]"#, "runtimeConfig.nets[1]"),
            (r#"["good", "good", "bad"]"#, "runtimeConfig.nets[2]"),
            ("7", "runtimeConfig.nets"),
        ] {
            let document = format!(r#"{{"runtimeConfig":{{"nets":{nets}}}}}"#);
            let values = PluginConfig::decode(document.as_bytes()).unwrap().runtime_values().unwrap();
            let error = values.decode::<Vec<Good>>("nets").unwrap_err();
            assert_eq!(error.path(), Some(path), "{error}");
        }
    }
}
