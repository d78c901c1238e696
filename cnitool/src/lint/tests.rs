//! What is told of a configuration, and above all what is not.

use libcni::cni_types::{CniVersion, Command, PluginDescription, PluginType};
use serde_json::{Value, json};

use super::{Document, idle, keys_of, list, single};

/// A plugin that tells all.
fn described(name: &str, schema: Value) -> PluginDescription {
    let mut description = PluginDescription::new(name);
    description.config_schema = Some(schema);
    description
}

fn bridge() -> PluginDescription {
    let mut bridge = described(
        "bridge",
        json!({"type": "object", "properties": {
            "bridge": {"type": ["string", "null"]},
            "isGateway": {"type": ["boolean", "null"]},
            "mtu": {"type": ["integer", "null"], "minimum": 0, "maximum": 65535},
            "mode": {"type": "string", "enum": ["hairpin", "promisc"]},
            "vlanTrunk": {"type": "array", "items": {"type": "object", "properties": {"minID": {}, "maxID": {}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "delegate": {},
            "args": {"type": "object", "properties": {"cni": {"type": "object", "properties": {"mac": {"type": "string"}}}}},
        }}),
    );
    bridge.capabilities = vec!["mac".to_owned()];
    bridge
}

fn host_local() -> PluginDescription {
    let range = json!({"type": "object", "properties": {"subnet": {"type": "string"}, "gateway": {"type": "string"}}});
    let mut host_local = described(
        "host-local",
        json!({"type": "object", "properties": {"ipam": {"anyOf": [{"$ref": "#/$defs/Ipam"}, {"type": "null"}]}},
            "$defs": {"Ipam": {"type": "object", "properties": {
                "subnet": {"type": "string"},
                "ranges": {"type": "array", "items": {"type": "array", "items": range}},
            }}},
        }),
    );
    host_local.capabilities = vec!["ips".to_owned()];
    host_local
}

/// What is told of one plugin's configuration, where these describe themselves.
fn told(all: &[PluginDescription], config: &Value) -> Vec<String> {
    let text = config.to_string().into_bytes();
    let document = Document::new("f".into(), text).unwrap();
    let describe = |name: &str| all.iter().find(|description| description.name == name);
    let remarks = single(&document, &describe);
    let level = |is_error| if is_error { "error" } else { "warning" };
    remarks
        .into_iter()
        .map(|remark| {
            let meant = remark.suggestion.map(|meant| format!(" -> {meant}")).unwrap_or_default();
            format!("{} {}: {}{meant}", level(remark.is_error), remark.path, remark.message)
        })
        .collect()
}

fn of_bridge(config: &Value) -> Vec<String> {
    let mut whole = json!({"type": "bridge"});
    whole.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    told(&[bridge(), host_local()], &whole)
}

#[test]
fn c98_what_may_well_be_right_is_never_told() {
    for config in [
        // The protocol's own keys, and what a runtime puts there.
        json!({"cniVersion": "1.1.0", "name": "n", "ipMasq": true, "dns": {"nameservers": [], "search": [], "options": [], "domain": ""}}),
        json!({"runtimeConfig": {"x": 1}, "prevResult": {"y": 1}, "cni.dev/valid-attachments": []}),
        // Keys in another letter case are found.
        json!({"MTU": 1500, "isgateway": true, "IPAM": {"TYPE": "host-local", "SUBNET": "10.1.0.0/16"}}),
        // What is there for people.
        json!({"_mtu": 1, "//": "x", "_comment": "x", "#": "x", "$schema": "x", "comment": "x", "Description": "x", "example.com/owner": "x", "x-team": 1}),
        // null is as good as absent, and a whole number may be written with a point.
        json!({"bridge": null, "mtu": null, "ipam": null}),
        json!({"mtu": 1500.0}),
        // Arguments are for every plugin.
        json!({"args": {"cni": {"ips": ["10.1.0.5/16"], "labels": [{"key": "a"}]}, "podman": {}}}),
        // Any key, and any value.
        json!({"labels": {"anything": "x"}, "delegate": {"bridge": {"mtuu": true}}}),
        // The IPAM plugin reads what the plugin does not.
        json!({"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/16"}], []]}}),
        json!({"capabilities": {"ips": true, "mac": true, "portMappings": false}, "ipam": {"type": "host-local"}}),
        // Of an IPAM plugin that does not describe itself, nothing is known, neither of its keys nor of those beside it.
        json!({"etcd_endpoints": "http://x", "ipam": {"type": "calico-ipam", "assign_ipv4": "true"}, "capabilities": {"io.kubernetes.cri.pod-annotations": true}}),
        // None at all.
        json!({"ipam": {}}),
    ] {
        assert_eq!(of_bridge(&config), Vec::<String>::new(), "{config}");
    }
    // Nor of a plugin that does not describe itself, whatever keys it has.
    for config in [
        json!({"type": "calico", "log_level": "info", "datastore_type": "kubernetes", "nodename": "n", "mtu": 0, "policy": {"type": "k8s"}, "kubernetes": {"kubeconfig": "x"}}),
        json!({"type": "multus", "kubeconfig": "x", "delegates": [{"type": "bridge", "mtuu": 1}], "readinessindicatorfile": "x"}),
        json!({"type": "macvlan", "master": "eth0", "mode": "bridge", "linkInContainer": false, "ipam": {"type": "dhcp", "request": [{"skipDefault": true}]}}),
        json!({"type": "firewall", "backend": "iptables", "iptablesAdminChainName": "x", "ingressPolicy": "open"}),
        json!({"type": "sbr", "table": 7, "types": ["x"], "capabilities": {"types": true}}),
        json!({"type": "tap", "multiQueue": true, "owner": 1, "group": 1, "selinuxcontext": "x", "bandwidth": {}, "args": 1, "arg": 1, "ip": 1}),
    ] {
        assert_eq!(told(&[bridge(), host_local()], &config), Vec::<String>::new(), "{config}");
    }
}

#[test]
fn c98_a_misspelt_key_is_told_on_every_level() {
    for (config, expected) in [
        (json!({"mtuu": 1}), r"warning mtuu: bridge does not read it -> mtu"),
        (json!({"isGatway": true}), "warning isGatway: bridge does not read it -> isGateway"),
        (json!({"colour": "red"}), "warning colour: bridge does not read it"),
        (json!({"impasq": true}), "warning impasq: bridge does not read it -> ipMasq"),
        (
            json!({"vlanTrunk": [{"minID": 1}, {"min": 1}]}),
            "warning vlanTrunk[1].min: bridge does not read it",
        ),
        (
            json!({"vlanTrunk": [{"minId": 1, "maxIDs": 1}]}),
            "warning vlanTrunk[0].maxIDs: bridge does not read it -> maxID",
        ),
        (
            json!({"ipam": {"type": "host-local", "subnte": "x"}}),
            "warning ipam.subnte: host-local does not read it -> subnet",
        ),
        (
            json!({"ipam": {"type": "host-local", "ranges": [[{"gatway": "x"}]]}}),
            "warning ipam.ranges[0][0].gatway: host-local does not read it -> gateway",
        ),
        (
            json!({"mtuu": 1, "ipam": {"type": "host-local"}}),
            "warning mtuu: neither bridge nor its IPAM plugin host-local reads it -> mtu",
        ),
        (
            json!({"subnet": "x", "ipam": {"type": "host-local"}}),
            r#"warning subnet: neither bridge nor its IPAM plugin host-local reads it; host-local does, in "ipam""#,
        ),
        (
            json!({"ipam": {"type": "host-local", "isGateway": true}}),
            r#"warning ipam.isGateway: host-local does not read it; bridge does, outside of "ipam""#,
        ),
        (json!({"dns": {"nameserver": []}}), "warning dns.nameserver: not a key of dns -> nameservers"),
        (json!({"capabilites": {}}), "warning capabilites: bridge does not read it -> capabilities"),
        // Others may know it, but hardly so.
        (
            json!({"isGatway": true, "ipam": {"type": "dhcp"}}),
            "warning isGatway: perhaps misspelt -> isGateway",
        ),
        (json!({"ipam": {"tpye": "host-local"}}), "warning ipam.tpye: perhaps misspelt -> type"),
    ] {
        assert_eq!(of_bridge(&config), [expected], "{config}");
    }
    let told_of = |config: Value| told(&[], &config);
    assert_eq!(
        told_of(json!({"type": "x", "capabilites": {}})),
        ["warning capabilites: perhaps misspelt -> capabilities"]
    );
    assert_eq!(told_of(json!({"type": "x", "ipma": {}})), ["warning ipma: perhaps misspelt -> ipam"]);
    assert_eq!(told_of(json!({"type": "x", "ipma": {}, "ipam": {}})), Vec::<String>::new());
}

#[test]
fn c98_a_value_that_cannot_be_read_is_an_error() {
    for (config, expected) in [
        (
            json!({"mtu": "1500"}),
            r#"error mtu: invalid type: string "1500", bridge expects an integer from 0 to 65535"#,
        ),
        (
            json!({"mtu": 1.5}),
            "error mtu: invalid type: number 1.5, bridge expects an integer from 0 to 65535",
        ),
        (
            json!({"MTU": 70000}),
            "error MTU: invalid value: number 70000, bridge expects an integer from 0 to 65535",
        ),
        (
            json!({"isGateway": "true"}),
            r#"error isGateway: invalid type: string "true", bridge expects a boolean"#,
        ),
        (
            json!({"mode": "x"}),
            r#"error mode: invalid value: string "x", bridge expects "hairpin" or "promisc""#,
        ),
        (json!({"vlanTrunk": {}}), "error vlanTrunk: invalid type: an object, bridge expects a list"),
        (json!({"vlanTrunk": [7]}), "error vlanTrunk[0]: invalid type: number 7, bridge expects an object"),
        (json!({"labels": {"a.b": 7}}), "error labels.a.b: invalid type: number 7, bridge expects a string"),
        (
            json!({"args": {"cni": {"mac": 7}}}),
            "error args.cni.mac: invalid type: number 7, bridge expects a string",
        ),
        (
            json!({"ipam": {"type": "host-local", "ranges": [{}]}}),
            "error ipam.ranges[0]: invalid type: an object, host-local expects a list",
        ),
    ] {
        assert_eq!(of_bridge(&config), [expected], "{config}");
    }
}

#[test]
fn keys_that_must_be_there_and_those_that_must_not() {
    let mut strict = described(
        "strict",
        json!({"type": "object", "required": ["link", "name", "cniVersion"], "properties": {
            "link": {"type": "string"}, "name": {"type": "string"},
            "inner": {"type": "object", "additionalProperties": false, "properties": {"known": {}}},
        }}),
    );
    let all = |strict: &PluginDescription, config: Value| told(&[strict.clone(), host_local()], &config);
    // The runtime adds the name of the network.
    assert_eq!(all(&strict, json!({"type": "strict"})), ["error link: missing, strict needs it"]);
    assert_eq!(all(&strict, json!({"type": "strict", "LINK": "a"})), Vec::<String>::new());
    assert_eq!(
        all(&strict, json!({"type": "strict", "link": "a", "inner": {"knwon": 1}})),
        ["error inner.knwon: strict refuses a key that is unknown -> known"]
    );
    strict.denies_unknown_keys = true;
    assert_eq!(
        all(
            &strict,
            json!({"type": "strict", "link": "a", "_note": 1, "ipMasq": true, "ipam": {"type": "host-local"}})
        ),
        ["error _note: strict refuses a key that is unknown"]
    );
    // A plugin is given the whole configuration, so that what another one reads is unknown to it, too.
    let mut fussy = host_local();
    fussy.denies_unknown_keys = true;
    let config = json!({"type": "bridge", "mtu": 1500, "ipam": {"type": "host-local"}});
    assert_eq!(told(&[bridge(), fussy], &config), ["error mtu: host-local refuses a key that is unknown"]);
}

#[test]
fn c100_a_capability_that_nobody_takes_is_told() {
    let capability =
        |name: &str, ipam: Value| of_bridge(&json!({"capabilities": {name: true}, "ipam": ipam}));
    assert_eq!(
        capability("portMappings", Value::Null),
        ["warning capabilities.portMappings: bridge does not take it, only mac"]
    );
    assert_eq!(
        capability("macs", json!({"type": "host-local"})),
        [
            "warning capabilities.macs: neither bridge nor its IPAM plugin host-local takes it, only mac and ips -> mac"
        ]
    );
    assert_eq!(capability("portMappings", json!({"type": "dhcp"})), Vec::<String>::new());
    assert_eq!(
        told(&[], &json!({"type": "x", "capabilities": {"portMapping": true}})),
        ["warning capabilities.portMapping: there is no such capability in the conventions -> portMappings"]
    );
    let mut mute = bridge();
    mute.capabilities.clear();
    assert_eq!(
        told(&[mute], &json!({"type": "bridge", "capabilities": {"mac": true}})),
        ["warning capabilities.mac: bridge does not take it, nor any other capability"]
    );
}

#[test]
fn the_keys_of_a_list_count_as_they_are_spelt() {
    let told = |text: &str| {
        let document = Document::new("f".into(), text.as_bytes().to_vec()).unwrap();
        let remarks = list(&document, &|_| None);
        remarks.into_iter().map(|it| (it.path, it.line, it.column, it.suggestion)).collect::<Vec<_>>()
    };
    let meant = |name: &str| Some(name.to_owned());
    assert_eq!(
        told(
            "{\"name\": \"n\",\n \"cniversion\": \"1.0.0\", \"disableCheks\": true,\n  \"plugins\": [{\"type\": \"x\",\n \"capabilites\": {}}]}"
        ),
        [
            ("cniversion".to_owned(), 2, 2, meant("cniVersion")),
            ("disableCheks".to_owned(), 2, 25, meant("disableCheck")),
            ("plugins[0].capabilites".to_owned(), 4, 2, meant("capabilities")),
        ]
    );
    // What podman and nerdctl write down.
    assert_eq!(
        told(
            r#"{"name": "n", "args": {"podman_labels": {}}, "nerdctlID": "x", "nerdctlLabels": {}, "_name": 1, "plugins": []}"#
        ),
        []
    );
    for text in [r#"{"plugins": 7}"#, r#"{"plugins": [null, 7, {"type": "../x", "y": 1}]}"#, "[]", "7"] {
        assert_eq!(told(text), [], "{text}");
    }
}

#[test]
fn commands_without_action_are_told_if_they_are_run() {
    let plugin = PluginType::new("p").unwrap();
    let mut description = PluginDescription::new("p");
    for command in ["CHECK", "GC", "STATUS"] {
        description.commands.insert(command.to_owned(), libcni::cni_types::Handling::NoOp);
    }
    let told = |version, disabled: Option<Command>| {
        let idle = idle(version, |command| Some(command) == disabled, &[(&plugin, &description)]);
        idle.into_iter().map(|(command, _)| command).collect::<Vec<_>>()
    };
    assert_eq!(told(CniVersion::V1_1_0, None), [Command::Check, Command::Gc, Command::Status]);
    assert_eq!(told(CniVersion::V1_1_0, Some(Command::Gc)), [Command::Check, Command::Status]);
    assert_eq!(told(CniVersion::V1_0_0, None), [Command::Check]);
    assert_eq!(told(CniVersion::V0_3_1, None), []);
}

#[test]
fn a_hostile_schema_stops_nothing() {
    let deep = (0..120).fold(json!({}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    let wide = json!({"anyOf": vec![json!({"$ref": "#"}); 100], "properties": {"a": {"$ref": "#"}}});
    let odd = json!({"type": {"a": 1}, "properties": [], "required": {}, "items": 7, "enum": 1, "minimum": "x", "$ref": 7});
    for schema in [deep, wide, odd, json!(7), json!([]), json!({"properties": {"": {"type": ["\u{1b}[2J"]}}})]
    {
        let config = json!({"type": "evil", "a": {"a": {"a": [1, {"a": 2}]}}, "": 1, "b": {"\u{1b}": 1}});
        // Whatever is told.
        let _ = told(&[described("evil", schema.clone())], &config);
        assert!(keys_of(&schema).len() <= 200);
    }
}

#[test]
fn a_file_without_measure_is_read_and_told_in_measure() {
    let mut config = json!({"type": "bridge", "mtu": "x"});
    let keys = config.as_object_mut().unwrap();
    keys.extend((0..5_000).map(|number| (format!("key{number}"), json!(number))));
    let all = of_bridge(&config);
    assert_eq!(all.len(), 201, "{:?}", all.last());
    assert!(all[0].starts_with("warning key0") && all[199].ends_with("(no more is told)"), "{:?}", all[199]);
    assert_eq!(all[200], r#"error mtu: invalid type: string "x", bridge expects an integer from 0 to 65535"#);
}

#[test]
fn the_keys_of_a_schema_are_a_table() {
    let keys: Vec<_> = keys_of(&json!({
        "type": "object", "required": ["link"],
        "properties": {
            "link": {"type": "string", "description": "The link\nto use.\n\nMore."},
            "ranges": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/Range"}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "mode": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
        },
        "$defs": {"Range": {"type": "object", "properties": {"port": {"type": "integer", "minimum": 1}}}},
    }))
    .into_iter()
    .map(|key| (key.path, key.words, key.about, key.is_required))
    .collect();
    let row = |path: &str, words: &str, about: &str, is_required| {
        (path.to_owned(), words.to_owned(), about.to_owned(), is_required)
    };
    assert_eq!(
        keys,
        [
            row("labels", "object", "", false),
            row("labels.*", "string", "", false),
            row("link", "string", "The link to use.", true),
            row("mode", r#""a", "b""#, "", false),
            row("ranges", "list", "", false),
            row("ranges[][].port", "integer from 1 on", "", false),
        ]
    );
}
