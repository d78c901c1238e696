//! Raw identifiers, Unicode, and what a field is called outside Rust.

#![allow(non_camel_case_types, reason = "keywords are the point")]

use cni_skel::{CniArgs, CniPlugin, RuntimeConfig};

#[derive(RuntimeConfig)]
#[expect(dead_code, reason = "only the names matter")]
struct Documented {
    aliases: Option<()>,
    bandwidth: Option<()>,
    cgroup_path: Option<()>,
    device_id: Option<()>,
    dns: Option<()>,
    infiniband_guid: Option<()>,
    ip_ranges: Option<()>,
    ips: Option<()>,
    mac: Option<()>,
    port_mappings: Option<()>,
}

#[test]
fn documented_capabilities_have_their_own_spelling() {
    assert_eq!(Documented::CAPABILITIES, cni_skel::types::config::capability::DOCUMENTED);
}

#[derive(RuntimeConfig)]
#[expect(dead_code, reason = "only the names matter")]
struct Others {
    r#type: String,
    _hidden: String,
    some_thing_2: String,
    über_maß: String,
    #[cni(rename = "io.example.thing")]
    thing: String,
}

#[test]
fn other_capabilities_are_camel_case() {
    assert_eq!(Others::CAPABILITIES, ["type", "hidden", "someThing2", "überMaß", "io.example.thing"]);
}

#[derive(CniArgs)]
#[expect(dead_code, reason = "only the names matter")]
struct Args {
    r#type: String,
    k8s_pod_name: String,
    #[cni(rename = "Mixed-Case")]
    mixed: String,
}

#[test]
fn arguments_are_upper_case() {
    assert_eq!(Args::KEYS, ["TYPE", "K8S_POD_NAME", "Mixed-Case"]);
}

#[derive(CniPlugin)]
#[cni(name = "raw", runtime = r#struct, args = r#fn)]
struct r#enum;

#[derive(RuntimeConfig)]
struct r#struct {
    r#match: u8,
}

#[derive(CniArgs)]
struct r#fn {
    r#let: u8,
}

#[derive(Debug, thiserror::Error, cni_skel::CniError)]
enum r#while {
    #[error("no {for}", r#for = .r#for)]
    #[cni(code = 100, details = "no {for} in {r#in}")]
    r#loop { r#for: u8, r#in: u8 },
}

#[test]
fn raw_identifiers_are_names_like_any_other() {
    use cni_skel::CodedError;
    assert_eq!(<r#enum as CniPlugin>::Runtime::CAPABILITIES, ["match"]);
    assert_eq!(<r#enum as CniPlugin>::Args::KEYS, ["LET"]);
    assert_eq!(r#fn::parse("LET=1").unwrap().r#let, 1);
    assert_eq!(r#struct::from_values(&Default::default()).unwrap().r#match, 0);
    assert_eq!(r#while::r#loop { r#for: 1, r#in: 2 }.details().unwrap(), "no 1 in 2");
}
