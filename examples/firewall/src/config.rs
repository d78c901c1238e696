//! The configuration: from the keys as they are written to settings that make sense together.
//!
//! Only ADD, CHECK and STATUS need all of it. DEL and GC must work whatever stands there, so that nothing is refused before
//! [`Settings::new`] is asked.

use std::fmt;
use std::path::{Path, PathBuf};

use cni_skel::types::AddResult;
use cni_skel::types::ErrorCode;
use cni_skel::{Error, Result};
use serde::{Deserialize, Serialize};

/// The chain of an administrator who has named none.
pub(crate) const DEFAULT_ADMIN_CHAIN: &str = "CNI-ADMIN";
/// Where the records are, if the configuration does not say.
const DATA_DIR: &str = "/run/cni/firewall";

/// The keys of the plugin.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    backend: Option<String>,
    iptables_admin_chain_name: Option<String>,
    firewalld_zone: Option<String>,
    ingress_policy: Option<String>,
    data_dir: Option<PathBuf>,
}

/// Who lets traffic through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The `firewalld` service, which has the rules.
    Firewalld,
    /// Rules of `iptables` and `ip6tables`.
    Iptables,
    /// Rules of `nft`.
    Nftables,
}

/// From where containers can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IngressPolicy {
    /// From everywhere.
    Open,
    /// From their own bridge and from outside, but not from other bridges.
    SameBridge,
    /// From outside alone.
    Isolated,
}

/// A configuration that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The backend that is asked for; `None` for firewalld if it runs, else iptables if it is installed, else nftables.
    pub backend: Option<Backend>,
    /// The chain of an administrator, which comes before all rules of the plugin.
    pub admin_chain: String,
    /// The zone of firewalld that containers' addresses are in.
    pub zone: String,
    /// From where containers can be reached.
    pub ingress_policy: IngressPolicy,
}

impl Config {
    /// Where the records are.
    pub fn data_dir(&self) -> &Path {
        self.data_dir.as_deref().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(DATA_DIR))
    }

    /// The zone of firewalld.
    pub(crate) fn zone(&self) -> &str {
        or(self.firewalld_zone.as_deref(), "trusted")
    }

    /// The backend that is asked for, if it is one.
    pub(crate) fn backend(&self) -> Result<Option<Backend>> {
        match self.backend.as_deref() {
            None | Some("") => Ok(None),
            Some("iptables") => Ok(Some(Backend::Iptables)),
            Some("nftables") => Ok(Some(Backend::Nftables)),
            Some("firewalld") => Ok(Some(Backend::Firewalld)),
            Some(other) => {
                let expected = r#"expected "iptables", "nftables" or "firewalld""#;
                Err(invalid(format!("unknown firewall backend {other:?} in key backend, {expected}")))
            }
        }
    }
}

impl Settings {
    /// Reads what is written.
    ///
    /// # Errors
    ///
    /// Code 7 for a backend or an ingress policy that there is not.
    pub fn new(config: &Config) -> Result<Self> {
        let ingress_policy = match config.ingress_policy.as_deref() {
            None | Some("" | "open") => IngressPolicy::Open,
            Some("same-bridge") => IngressPolicy::SameBridge,
            Some("isolated") => IngressPolicy::Isolated,
            Some(other) => return Err(invalid(format!("unknown ingress policy: {other:?}"))),
        };
        Ok(Self {
            backend: config.backend()?,
            admin_chain: or(config.iptables_admin_chain_name.as_deref(), DEFAULT_ADMIN_CHAIN).to_owned(),
            zone: config.zone().to_owned(),
            ingress_policy,
        })
    }

    /// The bridge whose containers are kept apart, if they are: the first interface of the result.
    ///
    /// # Errors
    ///
    /// Code 7 when there is none.
    pub(crate) fn bridge(&self, prev_result: &AddResult) -> Result<Option<String>> {
        let policy = self.ingress_policy;
        if policy == IngressPolicy::Open {
            return Ok(None);
        }
        match prev_result.interfaces.first() {
            None => Err(invalid(format!(
                "interface needs to be set for ingress policy \"{policy}\", make sure to chain \"firewall\" plugin with \
                 \"bridge\""
            ))),
            Some(bridge) if bridge.name.is_empty() => Err(invalid("got empty bridge name".to_owned())),
            Some(bridge) => Ok(Some(bridge.name.clone())),
        }
    }
}

/// As configurations name it.
impl fmt::Display for IngressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::SameBridge => "same-bridge",
            Self::Isolated => "isolated",
        })
    }
}

/// As configurations name it.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Firewalld => "firewalld",
            Self::Iptables => "iptables",
            Self::Nftables => "nftables",
        })
    }
}

fn or<'a>(text: Option<&'a str>, default: &'a str) -> &'a str {
    text.filter(|text| !text.is_empty()).unwrap_or(default)
}

fn invalid(msg: String) -> Error {
    Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(keys: serde_json::Value) -> Result<Settings> {
        Settings::new(&serde_json::from_value(keys).unwrap())
    }

    #[test]
    fn what_is_not_said_or_empty_is_gos_default() {
        let default = settings(json!({})).unwrap();
        assert_eq!((default.admin_chain.as_str(), default.zone.as_str()), ("CNI-ADMIN", "trusted"));
        assert_eq!((default.backend, default.ingress_policy), (None, IngressPolicy::Open));
        let keys =
            json!({"backend": "", "iptablesAdminChainName": "", "firewalldZone": "", "ingressPolicy": ""});
        assert_eq!(settings(keys).unwrap(), default);
        let keys = json!({
            "backend": "firewalld", "iptablesAdminChainName": "MINE", "firewalldZone": "work", "ingressPolicy": "isolated",
        });
        let other = settings(keys).unwrap();
        assert_eq!((other.admin_chain.as_str(), other.zone.as_str()), ("MINE", "work"));
        assert_eq!(
            (other.backend, other.ingress_policy),
            (Some(Backend::Firewalld), IngressPolicy::Isolated)
        );
    }

    #[test]
    fn what_there_is_not_is_refused() {
        for (keys, msg) in [
            (json!({"ingressPolicy": "x"}), "unknown ingress policy: \"x\""),
            (json!({"backend": "iptable"}), "unknown firewall backend \"iptable\" in key backend"),
        ] {
            let error = settings(keys).unwrap_err().to_object();
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
            assert!(error.msg.starts_with(msg), "{}", error.msg);
        }
    }
}
