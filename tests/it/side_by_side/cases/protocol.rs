//! What every plugin is asked alike: its versions, and what it has to refuse.

use serde_json::{Value, json};

use super::super::case::{Call, Case, add, call, case, del};

/// The cases, with a configuration that the plugin accepts.
pub(super) fn cases(config: &Value) -> Vec<Case> {
    let mut cases = refusals(config);
    cases.push(one(config, "version-1.1.0", add("c1").keys(json!({"cniVersion": "1.1.0"}))));
    cases
}

fn one(config: &Value, name: &str, call: Call) -> Case {
    case(&format!("protocol/{name}"), config.clone()).calls([call])
}

/// Those in which nothing is made.
pub(super) fn refusals(config: &Value) -> Vec<Case> {
    let one = |name: &str, call: Call| one(config, name, call);
    vec![
        one("versions", call("VERSION", "c1").stdin(r#"{"cniVersion": "1.0.0"}"#)),
        one("no-name", add("c1").keys(json!({"name": null}))),
        one("bad-name", add("c1").keys(json!({"name": "../n1"}))),
        one("no-json", add("c1").stdin("{\"cniVersion\": \"1.0.0\",")),
        one("nothing-on-stdin", del("c1").stdin("")),
        one("unknown-version", add("c1").keys(json!({"cniVersion": "9.9.9"}))),
        one("check-before-0.4.0", call("CHECK", "c1").keys(json!({"cniVersion": "0.3.1"}))),
        one("bad-id", add("../c1")),
        one("long-ifname", add("c1").ifname("a-name-of-16-byt")),
        one("bad-ifname", add("c1").ifname("a/b")),
        one("no-ifname", add("c1").without("CNI_IFNAME")),
        one(
            "nothing-in-the-environment",
            add("c1").without("CNI_IFNAME").without("CNI_NETNS").without("CNI_CONTAINERID"),
        ),
        one("no-id-on-del", del("c1").without("CNI_CONTAINERID")),
        one("unknown-command", call("REMOVE", "c1")),
        one("del-before-add", del("c1")),
        one("del-without-netns", del("c1").without("CNI_NETNS")),
        one("del-with-empty-netns", del("c1").env("CNI_NETNS", "")),
    ]
}
