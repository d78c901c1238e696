//! What a cache file says: Go's `cniCacheV1`, and the bare result that older libraries wrote.
//!
//! Reading is as loose as Go's about the case of keys, and strict about values: a record with one unreadable value is
//! damaged as a whole. Writing is what Go writes, key for key.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use cni_types::{ExtraKeys, RawJson, VersionedResult};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use super::name::Identity;
use crate::attachment::RuntimeConf;
use crate::network::Network;

/// The kind of a finished ADD's record.
const FINISHED: &str = "cniCacheV1";
/// The kind of the record of an ADD that is under way; Go's library passes over kinds that it does not know.
const PENDING: &str = "cniPendingV1";

/// What a cache file holds.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A record.
    Record(Box<Record>),
    /// Nothing but a result, which is all that libraries from before `cniCacheV1` wrote. What it is for is told by the
    /// file's name alone.
    Legacy(Box<VersionedResult>),
}

/// One attachment, as ADD was called for it, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) network: String,
    pub(crate) container_id: String,
    pub(crate) ifname: String,
    pub(crate) netns: Option<String>,
    pub(crate) args: Vec<(String, String)>,
    pub(crate) capability_args: ExtraKeys,
    pub(crate) config: Vec<u8>,
    pub(crate) result: Option<RawJson>,
    pub(crate) finished: bool,
}

impl Record {
    pub(crate) fn identity(&self) -> Identity<'_> {
        Identity { network: &self.network, container_id: &self.container_id, ifname: &self.ifname }
    }

    /// The result, in the version it was in.
    pub(crate) fn result(&self) -> Result<VersionedResult, Damage> {
        let Some(result) = self.result.as_ref() else { return Err(Damage::new("it holds no result")) };
        VersionedResult::decode(result.as_str().as_bytes())
            .map_err(|error| Damage::new(format!("result: {error}")))
    }
}

/// Reads a cache file.
pub(crate) fn decode(bytes: &[u8]) -> Result<Content, Damage> {
    let fields: ExtraKeys = serde_json::from_slice(bytes).map_err(|error| Damage::new(error.to_string()))?;
    let kind: Option<String> = field(&fields, "kind")?;
    let finished = match kind.as_deref() {
        Some(FINISHED) => true,
        Some(PENDING) => false,
        Some(kind) => return Err(Damage::new(format!("unknown kind {kind:?}, expected {FINISHED:?}"))),
        None => return legacy(&fields, bytes),
    };
    let text = |key| field::<String>(&fields, key).map(Option::unwrap_or_default);
    let config = field::<String>(&fields, "config")?.unwrap_or_default().replace(['\r', '\n'], "");
    let args: Vec<Vec<String>> = field(&fields, "cniArgs")?.unwrap_or_default();
    Ok(Content::Record(Box::new(Record {
        network: text("networkName")?,
        container_id: text("containerId")?,
        ifname: text("ifName")?,
        netns: field::<String>(&fields, "netns")?.filter(|netns| !netns.is_empty()),
        args: args.into_iter().map(pair).collect(),
        capability_args: field(&fields, "capabilityArgs")?.unwrap_or_default(),
        config: BASE64.decode(config).map_err(|error| Damage::new(format!("config: {error}")))?,
        result: field::<RawJson>(&fields, "result")?,
        finished,
    })))
}

/// A result without a record around it. An object with none of a result's keys is none.
fn legacy(fields: &ExtraKeys, bytes: &[u8]) -> Result<Content, Damage> {
    const KEYS: [&str; 7] = ["cniVersion", "interfaces", "ips", "ip4", "ip6", "routes", "dns"];
    if !fields.iter().any(|(found, _)| KEYS.iter().any(|key| key.eq_ignore_ascii_case(found))) {
        return Err(Damage::new("neither a record nor a result"));
    }
    let result = VersionedResult::decode(bytes).map_err(|error| Damage::new(error.to_string()))?;
    Ok(Content::Legacy(Box::new(result)))
}

/// The value of a key, found exactly or else in another case; `null` is absent.
fn field<T: DeserializeOwned>(fields: &ExtraKeys, key: &str) -> Result<Option<T>, Damage> {
    let folded =
        || fields.iter().filter(|(found, _)| found.eq_ignore_ascii_case(key)).last().map(|(_, value)| value);
    let Some(value) = fields.find(key).or_else(folded).filter(|value| value.as_str() != "null") else {
        return Ok(None);
    };
    value.decode().map(Some).map_err(|error| Damage::new(format!("{key}: {error}")))
}

/// As Go reads an array of two: what is missing is empty, what is too much is left out.
fn pair(items: Vec<String>) -> (String, String) {
    let mut items = items.into_iter();
    (items.next().unwrap_or_default(), items.next().unwrap_or_default())
}

/// The record of a finished ADD.
pub(crate) fn finished(
    network: &Network,
    rt: &RuntimeConf,
    result: &VersionedResult,
) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Written { kind: FINISHED, network, rt, result: Some(result) })
}

/// The record of an ADD that is under way.
pub(crate) fn pending(network: &Network, rt: &RuntimeConf) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Written { kind: PENDING, network, rt, result: None })
}

struct Written<'a> {
    kind: &'a str,
    network: &'a Network,
    rt: &'a RuntimeConf,
    result: Option<&'a VersionedResult>,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let Self { kind, network, rt, result } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("containerId", rt.container_id())?;
        map.serialize_entry("config", &BASE64.encode(network.whole()))?;
        map.serialize_entry("ifName", rt.ifname())?;
        map.serialize_entry("networkName", network.name())?;
        if let Some(netns) = rt.netns() {
            map.serialize_entry("netns", netns)?;
        }
        if !rt.args().is_empty() {
            map.serialize_entry("cniArgs", &rt.args().iter().collect::<Vec<_>>())?;
        }
        if !rt.capability_args().is_empty() {
            map.serialize_entry("capabilityArgs", rt.capability_args())?;
        }
        if let Some(result) = result {
            map.serialize_entry("result", result)?;
        }
        map.end()
    }
}

/// Why a cache file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage(String);

impl Damage {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
