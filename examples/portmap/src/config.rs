//! The configuration: from the keys as they are written to settings that make sense together.
//!
//! Only ADD and CHECK need all of it. DEL and GC must work whatever stands there, so nothing is refused before
//! [`Settings::new`] is asked.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use cni_skel::capability::{PortMapping, Protocol};
use cni_skel::types::ErrorCode;
use cni_skel::types::config::PluginConfig;
use cni_skel::{Error, Result, ResultExt, RuntimeConfig};
use plugin_support::firewall::Family;
use plugin_support::firewall::probe::Backend;

/// Where the records are, if the configuration does not say.
const DATA_DIR: &str = "/run/cni/portmap";
/// Kubernetes marks with bits 14 and 15, Calico with 20 to 31.
const MARK_BIT: i64 = 13;
/// The capability.
const PORT_MAPPINGS: &str = cni_skel::capability::PORT_MAPPINGS;

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    backend: Option<String>,
    snat: Option<bool>,
    masq_all: Option<bool>,
    mark_masq_bit: Option<i64>,
    external_set_mark_chain: Option<String>,
    conditions_v4: Option<Vec<String>>,
    conditions_v6: Option<Vec<String>>,
    data_dir: Option<PathBuf>,
}

/// What the runtime gives. The mappings are read by [`Settings::new`], so that DEL need not care what they are.
#[derive(Debug, RuntimeConfig)]
pub struct Runtime {
    port_mappings: Option<serde_json::Value>,
}

/// A configuration that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The backend that is asked for; `None` to choose one that works.
    pub backend: Option<Backend>,
    /// Whether connections that could not be answered otherwise get the host's address.
    pub snat: bool,
    /// Whether all forwarded connections do.
    pub masq_all: bool,
    /// How such connections are marked, by iptables.
    pub mark: Mark,
    /// Further words of a match, in the backend's own syntax.
    pub conditions_v4: Vec<String>,
    /// The same for IPv6.
    pub conditions_v6: Vec<String>,
    /// The ports.
    pub mappings: Vec<Mapping>,
}

/// How iptables marks connections to masquerade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A bit of the packet mark, 0 to 31, set and looked at by chains of this plugin.
    Bit(u8),
    /// A chain of someone else, who masquerades as well.
    Chain(String),
}

/// A port of the host that leads to a port of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The protocol.
    pub protocol: Protocol,
    /// The host's port.
    pub host_port: u16,
    /// The container's port.
    pub container_port: u16,
    /// The one address of the host that is meant. `0.0.0.0` and `::` mean all of their family.
    pub host_ip: Option<IpAddr>,
}

impl Config {
    /// Where the records are.
    pub fn data_dir(&self) -> &Path {
        self.data_dir.as_deref().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(DATA_DIR))
    }

    fn backend(&self) -> Result<Option<Backend>> {
        let chosen = match self.backend.as_deref() {
            None => None,
            Some("iptables") => Some(Backend::Iptables),
            Some("nftables") => Some(Backend::Nftables),
            Some(other) => return Err(Error::message(format!("unrecognized backend {other:?}"))),
        };
        let conditions = [("conditionsV4", &self.conditions_v4), ("conditionsV6", &self.conditions_v6)];
        let mut specific: Vec<_> = Vec::new();
        if self.external_set_mark_chain.is_some() {
            specific.push((Backend::Iptables, "externalSetMarkChain"));
        }
        for (key, words) in conditions {
            // No match of nft starts like this, and every one of iptables does.
            match words.iter().flatten().next().and_then(|word| word.chars().next()) {
                None => {}
                Some('-' | '!') => specific.push((Backend::Iptables, key)),
                Some(_) => specific.push((Backend::Nftables, key)),
            }
        }
        // Without a choice, the syntax is one.
        let Some(wanted) = chosen.or(specific.first().map(|(backend, _)| *backend)) else { return Ok(None) };
        let wrong: Vec<_> =
            specific.iter().filter(|(backend, _)| *backend != wanted).map(|(_, key)| *key).collect();
        if let Some((other, _)) = specific.iter().find(|(backend, _)| *backend != wanted) {
            let keys = wrong.join(" ");
            return Err(Error::message(format!(
                "{wanted} backend was requested but configuration contains {other}-specific options [{keys}]"
            )));
        }
        Ok(Some(wanted))
    }

    fn mark(&self) -> Result<Mark> {
        match (self.mark_masq_bit, &self.external_set_mark_chain) {
            (Some(_), Some(_)) => Err(Error::message("Cannot specify externalSetMarkChain and markMasqBit")),
            (None, Some(chain)) => Ok(Mark::Chain(chain.clone())),
            (bit, None) => match u8::try_from(bit.unwrap_or(MARK_BIT)) {
                Ok(bit @ 0..=31) => Ok(Mark::Bit(bit)),
                _ => Err(Error::message("MasqMarkBit must be between 0 and 31")),
            },
        }
    }
}

impl Runtime {
    /// Whether there are mappings, right or wrong ones.
    pub fn has_mappings(&self) -> bool {
        self.port_mappings.as_ref().and_then(serde_json::Value::as_array).is_some_and(|list| !list.is_empty())
    }
}

impl Settings {
    /// The settings of a request.
    ///
    /// # Errors
    ///
    /// When a key has an impossible value, keys contradict each other, or a mapping cannot be one. Code 7.
    pub fn new(config: &Config, request: &PluginConfig) -> Result<Self> {
        Self::checked(config, request)
            .context("failed to parse config")
            .code(ErrorCode::INVALID_NETWORK_CONFIG)
    }

    fn checked(config: &Config, request: &PluginConfig) -> Result<Self> {
        let backend = config.backend()?;
        let mark = config.mark()?;
        let wanted: Option<Vec<PortMapping>> = request.runtime_values()?.decode(PORT_MAPPINGS)?;
        let mappings = wanted.unwrap_or_default().iter().map(Mapping::new).collect::<Result<_>>()?;
        let settings = Self {
            backend,
            snat: config.snat.unwrap_or(true),
            masq_all: config.masq_all.unwrap_or_default(),
            mark,
            conditions_v4: conditions("conditionsV4", config.conditions_v4.as_deref())?,
            conditions_v6: conditions("conditionsV6", config.conditions_v6.as_deref())?,
            mappings,
        };
        Ok(settings)
    }

    /// The conditions of a family.
    pub fn conditions(&self, family: Family) -> &[String] {
        match family {
            Family::V4 => &self.conditions_v4,
            Family::V6 => &self.conditions_v6,
        }
    }
}

impl Mapping {
    fn new(wanted: &PortMapping) -> Result<Self> {
        if wanted.container_port == 0 {
            return Err(Error::message("Invalid container port number: 0"));
        }
        if wanted.host_port == 0 {
            return Err(Error::message("Invalid host port number: 0"));
        }
        Ok(Self {
            protocol: wanted.protocol,
            host_port: wanted.host_port,
            container_port: wanted.container_port,
            // Go takes an IPv4 address in an IPv6 one for the former.
            host_ip: wanted.host_ip.map(|ip| ip.to_canonical()),
        })
    }

    /// Whether connections of this family can be meant.
    pub fn is_of(&self, family: Family) -> bool {
        self.host_ip.is_none_or(|ip| ip.is_ipv4() == (family == Family::V4))
    }

    /// The one address that connections must go to; `None` for every address of the host.
    pub fn only_to(&self) -> Option<IpAddr> {
        // The unspecified address is no packet's destination.
        self.host_ip.filter(|ip| !ip.is_unspecified())
    }
}

/// Words that stay words of one rule.
fn conditions(key: &str, words: Option<&[String]>) -> Result<Vec<String>> {
    let words: Vec<_> = words.unwrap_or_default().iter().filter(|word| !word.is_empty()).cloned().collect();
    match words.iter().find(|word| word.contains(|c: char| c.is_control() || c == ';' || c == '#')) {
        None => Ok(words),
        Some(word) => Err(Error::message(format!(
            "{key}: invalid condition {word:?}: expected words of a rule, without \";\", \"#\" and control characters"
        ))),
    }
}

#[cfg(test)]
mod tests;
