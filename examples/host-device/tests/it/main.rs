//! The plugin as a whole: on a made-up kernel, which needs no root, on the real one, and beside Go's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod go;
mod kernel;
mod made_up;

use serde_json::{Value, json};

/// A configuration with these keys, for the device `ens5`.
pub(crate) fn l2(keys: &Value) -> Value {
    let mut config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "host-device", "device": "ens5"});
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// The same with an IPAM plugin.
pub(crate) fn l3(keys: &Value) -> Value {
    let mut config = l2(&json!({"ipam": {"type": "host-local"}}));
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}
