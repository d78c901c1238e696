//! What the benchmarks and the tests of their kind have in common: the inputs, and the plugin that is measured.

pub mod plain;

use std::fmt::Write as _;

use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};

/// A result of three interfaces, as a bridge with a chained plugin reports it, in 1.0.0.
pub const RESULT: &str = include_str!("../inputs/result.json");

/// The environment of an ADD.
pub const ENVIRONMENT: [(&str, &str); 6] = [
    ("CNI_COMMAND", "ADD"),
    ("CNI_CONTAINERID", "3f8a1c0e5b7d"),
    ("CNI_NETNS", "/var/run/netns/blue"),
    ("CNI_IFNAME", "eth0"),
    ("CNI_PATH", "/opt/cni/bin"),
    ("PATH", "/usr/bin:/bin"),
];

/// The request of an ADD to a plugin of this type, with [`RESULT`] as its `prevResult`.
pub fn request(plugin: &str) -> String {
    format!(r#"{{"cniVersion":"1.0.0","name":"bench","type":"{plugin}","prevResult":{RESULT}}}"#)
}

/// A result of one interface and this many routes.
pub fn routes(count: usize) -> String {
    let mut text = r#"{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","sandbox":"/var/run/netns/blue"}],"ips":[{"interface":0,"address":"10.1.0.5/16"}],"routes":["#.to_owned();
    for n in 0..count {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(text, r#"{comma}{{"dst":"10.{}.{}.0/24","gw":"10.1.0.1"}}"#, n / 256 % 256, n % 256);
    }
    text.push_str("]}");
    text
}

/// A GC request with this many valid attachments, a hundred bytes each.
pub fn gc_request(attachments: usize) -> String {
    let mut text =
        r#"{"cniVersion":"1.1.0","name":"bench","type":"passthrough","cni.dev/valid-attachments":["#
            .to_owned();
    for n in 0..attachments {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(text, r#"{comma}{{"containerID":"{n:064x}","ifname":"eth0"}}"#);
    }
    text.push_str("]}");
    text
}

/// The least that a chained plugin does: ADD gives the `prevResult` back.
#[derive(CniPlugin, Debug)]
#[cni(name = "passthrough", about = "gives the prevResult back")]
pub struct Passthrough;

impl Plugin for Passthrough {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}
