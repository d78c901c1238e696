//! The attachments that the cache knows.

use std::path::Path;

use libcni::CachedAttachment;
use libcni::cni_types::{ExtraKeys, VersionedResult};
use serde::Serialize;

use super::table::table;
use super::{Report, Style, pretty};

/// Attachments of a cache directory.
#[derive(Debug)]
pub(crate) struct Attached<'a> {
    pub(crate) cache_dir: &'a Path,
    pub(crate) attachments: &'a [CachedAttachment],
}

impl Report for Attached<'_> {
    fn text(&self, style: Style) -> String {
        if self.attachments.is_empty() {
            return format!("no attachments in {}\n", self.cache_dir.display());
        }
        let rows: Vec<_> = self.attachments.iter().map(row).collect();
        table(["NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "NETNS"], &rows, style)
    }

    fn json(&self) -> String {
        pretty(&self.attachments.iter().map(Json::new).collect::<Vec<_>>())
    }
}

fn row(attachment: &CachedAttachment) -> [String; 5] {
    let addresses = match attachment.result() {
        Ok(result) => {
            let ips = result.into_add_result().ips;
            ips.iter().map(|ip| ip.address.to_string()).collect::<Vec<_>>().join(" ")
        }
        Err(_) if !attachment.is_finished() => "(ADD is not finished)".to_owned(),
        Err(_) => "(unreadable)".to_owned(),
    };
    let gone = if is_gone(attachment) { " (gone)" } else { "" };
    [
        attachment.network_name().to_owned(),
        attachment.container_id().to_owned(),
        attachment.ifname().to_owned(),
        addresses,
        format!("{}{gone}", attachment.netns().unwrap_or_default()),
    ]
}

/// Whether the network namespace is known not to exist any more.
fn is_gone(attachment: &CachedAttachment) -> bool {
    attachment.netns().is_some_and(|netns| netns.starts_with('/') && !Path::new(netns).exists())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    network: &'a str,
    #[serde(rename = "containerID")]
    container_id: &'a str,
    ifname: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    netns: Option<&'a str>,
    netns_gone: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    args: &'a [(String, String)],
    #[serde(skip_serializing_if = "ExtraKeys::is_empty")]
    capability_args: &'a ExtraKeys,
    file: &'a Path,
    /// Whether ADD came to its end.
    finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<VersionedResult>,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> Json<'a> {
    fn new(attachment: &'a CachedAttachment) -> Self {
        let (result, error) = match attachment.result() {
            Ok(result) => (Some(result), None),
            Err(_) if !attachment.is_finished() => (None, None),
            Err(error) => (None, Some(error.message().to_owned())),
        };
        Self {
            network: attachment.network_name(),
            container_id: attachment.container_id(),
            ifname: attachment.ifname(),
            netns: attachment.netns(),
            netns_gone: is_gone(attachment),
            args: attachment.args(),
            capability_args: attachment.capability_args(),
            file: attachment.file(),
            finished: attachment.is_finished(),
            result,
            error,
        }
    }
}
