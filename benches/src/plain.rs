//! The measure of decoding: the same work with serde's derives alone. One version in, one out; a key that is unknown or
//! in another letter case is lost.

use std::net::IpAddr;

use cni_types::Cidr;
use serde::{Deserialize, Serialize};

/// A result of 1.0.0; with `version` in its addresses, one of 0.4.0.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Result {
    cni_version: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    interfaces: Vec<Interface>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ips: Vec<Ip>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
    #[serde(default)]
    dns: Dns,
}

#[derive(Debug, Serialize, Deserialize)]
struct Interface {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Ip {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<usize>,
    address: Cidr,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Route {
    dst: Cidr,
    #[serde(skip_serializing_if = "Option::is_none")]
    gw: Option<IpAddr>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Dns {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nameservers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
}

/// A request of ADD to a chained plugin.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    cni_version: String,
    name: String,
    r#type: String,
    prev_result: Result,
}

/// A request of GC.
#[derive(Debug, Deserialize)]
struct Gc {
    #[serde(rename = "cni.dev/valid-attachments")]
    attachments: Vec<Attachment>,
}

#[derive(Debug, Deserialize)]
struct Attachment {
    #[serde(rename = "containerID")]
    container_id: String,
    ifname: String,
}

/// Decodes a request of GC and counts its attachments that have a name and an interface.
///
/// # Errors
///
/// When it is none.
pub fn attachments(json: &[u8]) -> serde_json::Result<usize> {
    let Gc { attachments } = serde_json::from_slice(json)?;
    let is_whole = |one: &&Attachment| !one.container_id.is_empty() && !one.ifname.is_empty();
    Ok(attachments.iter().filter(is_whole).count())
}

/// Decodes a request of ADD and prints its `prevResult`, as [`Passthrough`](crate::Passthrough) does.
///
/// # Errors
///
/// When it is none.
pub fn give_back(json: &[u8]) -> serde_json::Result<Vec<u8>> {
    let request: Request = serde_json::from_slice(json)?;
    let given = [&request.cni_version, &request.name, &request.r#type];
    if given.iter().any(|text| text.is_empty()) {
        return Err(serde::de::Error::custom("a key is empty"));
    }
    print(&request.prev_result)
}

/// Decodes a result of 1.0.0 and prints it as one of 0.4.0, indented.
///
/// # Errors
///
/// When it is none.
pub fn convert(json: &[u8]) -> serde_json::Result<Vec<u8>> {
    let mut result: Result = serde_json::from_slice(json)?;
    "0.4.0".clone_into(&mut result.cni_version);
    for ip in &mut result.ips {
        ip.version = Some(if ip.address.is_ipv4() { "4" } else { "6" }.to_owned());
    }
    print(&result)
}

fn print(result: &Result) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(512);
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    result.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter))?;
    Ok(text)
}
