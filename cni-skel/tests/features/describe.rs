//! The schema of a configuration in what a plugin says of itself.

use cni_skel::types::{Command, Handling, PluginDescription};
use serde_json::json;

use super::{example, text};

#[test]
fn a_plugin_tells_the_schema_of_its_configuration() {
    let output =
        std::process::Command::new(example("misbehaving")).env_clear().arg("--describe").output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let description = PluginDescription::decode(&output.stdout).unwrap();
    assert_eq!(description.handling(Command::Gc), Handling::NoOp);
    let schema = description.config_schema.unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(
        schema["properties"]["marker"],
        json!({"type": ["string", "null"], "description": "Written when a destructor of the handler runs."})
    );
    // What the SDK reads of the configuration besides.
    assert_eq!(schema["properties"]["logLevel"]["type"], json!(["string", "null"]));
}

#[test]
fn c100_a_configuration_without_a_schema_tells_its_keys_all_the_same() {
    let output =
        std::process::Command::new(example("native")).env_clear().arg("--describe").output().unwrap();
    let description = PluginDescription::decode(&output.stdout).unwrap();
    let schema = description.config_schema.as_ref().unwrap();
    assert_eq!(schema["properties"]["marker"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["logLevel"]["type"], json!(["string", "null"]));
    assert_eq!(description.handling(Command::Check), Handling::NoOp, "async handlers are described as well");
}
