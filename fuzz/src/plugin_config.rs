//! A plugin's configuration and everything that is asked of it.

use std::fmt::Debug;

use cni_types::config::capability::{self, Bandwidth, IpRange, PortMapping, RequestedIp, RuntimeDns, Values};
use cni_types::config::{
    ListedPlugin, PluginConfig, VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD, declared_version,
};
use cni_types::{ExtraKeys, MacAddr};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json;

/// Reads bytes as a configuration, and all that is typed in it.
pub fn check(bytes: &[u8]) {
    match PluginConfig::decode(bytes) {
        Ok(config) => {
            let text = serde_json::to_string(&config).expect("a configuration has a JSON form");
            let again = PluginConfig::decode(text.as_bytes()).expect("what was printed can be read");
            assert_eq!(again, config);
            assert_eq!(serde_json::to_string(&again).ok(), Some(text));
            let declared = declared_version(bytes).expect("what is a configuration has a version");
            assert_eq!(declared, config.cni_version, "both ways to the version find the same");
            ask(&config, bytes);
        }
        Err(error) => json::check_error(&error, bytes),
    }
    match ListedPlugin::decode(bytes) {
        Ok(plugin) => {
            let text = serde_json::to_string(&plugin).expect("a plugin of a list has a JSON form");
            assert_eq!(ListedPlugin::decode(text.as_bytes()), Ok(plugin));
        }
        Err(error) => json::check_error(&error, bytes),
    }
}

fn ask(config: &PluginConfig, document: &[u8]) {
    let _ =
        (config.version(), config.network_name(), config.plugin_type(), config.ipam_type(), config.is_list());
    match config.decode_prev_result() {
        Ok(result) => assert_eq!(result.is_some(), config.prev_result.is_some()),
        Err(error) => json::check_error(&error, document),
    }
    match config.valid_attachments() {
        Ok(list) => {
            // Printed, the keys are in their own spelling.
            let text = serde_json::to_string(config).expect("a configuration has a JSON form");
            let printed: ExtraKeys = serde_json::from_str(&text).expect("what was printed can be read");
            let told = [VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD].map(|key| printed.find(key).is_some());
            assert_eq!(list.is_some(), told.contains(&true));
        }
        Err(error) => json::check_error(&error, document),
    }
    match config.runtime_values() {
        Ok(values) => {
            capability::<Vec<PortMapping>>(&values, capability::PORT_MAPPINGS, document);
            capability::<Vec<RequestedIp>>(&values, capability::IPS, document);
            capability::<Vec<Vec<IpRange>>>(&values, capability::IP_RANGES, document);
            capability::<MacAddr>(&values, capability::MAC, document);
            capability::<Bandwidth>(&values, capability::BANDWIDTH, document);
            capability::<RuntimeDns>(&values, capability::DNS, document);
            capability::<Vec<String>>(&values, capability::ALIASES, document);
        }
        Err(error) => json::check_error(&error, document),
    }
}

fn capability<T>(values: &Values, name: &str, document: &[u8])
where
    T: DeserializeOwned + Serialize + PartialEq + Debug,
{
    match values.decode::<T>(name) {
        Ok(None) => {}
        Ok(Some(value)) => {
            let text = serde_json::to_string(&value).expect("a capability's value has a JSON form");
            assert_eq!(serde_json::from_str::<T>(&text).ok(), Some(value), "{text}");
        }
        Err(error) => json::check_error(&error, document),
    }
}
