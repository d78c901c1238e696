//! The cases, one plugin a module.
#![allow(clippy::needless_pass_by_value, reason = "the keys of a case are written where they are passed")]

pub(super) mod bandwidth;
pub(super) mod bridge;
pub(super) mod firewall;
pub(super) mod host_device;
pub(super) mod host_local;
pub(super) mod macvlan;
pub(super) mod modules;
pub(super) mod portmap;
mod protocol;
pub(super) mod ptp;
pub(super) mod sbr;
pub(super) mod static_ipam;
pub(super) mod tuning;

use serde_json::Value;

/// A configuration with further keys, or others.
fn with(mut config: Value, keys: Value) -> Value {
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// A result in the layout of versions before 1.0.0, which tell an address's family.
fn before_1(mut result: Value, version: &str) -> Value {
    result["cniVersion"] = version.into();
    for ip in result["ips"].as_array_mut().unwrap() {
        let is_v6 = ip["address"].as_str().unwrap().contains(':');
        ip["version"] = if is_v6 { "6" } else { "4" }.into();
    }
    result
}
