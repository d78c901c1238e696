//! What real plugins say of themselves, ours and Go's, and what `cnitool validate` makes of it.

use std::path::Path;
use std::process::Command;

use cni_tests::bins::{self, Plugin};
use cni_tests::need::skip;
use serde_json::{Value, json};

/// Our plugins with keys of their own, one of these keys, and one that lies deep.
const OURS: [(&str, &str, &str); 5] = [
    ("bridge", "isGateway", "/properties/vlanTrunk/items/properties/minID/type/0"),
    ("host-local", "ipam", "/properties/ipam/properties/ranges/items/items/properties/subnet/type"),
    ("portmap", "markMasqBit", "/properties/conditionsV4/items/type"),
    ("static", "ipam", "/properties/ipam/properties/routes/items/properties/dst/type/0"),
    ("tuning", "sysctl", "/properties/args/properties/cni/properties/sysctl/additionalProperties/type"),
];

/// A directory with plugins and a configuration in it.
struct Node(tempfile::TempDir);

impl Node {
    /// `None`, and has said why, where one is not there.
    fn with(plugins: &[Plugin]) -> Option<Self> {
        let node = Self(tempfile::tempdir().unwrap());
        for plugin in plugins {
            match plugin.path() {
                Ok(path) => std::os::unix::fs::symlink(path, node.path().join(plugin.name())).unwrap(),
                Err(why) => {
                    skip(why);
                    return None;
                }
            }
        }
        Some(node)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// What the program prints, as JSON.
    fn cnitool(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(bins::build("cnitool"));
        command.args(["--json", "--plugin-path"]).arg(self.path()).args(arguments).env_clear();
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// What is wrong, and what is warned of, in a list: path and suggestion.
    fn validate(&self, list: &Value) -> (Vec<String>, Vec<String>) {
        let file = self.path().join("10-n.conflist");
        std::fs::write(&file, list.to_string()).unwrap();
        let told = self.cnitool(&["validate", file.to_str().unwrap()]);
        let all = |key: &str| {
            let list = told["files"][0][key].as_array().unwrap().iter();
            list.map(|it| match it["suggestion"].as_str() {
                Some(meant) => format!("{} -> {meant}", it["path"].as_str().unwrap()),
                None => it["path"].as_str().unwrap_or(it["message"].as_str().unwrap()).to_owned(),
            })
            .collect::<Vec<_>>()
        };
        (all("problems"), all("warnings"))
    }
}

fn ours() -> Vec<Plugin> {
    OURS.iter().map(|(name, ..)| Plugin::Ours(name)).collect()
}

/// Lists as they are in the field: podman's, containerd's, one of a cluster, one with everything.
fn lists() -> Vec<Value> {
    vec![
        json!({"cniVersion": "0.4.0", "name": "podman", "args": {"podman_labels": {"a": "b"}}, "plugins": [
            {"type": "bridge", "bridge": "cni-podman0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
             "ipam": {"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": "10.88.0.0/16", "gateway": "10.88.0.1"}]]}},
            {"type": "portmap", "capabilities": {"portMappings": true}},
            {"type": "tuning"},
        ]}),
        json!({"cniVersion": "1.0.0", "name": "containerd-net", "nerdctlID": "x", "plugins": [
            {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "promiscMode": true, "_note": "ours",
             "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}], [{"subnet": "2001:4860:4860::/64"}]],
                      "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0", "gw": "2001:4860:4860::1"}], "dataDir": "/run/x", "resolvConf": "/etc/resolv.conf"},
             "dns": {"nameservers": ["10.1.0.1"], "domain": "x", "search": ["x"], "options": ["ndots:5"]}},
            {"type": "portmap", "snat": true, "markMasqBit": 14, "conditionsV4": ["-s", "10.0.0.0/8"], "capabilities": {"portMappings": true}},
        ]}),
        json!({"cniVersion": "1.0.0", "name": "all", "disableCheck": false, "plugins": [
            {"type": "bridge", "mtu": 1450, "vlan": 100, "vlanTrunk": [{"minID": 200, "maxID": 210}, {"id": 42}], "preserveDefaultVlan": false,
             "macspoofchk": true, "enabledad": true, "isDefaultGateway": true, "forceAddress": false, "ipMasqBackend": "nftables", "portIsolation": true,
             "disableContainerInterface": false, "args": {"cni": {"mac": "02:00:00:00:00:01", "labels": [{"key": "app", "value": "x"}]}},
             "capabilities": {"mac": true, "ips": true},
             "ipam": {"type": "static", "addresses": [{"address": "10.10.0.1/24", "gateway": "10.10.0.254"}], "routes": [{"dst": "0.0.0.0/0", "mtu": 1400, "table": 100}],
                      "dns": {"nameservers": ["8.8.8.8"]}}},
            {"type": "tuning", "sysctl": {"net.core.somaxconn": "500", "net.ipv4.conf.IFNAME.arp_filter": "1"}, "mtu": 1454, "promisc": true, "allmulti": true, "txQLen": 1000,
             "mac": "c2:b0:57:49:47:f1", "dataDir": "/run/x", "capabilities": {"mac": true}},
        ]}),
    ]
}

#[test]
fn c100_our_plugins_tell_their_keys_from_their_code() {
    let Some(node) = Node::with(&ours()) else { return };
    for (name, key, deep) in OURS {
        let told = node.cnitool(&["describe", name]);
        let description = &told["description"];
        assert_eq!(description["name"], name, "{told}");
        assert_eq!(description["supportedVersions"], told["supportedVersions"], "{told}");
        assert_eq!(description["commands"]["STATUS"], "handled", "{told}");
        let schema = &description["configSchema"];
        assert!(schema["properties"][key].is_object(), "{name}: {schema}");
        let wanted = schema.pointer(deep).and_then(Value::as_str);
        assert!(["integer", "string"].map(Some).contains(&wanted), "{name}: {schema}");
    }
}

#[test]
fn c98_lists_of_the_field_are_good_for_our_plugins() {
    let Some(node) = Node::with(&ours()) else { return };
    for list in lists() {
        assert_eq!(node.validate(&list), (vec![], vec![]), "{list}");
    }
}

#[test]
fn c98_what_is_wrong_is_seen_on_every_level() {
    let Some(node) = Node::with(&ours()) else { return };
    let list = json!({"cniVersion": "1.0.0", "name": "n", "disableChek": true, "plugins": [
        {"type": "bridge", "isGatway": true, "mtu": "1500", "subnet": "10.1.0.0/16", "vlanTrunk": [{"minIDs": 1}], "dns": {"nameserver": []},
         "capabilities": {"portMappings": true},
         "ipam": {"type": "host-local", "rangs": [], "routes": [{"dts": "0.0.0.0/0"}, {"dst": 7}], "ranges": [[{"subnte": "x", "gateway": []}]]}},
        {"type": "portmap", "markMasqBits": 14, "capabilities": {"portMapping": true}},
        {"type": "tuning", "sysctls": {}, "txQLen": -1, "sysctl": {"net.core.somaxconn": 500}, "args": {"cni": {"mtu": true}}},
    ]});
    let (problems, warnings) = node.validate(&list);
    assert_eq!(
        problems,
        [
            "plugins[0].ipam.ranges[0][0].gateway",
            "plugins[0].ipam.routes[1].dst",
            "plugins[0].mtu",
            "plugins[2].args.cni.mtu",
            "plugins[2].sysctl.net.core.somaxconn",
            "plugins[2].txQLen",
        ]
    );
    assert_eq!(
        warnings,
        [
            "disableChek -> disableCheck",
            "plugins[0].capabilities.portMappings",
            "plugins[0].dns.nameserver -> nameservers",
            "plugins[0].ipam.ranges[0][0].subnte -> subnet",
            "plugins[0].ipam.rangs",
            "plugins[0].isGatway -> isGateway",
            "plugins[0].subnet",
            "plugins[0].vlanTrunk[0].minIDs -> minID",
            "plugins[1].capabilities.portMapping -> portMappings",
            "plugins[1].markMasqBits -> markMasqBit",
            "plugins[2].sysctls",
        ]
    );
}

#[test]
fn c100_gos_plugins_are_asked_for_their_versions_alone() {
    let plugins = ["bridge", "host-local", "portmap", "tuning", "static", "loopback", "macvlan", "dhcp"]
        .map(Plugin::Go);
    let Some(node) = Node::with(&plugins) else { return };
    for plugin in plugins {
        let told = node.cnitool(&["describe", plugin.name()]);
        assert_eq!(told["description"], Value::Null, "{told}");
        assert!(told["notDescribed"].is_string(), "{told}");
        assert!(told["supportedVersions"].as_array().is_some_and(|versions| !versions.is_empty()), "{told}");
    }
    for list in lists() {
        assert_eq!(node.validate(&list), (vec![], vec![]), "{list}");
    }
    // A chain of both: of Go's, nothing is held against it but what is hardly anything else than a slip.
    let mixed =
        [Plugin::Go("bridge"), Plugin::Ours("host-local"), Plugin::Go("portmap"), Plugin::Ours("tuning")];
    let Some(node) = Node::with(&mixed) else { return };
    let list = json!({"cniVersion": "1.0.0", "name": "n", "plugins": [
        {"type": "bridge", "isGatway": true, "ipam": {"type": "host-local", "subnte": "x"}},
        {"type": "portmap", "capabilites": {}, "colour": 1},
        {"type": "tuning", "colour": 1},
    ]});
    let (problems, warnings) = node.validate(&list);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(
        warnings,
        ["plugins[0].ipam.subnte -> subnet", "plugins[1].capabilites -> capabilities", "plugins[2].colour"]
    );
}
