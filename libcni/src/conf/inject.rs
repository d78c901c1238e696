//! What a plugin is sent: its configuration as it stands in the file, with the keys that the runtime owns replaced.
//!
//! Keys are taken over one by one as text, so that whatever only the plugin knows reaches it unchanged: its numbers, its
//! order, its spelling. A key that the runtime owns is never taken from the file, in whatever letter case it stands there,
//! since plugins read keys in any case. See [the spec on how a request is
//! derived](https://github.com/containernetworking/cni/blob/main/SPEC.md#deriving-request-configuration-from-plugin-configuration).

use cni_types::config::{Attachment, VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD};
use cni_types::{CniVersion, ExtraKeys, VersionedResult};
use serde::Serialize;

use crate::network::Plugin;

/// The keys that are never taken from the file, and those that start like [`OWN_PREFIX`].
const OWN: [&str; 5] = ["cniVersion", "name", "capabilities", "runtimeConfig", "prevResult"];
const OWN_PREFIX: &str = "cni.dev/";

/// What the runtime puts into a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injected<'a> {
    /// The network's name.
    pub(crate) name: &'a str,
    /// The version; `None` is sent as nothing and means 0.1.0.
    pub(crate) version: Option<CniVersion>,
    /// What the runtime offers to those plugins that declare the capability.
    pub(crate) capability_args: Option<&'a ExtraKeys>,
    /// The result of the plugins before this one, or of the ADD.
    pub(crate) prev_result: Option<&'a VersionedResult>,
    /// The attachments that GC must leave alone.
    pub(crate) valid_attachments: Option<&'a [Attachment]>,
}

/// The request for one plugin.
pub(crate) fn request(plugin: &Plugin, injected: &Injected<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let mut request = ExtraKeys::default();
    if let Some(version) = injected.version {
        request.insert("cniVersion", &version)?;
    }
    request.insert("name", &injected.name)?;
    let kept = plugin.object().iter().filter(|(key, _)| !is_own(key));
    request.extend(kept.map(|(key, value)| (key.to_owned(), value.clone())));
    let runtime_config = runtime_config(plugin, injected.capability_args);
    if !runtime_config.is_empty() {
        request.insert("runtimeConfig", &runtime_config)?;
    }
    insert(&mut request, "prevResult", injected.prev_result)?;
    insert(&mut request, VALID_ATTACHMENTS, injected.valid_attachments)?;
    insert(&mut request, VALID_ATTACHMENTS_OLD, injected.valid_attachments)?;
    serde_json::to_vec(&request)
}

/// What the plugin declares *and* the runtime offers.
fn runtime_config(plugin: &Plugin, offered: Option<&ExtraKeys>) -> ExtraKeys {
    let mut given = ExtraKeys::default();
    for capability in plugin.config().wanted_capabilities() {
        if let Some(value) = offered.and_then(|offered| offered.find(capability)) {
            given.insert_raw(capability.to_owned(), value.clone());
        }
    }
    given
}

fn insert<T: Serialize + ?Sized>(
    request: &mut ExtraKeys,
    key: &str,
    value: Option<&T>,
) -> Result<(), serde_json::Error> {
    match value {
        Some(value) => request.insert(key, &value),
        None => Ok(()),
    }
}

fn is_own(key: &str) -> bool {
    let starts = key.get(..OWN_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(OWN_PREFIX));
    starts || OWN.iter().any(|own| own.eq_ignore_ascii_case(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    fn sent<'a>(plugin: &str, edit: impl FnOnce(&mut Injected<'a>)) -> String {
        let list = format!(r#"{{"cniVersion":"1.1.0","name":"n1","plugins":[{plugin}]}}"#);
        let network = Network::from_list(list.as_bytes()).unwrap();
        let mut injected = Injected {
            name: "n1",
            version: Some(CniVersion::V1_1_0),
            capability_args: None,
            prev_result: None,
            valid_attachments: None,
        };
        edit(&mut injected);
        String::from_utf8(request(&network.plugins()[0], &injected).unwrap()).unwrap()
    }

    #[test]
    fn unknown_keys_reach_the_plugin_as_they_stand_in_the_file() {
        let plugin =
            r#"{"z":12345678901234567890123,"type":"a","a":1.0,"b":1e3,"Args":{"x":null},"dns":{},"ſ":"ü"}"#;
        assert_eq!(
            sent(plugin, |_| {}),
            r#"{"cniVersion":"1.1.0","name":"n1","z":12345678901234567890123,"type":"a","a":1.0,"b":1e3,"Args":{"x":null},"dns":{},"ſ":"ü"}"#
        );
    }

    #[test]
    fn keys_of_the_runtime_are_never_taken_from_the_file() {
        let plugin = r#"{"type":"a","NAME":"x","cniversion":"0.1.0","PrevResult":{},"RuntimeConfig":{"mac":"x"},
            "capabilities":{"mac":true},"cni.dev/valid-attachments":[],"CNI.dev/other":1,"cni.de":2}"#;
        assert_eq!(sent(plugin, |_| {}), r#"{"cniVersion":"1.1.0","name":"n1","type":"a","cni.de":2}"#);
    }

    #[test]
    fn a_missing_version_is_sent_as_absent() {
        assert_eq!(sent(r#"{"type":"a"}"#, |with| with.version = None), r#"{"name":"n1","type":"a"}"#);
    }

    #[test]
    fn c44_only_declared_capabilities_are_given() {
        let mut offered = ExtraKeys::default();
        offered.insert("portMappings", &[1]).unwrap();
        offered.insert("mac", &"00:11:22:33:44:55").unwrap();
        for (declared, given) in [
            (r#"{"portMappings":true}"#, r#","runtimeConfig":{"portMappings":[1]}"#),
            (r#"{"portMappings":false}"#, ""),
            (r#"{"bandwidth":true}"#, ""),
            ("null", ""),
        ] {
            let plugin = format!(r#"{{"type":"a","capabilities":{declared}}}"#);
            let request = sent(&plugin, |with| with.capability_args = Some(&offered));
            assert_eq!(request, format!(r#"{{"cniVersion":"1.1.0","name":"n1","type":"a"{given}}}"#));
        }
    }

    #[test]
    fn c51_valid_attachments_stand_under_both_keys() {
        let valid = [Attachment::new("c1", "eth0")];
        assert_eq!(
            sent(r#"{"type":"a"}"#, |with| with.valid_attachments = Some(&valid)),
            r#"{"cniVersion":"1.1.0","name":"n1","type":"a","cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"}],"cni.dev/attachments":[{"containerID":"c1","ifname":"eth0"}]}"#
        );
        assert!(
            sent(r#"{"type":"a"}"#, |with| with.valid_attachments = Some(&[]))
                .contains(r#""cni.dev/valid-attachments":[]"#)
        );
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_not_the_runtimes_passes_as_it_stands(
            entries in proptest::collection::vec(
                (
                    proptest::sample::select(vec![
                        "a", "Name", "NAME", "x y", "cniVersion", "CNIVersion", "prevresult", "runtimeConfig", "Capabilities",
                        "cni.dev/x", "CNI.DEV/attachments", "args", "ipam", "ü", "",
                    ]),
                    proptest::sample::select(vec!["1.0", "1e400", "-0", "null", "{}", r#"[{"b":1,"a":0.10}]"#, r#""\u0041""#]),
                ),
                0..8,
            ),
        ) {
            // What has a type of its own has a good value or none.
            let typed = |key: &str| ["name", "cniversion", "capabilities", "ipam"].contains(&key.to_ascii_lowercase().as_str());
            let mut entries: Vec<_> =
                entries.into_iter().map(|(key, value)| (key, if typed(key) { "null" } else { value })).collect();
            entries.push(("type", r#""t""#));
            let mut kept: Vec<(&str, &str)> = Vec::new();
            for (key, value) in entries.iter().filter(|(key, _)| !is_own(key)) {
                match kept.iter_mut().find(|(known, _)| known == key) {
                    Some(known) => known.1 = value,
                    None => kept.push((key, value)),
                }
            }
            let object = |entries: &[(&str, &str)]| -> String {
                let entries: Vec<_> =
                    entries.iter().map(|(key, value)| format!("{}:{value}", serde_json::json!(key))).collect();
                entries.join(",")
            };
            let request = sent(&format!("{{{}}}", object(&entries)), |_| {});
            let expected = format!(r#"{{"cniVersion":"1.1.0","name":"n1",{}}}"#, object(&kept));
            proptest::prop_assert_eq!(request, expected);
        }
    }
}
