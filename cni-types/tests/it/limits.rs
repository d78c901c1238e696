//! Documents made to cost much: nested deep, or of very many keys. They are read or refused, in time and without
//! recursion.

use std::iter;

use cni_types::config::{ListedPlugin, NetworkList, PluginConfig};
use cni_types::{ErrorObject, ExtraKeys, MAX_NESTING, PluginInfo, RawJson, VersionedResult};
use serde_json::Value;

/// Deeper than any stack could follow.
const ABYSS: usize = 100_000;
/// So many that to compare each with every other would not go unnoticed.
const MANY: usize = 100_000;

fn nested(levels: usize) -> String {
    ["[".repeat(levels), "]".repeat(levels)].concat()
}

/// Whether a document is read as each kind there is.
fn read_as_everything(json: &str) -> Vec<bool> {
    let json = json.as_bytes();
    let prev_result = PluginConfig::decode(json).ok().map(|config| config.decode_prev_result().is_ok());
    vec![
        VersionedResult::decode(json).is_ok(),
        PluginConfig::decode(json).is_ok(),
        prev_result.unwrap_or_default(),
        NetworkList::decode(json).is_ok(),
        ListedPlugin::decode(json).is_ok(),
        ErrorObject::decode(json).is_ok(),
        PluginInfo::decode(json).is_ok(),
        serde_json::from_slice::<ExtraKeys>(json).is_ok(),
    ]
}

#[test]
fn no_depth_overflows_the_stack_wherever_it_is() {
    let abyss = nested(ABYSS);
    for json in [
        abyss.clone(),
        format!(r#"{{"x":{abyss}}}"#),
        format!(r#"{{"cniVersion":{abyss}}}"#),
        format!(r#"{{"cniVersion":"1.1.0","name":"n","ips":[{{"address":"10.1.0.5/16","x":{abyss}}}]}}"#),
        format!(r#"{{"ip4":{{"ip":"10.1.0.5/16","routes":[{{"dst":"0.0.0.0/0","x":{abyss}}}]}}}}"#),
        format!(r#"{{"name":"n","plugins":[{{"type":"a","ipam":{{"x":{abyss}}}}}]}}"#),
        format!(r#"{{"name":"n","plugins":{abyss}}}"#),
        format!(r#"{{"name":"n","dns":{{"x":{abyss}}},"code":7,"msg":"m"}}"#),
    ] {
        let read = read_as_everything(&json);
        let start = &json[..json.len().min(60)];
        let has_place = json.contains("plugins") || json.contains("ip");
        assert!(has_place || !read.contains(&true), "{start}: {read:?}");
    }
    // What is only passed on is kept as text; it is refused when it is read.
    for key in ["args", "runtimeConfig", "prevResult", "cni.dev/valid-attachments"] {
        let json = format!(r#"{{"name":"n","{key}":{abyss}}}"#);
        let config = PluginConfig::decode(json.as_bytes()).unwrap();
        let is_refused = config.decode_prev_result().is_err()
            || config.runtime_values().is_err()
            || config.valid_attachments().is_err();
        assert_eq!(is_refused, key != "args");
        assert_eq!(serde_json::to_string(&config).unwrap(), json);
    }
    let extra: RawJson = RawJson::parse(abyss).unwrap();
    assert!(extra.decode::<Value>().is_err());
}

#[test]
fn nesting_is_bounded_in_every_kind_of_document_and_the_error_says_how() {
    for (levels, is_read) in [(MAX_NESTING, true), (MAX_NESTING + 1, false)] {
        let json = format!(r#"{{"cniVersion":"1.1.0","name":"n","plugins":[],"x":{}}}"#, nested(levels));
        let error = VersionedResult::decode(json.as_bytes()).err().map(|error| error.message().to_owned());
        assert_eq!(error.as_deref(), (!is_read).then_some("nested deeper than 127 levels"));
        assert_eq!(PluginConfig::decode(json.as_bytes()).is_ok(), is_read);
        assert_eq!(NetworkList::decode(json.as_bytes()).is_ok(), is_read);
        assert_eq!(ListedPlugin::decode(json.as_bytes()).is_ok(), is_read);
        assert_eq!(ErrorObject::decode(json.as_bytes()).is_ok(), is_read);
        assert_eq!(serde_json::from_str::<ExtraKeys>(&json).is_ok(), is_read);
    }
}

#[test]
fn many_keys_are_read_in_time() {
    let keys: Vec<_> = (0..MANY).map(|number| format!(r#""{number:x}":1"#)).collect();
    let json = format!(r#"{{"cniVersion":"1.1.0","name":"n","plugins":[],{}}}"#, keys.join(","));
    assert_eq!(VersionedResult::decode(json.as_bytes()).unwrap().as_v100().unwrap().extra.len(), MANY + 2);
    assert_eq!(PluginConfig::decode(json.as_bytes()).unwrap().extra.len(), MANY + 1);
    assert_eq!(NetworkList::decode(json.as_bytes()).unwrap().extra.len(), MANY);
    let all: ExtraKeys = serde_json::from_str(&json).unwrap();
    let one = RawJson::parse("1").unwrap();
    let again: ExtraKeys = all.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    assert_eq!(again, all);
    let mut doubled = again;
    doubled.extend(
        all.iter()
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .chain(iter::once(("new".to_owned(), one))),
    );
    assert_eq!(doubled.len(), all.len() + 1);
}
