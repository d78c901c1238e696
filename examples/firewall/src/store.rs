//! What is recorded of what ADD let through: rules of iptables and firewalld bear no container's name, and a backend may be
//! another one by the time of DEL.
//!
//! The directory is below `/run`: like rules, records do not outlive the machine.

use std::net::IpAddr;
use std::path::Path;

use plugin_attach::Owner;
use plugin_attach::owner::digest;
use plugin_support::records::{self, Records};
use serde::{Deserialize, Serialize};

use crate::config::{Backend, IngressPolicy};

/// What ADD did for an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) network: String,
    #[serde(rename = "containerID")]
    pub(crate) container_id: String,
    pub(crate) ifname: String,
    pub(crate) backend: Backend,
    /// The zone of firewalld.
    pub(crate) zone: String,
    /// The bridge whose containers are kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bridge: Option<String>,
    /// From where they can be reached. Whoever wrote the record before this was kept may have meant either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ingress_policy: Option<IngressPolicy>,
    /// The container's addresses.
    pub(crate) addresses: Vec<IpAddr>,
}

impl Record {
    /// What nftables calls the attachment by.
    pub(crate) fn key(&self) -> String {
        Owner::new(&self.network, &self.container_id, &self.ifname).key()
    }

    /// Whether a bridge's containers are kept apart like this for this one's sake.
    pub(crate) fn asks_for(&self, bridge: &str, policy: IngressPolicy) -> bool {
        self.bridge.as_deref() == Some(bridge) && self.ingress_policy.is_none_or(|own| own == policy)
    }

    /// Whether this is about an attachment.
    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        self.container_id == owner.container_id && self.ifname == owner.ifname
    }
}

impl records::Record for Record {
    fn container_id(&self) -> &str {
        &self.container_id
    }

    fn ifname(&self) -> &str {
        &self.ifname
    }
}

/// The records of a directory, which need not exist.
pub(crate) fn records(dir: &Path) -> Records<Record> {
    Records::new(dir, |id| digest(&[id], 64))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Files as they have been since the first release, with the names that they have.
    #[test]
    fn a_file_has_the_same_name_and_text_as_ever() {
        let long = "c".repeat(5000);
        let digest_of_long = "eb3d3f28261dd1351753d772e9c7bb3ac00dc672924f12b928c342bf5d36067e";
        let text = |id: &str| {
            format!(
                r#"{{"network":"br","containerID":"{id}","ifname":"eth0","backend":"iptables","zone":"trusted","addresses":["10.2.0.2","fd00::2"]}}"#
            )
        };
        for (id, name) in [("c1", "c1:eth0.json".to_owned()), (&long, format!("{digest_of_long}:eth0.json"))]
        {
            let dir = tempfile::tempdir().unwrap();
            let record = Record {
                network: "br".into(),
                container_id: id.into(),
                ifname: "eth0".into(),
                backend: Backend::Iptables,
                zone: "trusted".into(),
                bridge: None,
                ingress_policy: None,
                addresses: vec!["10.2.0.2".parse().unwrap(), "fd00::2".parse().unwrap()],
            };
            fs::write(dir.path().join(&name), text(id)).unwrap();
            let records = records(dir.path());
            assert_eq!(records.all().unwrap(), std::slice::from_ref(&record));
            records.remove(id, "eth0").unwrap();
            assert_eq!(records.all().unwrap(), []);
            records.write(&record).unwrap();
            assert_eq!(fs::read_to_string(dir.path().join(&name)).unwrap(), text(id));
        }
    }

    #[test]
    fn a_bridge_and_every_backend_can_be_told() {
        for backend in ["firewalld", "iptables", "nftables"] {
            let text = format!(
                r#"{{"network":"br","containerID":"c1","ifname":"eth0","backend":"{backend}","zone":"trusted","bridge":"br0","addresses":[]}}"#
            );
            let record: Record = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (record.backend.to_string().as_str(), record.bridge.as_deref()),
                (backend, Some("br0"))
            );
            assert_eq!(serde_json::to_string(&record).unwrap(), text);
        }
    }
}
