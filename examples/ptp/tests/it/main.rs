//! The plugin as a whole: on a made-up kernel, which needs no root, on the real one, and beside Go's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod go;
mod kernel;
mod made_up;

use serde_json::{Value, json};

/// A configuration with these keys.
pub(crate) fn config(keys: &Value) -> Value {
    let mut config =
        json!({"cniVersion": "1.1.0", "name": "n1", "type": "ptp", "ipam": {"type": "host-local"}});
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// What the IPAM plugin gives to a container, in both families.
pub(crate) fn dual(host: u8) -> Value {
    json!({
        "ips": [
            {"address": format!("10.1.0.{host}/24"), "gateway": "10.1.0.1"},
            {"address": format!("fd00:1::{host}/64"), "gateway": "fd00:1::1"},
        ],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    })
}
