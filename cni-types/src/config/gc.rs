//! The attachments that GC must leave alone.

use serde::{Deserialize, Serialize};

use crate::wire::{ExtraKeys, Text, wire_object};

/// The key under which a runtime sends the valid attachments.
pub const VALID_ATTACHMENTS: &str = "cni.dev/valid-attachments";
/// The key that early runtimes used; sent beside the other, and read when that is absent.
pub const VALID_ATTACHMENTS_OLD: &str = "cni.dev/attachments";

/// One attachment of a container to a network: container and interface.
///
/// ```
/// use cni_types::config::Attachment;
/// let valid = Attachment::new("c1", "eth0");
/// assert_eq!(serde_json::to_string(&valid)?, r#"{"containerID":"c1","ifname":"eth0"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#gc-clean-up-any-stale-resources).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attachment {
    /// The container's ID.
    pub container_id: String,
    /// The name of the interface inside the container.
    pub ifname: String,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Attachment {
        "containerID" => container_id: Text,
        "ifname" => ifname: Text,
    }
}

impl Attachment {
    /// An attachment of a container by an interface.
    pub fn new(container_id: impl Into<String>, ifname: impl Into<String>) -> Self {
        Self { container_id: container_id.into(), ifname: ifname.into(), extra: ExtraKeys::default() }
    }

    /// Whether both are the same; unknown keys do not count.
    pub fn is(&self, container_id: &str, ifname: &str) -> bool {
        self.container_id == container_id && self.ifname == ifname
    }
}

/// Only here so that the list of a request can be decoded with a path.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Attachments(pub(crate) Option<Vec<Attachment>>);
