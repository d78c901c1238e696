//! What is refused in which order and in which words, and code of the author's that fails where no handler runs.

use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::{accepted, add, config, refused};
use crate::testing::Invocation;
use crate::types::CniVersion;
use crate::types::args::InvalidArgs;
use crate::{
    AddRequest, AddResult, ArgValue, CniArgs, CniPlugin, DelRequest, IpConfig, Plugin, Result, types,
};

#[test]
fn the_environment_is_refused_before_stdin_but_in_its_version() {
    let netns = tempfile::NamedTempFile::new().unwrap();
    let call = || Invocation::add("c1", netns.path(), "eth0").own_netns(netns.path());
    refused(call().stdin("no JSON"), 8);
    let outcome = call().config(config("0.4.0")).run(&super::Recorder::default());
    outcome.assert_error(8);
    assert_eq!(outcome.json()["cniVersion"], "0.4.0");
}

#[test]
fn an_error_has_the_version_of_a_configuration_that_is_wrong_elsewhere() {
    let outcome = add().config(json!({"cniVersion": "0.4.0", "name": 7})).run(&super::Recorder::default());
    outcome.assert_error(6);
    assert_eq!(outcome.json()["cniVersion"], "0.4.0");
    let outcome = add().config(json!({"name": 7})).run(&super::Recorder::default());
    assert_eq!(outcome.json()["cniVersion"], "0.1.0", "which absent means");
    let outcome = add().stdin("no JSON").run(&super::Recorder::default());
    assert_eq!(outcome.json()["cniVersion"], "1.1.0", "where nothing is known");
}

#[test]
fn faults_within_values_have_line_and_column_of_the_whole() {
    let stdin = "{\"cniVersion\": \"1.0.0\", \"name\": \"n\",\n  \"prevResult\": {\"ips\": [{\"address\": \"10.1.0.9\"}]}}";
    let text = refused(add().stdin(stdin), 6);
    assert!(text.contains("prevResult.ips[0].address: invalid CIDR address"), "{text}");
    assert!(text.contains("at line 2 column 38"), "{text}");
    let stdin = "{\"cniVersion\": \"1.1.0\", \"name\": \"n\",\n\"cni.dev/valid-attachments\": [{}]}";
    assert!(refused(Invocation::of("GC").stdin(stdin), 7).contains("at line 2 column 31"));
}

#[test]
fn c06_a_version_that_is_not_supported_is_refused_before_anything_is_run() {
    let mut config = config("1.0.0");
    config["ipam"] = json!({"type": "host-local"});
    let outcome = add().config(&config).delegate("host-local", |call| call.reply(json!({}))).run(&Meta);
    assert_eq!(outcome.assert_error(1).details, r#"config is "1.0.0", plugin supports ["0.3.1" "0.4.0"]"#);
    assert!(outcome.delegate_calls().is_empty());
    let outcome = Invocation::version().run(&Meta);
    assert_eq!(outcome.info().unwrap().supported_versions, ["0.3.1", "0.4.0"]);
}

#[test]
fn c14_an_empty_netns_does_not_keep_the_addresses() {
    let mut config = config("0.4.0");
    config["ipam"] = json!({"type": "host-local"});
    let call = Invocation::del("c1", "eth0").netns("").config(&config);
    let outcome = call.delegate("host-local", |call| call.reply(json!({}))).run(&Meta);
    outcome.assert_success();
    assert_eq!(outcome.delegate_calls().len(), 1);
}

/// A plugin of its time that leaves everything to its IPAM plugin.
struct Meta;

impl CniPlugin for Meta {
    type Config = ();
    type Runtime = ();
    type Args = types::CniArgs;
    const NAME: &'static str = "meta";
    const ABOUT: &'static str = "leaves everything to others";
    const VERSIONS: &'static [CniVersion] = &[CniVersion::V0_3_1, CniVersion::V0_4_0];
}

impl Plugin for Meta {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        assert_eq!(req.args().to_string(), "A=1;A=2;;", "every pair is there");
        Ok(req.ipam()?.add()?.commit())
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        req.ipam()?.del()
    }
}

#[test]
fn a_plugin_can_have_every_pair_of_the_arguments() {
    let mut config = config("0.4.0");
    config["ipam"] = json!({"type": "host-local"});
    let call = add().config(config).args("A=1;A=2;;");
    call.delegate("host-local", |call| call.reply(json!({}))).run(&Meta).assert_success();
}

#[test]
fn a_result_without_an_address_is_told_with_the_way_out_where_the_version_cannot_have_it() {
    let outcome = add().config(config("0.2.0")).run(&Panics);
    let error = outcome.assert_error(999);
    assert!(error.msg.starts_with("cannot convert: no valid IP addresses"), "{error}");
    assert!(error.details.contains("0.2.0") && error.details.contains("from 0.3.0 on"), "{error}");
    add().config(config("0.3.0")).run(&Panics).assert_success();
}

/// A plugin whose own types panic.
struct Panics;

#[derive(Default)]
struct Fragile;

impl<'de> Deserialize<'de> for Fragile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Option::<String>::deserialize(deserializer)? {
            Some(text) => panic!("out of {text}"),
            None => Ok(Self),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FragileConfig {
    #[serde(rename = "luck")]
    _luck: Fragile,
}

impl ArgValue for Fragile {
    fn from_value(_: &str, value: &str) -> std::result::Result<Self, InvalidArgs> {
        panic!("out of {value}")
    }
}

struct FragileArgs;

impl CniArgs for FragileArgs {
    const KEYS: &'static [&'static str] = &["LUCK"];

    fn from_args(args: &types::CniArgs) -> std::result::Result<Self, InvalidArgs> {
        args.iter().try_for_each(|(key, value)| Fragile::from_value(key, value).map(|_| ())).map(|()| Self)
    }
}

impl CniPlugin for Panics {
    type Config = FragileConfig;
    type Runtime = ();
    type Args = FragileArgs;
    const NAME: &'static str = "panics";
    const ABOUT: &'static str = "has types that panic";
}

impl Plugin for Panics {
    fn add(&self, _: &AddRequest<Self>) -> Result<AddResult> {
        Ok(AddResult::default())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_of_the_authors_types_is_an_error_object() {
    let mut config = config("0.4.0");
    config["luck"] = json!("luck");
    for call in
        [add().config(&config), Invocation::del("c1", "eth0").config(&config), add().args("LUCK=luck")]
    {
        let outcome = call.run(&Panics);
        assert_eq!(outcome.assert_error(999).msg, "the plugin panicked: out of luck");
    }
}

#[test]
fn calls_side_by_side_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for number in 1..=16_u8 {
            scope.spawn(move || {
                let version = CniVersion::ALL[usize::from(number) % 5 + 2];
                let (id, address) = (format!("c{number}"), format!("10.0.0.{number}/8"));
                let mut config = config(version.as_str());
                config["ipam"] = json!({"type": "host-local"});
                let answer = json!({"cniVersion": "1.0.0", "ips": [{"address": address}]});
                let call = Invocation::add(&id, "/run/netns/x", "eth0").config(config);
                let outcome = call.delegate("host-local", move |call| call.reply(&answer)).run(&Passing);
                let mut expected = AddResult::default();
                expected.ips.push(IpConfig::new(address.parse().unwrap()));
                assert_eq!(
                    (outcome.result(), outcome.json()["cniVersion"].as_str()),
                    (expected, Some(version.as_str()))
                );
                assert_eq!(outcome.delegate_calls()[0].var("CNI_CONTAINERID").unwrap(), id.as_str());
            });
        }
    });
    accepted(add());
}

/// A plugin that reports what its IPAM plugin does.
struct Passing;

impl CniPlugin for Passing {
    type Config = ();
    type Runtime = ();
    type Args = ();
    const NAME: &'static str = "passing";
    const ABOUT: &'static str = "reports what its IPAM plugin does";
}

impl Plugin for Passing {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.ipam()?.add()?.commit())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}
