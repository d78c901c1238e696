//! The plugin as a whole: on a made-up kernel, which needs no root, on the real one, and beside Go's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod go;
mod kernel;
mod made_up;

use plugin_support::netlink::{Handle, RouteFilter};
use serde_json::{Value, json};

/// A configuration with these keys, after a plugin that has made `net1`.
pub(crate) fn config(version: &str, keys: &Value) -> Value {
    let mut config = json!({"cniVersion": version, "name": "n1", "type": "sbr"});
    config["prevResult"] = json!({
        "cniVersion": version,
        "interfaces": [{"name": "veth1"}, {"name": "net1", "sandbox": "/run/netns/c1"}],
        "ips": [
            {"address": "10.2.0.5/24", "gateway": "10.2.0.1", "interface": 1},
            {"address": "10.2.0.6/24", "gateway": "10.2.0.1", "interface": 1},
            {"address": "fd02::5/64", "gateway": "fd02::1", "interface": 1},
        ],
    });
    if version < "1.0.0" {
        for (ip, family) in
            config["prevResult"]["ips"].as_array_mut().unwrap().iter_mut().zip(["4", "4", "6"])
        {
            ip["version"] = json!(family);
        }
    }
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// All routes of `net1` outside of the tables of the kernel, and all rules from an address.
pub(crate) fn state(netlink: &Handle) -> Vec<String> {
    let link = netlink.link("net1").unwrap();
    let mut lines = Vec::new();
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        for route in netlink.routes(&filter.every_table().dev(&link)).unwrap() {
            let is_own = route.table != 255 && !route.destination.to_string().starts_with("fe80");
            lines.extend(is_own.then(|| format!("table {}: {route}", route.table)));
        }
    }
    let rules = netlink.rules().unwrap();
    lines.extend(rules.iter().filter(|rule| rule.source.is_some()).map(ToString::to_string));
    lines.sort();
    lines
}
