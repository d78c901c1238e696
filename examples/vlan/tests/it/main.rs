//! The plugin as a whole: on a made-up kernel, which needs no root, and on the real one where it has VLANs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kernel;
mod made_up;

use serde_json::{Value, json};

/// A configuration with these keys, on the link `up0`.
pub(crate) fn config(keys: &Value) -> Value {
    let mut config = json!({
        "cniVersion": "1.1.0", "name": "n1", "type": "vlan", "master": "up0", "vlanId": 100, "ipam": {"type": "host-local"},
    });
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}
