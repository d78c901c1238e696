//! What is recorded of what ADD set up: by which backend, under which network's name, to which addresses. Without a record
//! and without mappings, no firewall program needs to run.
//!
//! The directory is below `/run`: like rules, records do not outlive the machine.

use std::net::IpAddr;
use std::path::Path;

use plugin_support::firewall::probe::Backend;
use plugin_support::records::{self, Records};
use serde::{Deserialize, Serialize};

use crate::names;
use crate::rules::Owner;

/// The most that stands for a container ID in the name of a file, in bytes.
const LONGEST_ID: usize = 200;

/// What ADD set up for an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) network: String,
    #[serde(rename = "containerID")]
    pub(crate) container_id: String,
    pub(crate) ifname: String,
    #[serde(with = "backend")]
    pub(crate) backend: Backend,
    /// The container's addresses that rules lead to.
    pub(crate) addresses: Vec<IpAddr>,
}

impl Record {
    /// The record of an attachment.
    pub(crate) fn new(owner: &Owner, backend: Backend, addresses: Vec<IpAddr>) -> Self {
        let Owner { network, container_id, ifname } = owner.clone();
        Self { network, container_id, ifname, backend, addresses }
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
    Records::new(dir, |id| names::shortened(id, LONGEST_ID))
}

/// A backend by the name that configurations have for it.
mod backend {
    use plugin_support::firewall::probe::Backend;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(backend: &Backend, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(backend)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Backend, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = [Backend::Iptables, Backend::Nftables];
        let found = known.into_iter().find(|backend| backend.to_string() == name);
        found.ok_or_else(|| de::Error::custom(format_args!("unknown backend {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plugin_support::records::Found;

    use super::*;

    /// Files as they have been since the first release, with the names that they have.
    #[test]
    fn a_file_has_the_same_name_and_text_as_ever() {
        let long = "c".repeat(1000);
        let short_for_long = "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc~69158716dd51b848f95e3b23f6d35d51";
        let text = |id: &str| {
            format!(
                r#"{{"network":"br","containerID":"{id}","ifname":"eth0","backend":"nftables","addresses":["10.2.0.2","fd00::2"]}}"#
            )
        };
        for (id, name) in [("c1", "c1:eth0.json".to_owned()), (&long, format!("{short_for_long}:eth0.json"))]
        {
            let dir = tempfile::tempdir().unwrap();
            let record = Record {
                network: "br".into(),
                container_id: id.into(),
                ifname: "eth0".into(),
                backend: Backend::Nftables,
                addresses: vec!["10.2.0.2".parse().unwrap(), "fd00::2".parse().unwrap()],
            };
            fs::write(dir.path().join(&name), text(id)).unwrap();
            let records = records(dir.path());
            assert_eq!(records.find(id, "eth0").unwrap(), Found::Record(record.clone()));
            records.remove(id, "eth0").unwrap();
            assert_eq!(records.find(id, "eth0").unwrap(), Found::Nothing);
            records.write(&record).unwrap();
            assert_eq!(fs::read_to_string(dir.path().join(&name)).unwrap(), text(id));
        }
    }

    #[test]
    fn a_backend_that_there_is_not_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"network":"br","containerID":"c1","ifname":"eth0","backend":"pf","addresses":[]}"#;
        fs::write(dir.path().join("c1:eth0.json"), text).unwrap();
        assert_eq!(records(dir.path()).find("c1", "eth0").unwrap(), Found::Damaged);
    }
}
