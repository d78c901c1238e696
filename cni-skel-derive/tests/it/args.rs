//! Values of `CNI_ARGS`, and which fault is told: Go's order.

use std::net::IpAddr;

use cni_skel::types::args::InvalidArgs;
use cni_skel::{ArgValue, CniArgs};

#[derive(Debug, PartialEq, Eq)]
struct Colour(u8);

impl ArgValue for Colour {
    fn from_value(key: &str, value: &str) -> Result<Self, InvalidArgs> {
        u8::from_str_radix(value, 16).map(Self).map_err(|_| InvalidArgs::value(key, value, "no colour"))
    }
}

type Text = Option<String>;

#[derive(Debug, PartialEq, Eq, CniArgs)]
struct Args {
    ip: Option<IpAddr>,
    k8s_pod_name: String,
    flag: bool,
    text: Text,
    colour: Option<Colour>,
}

#[derive(Debug, CniArgs)]
#[cni(ignore_unknown)]
struct Tolerant {
    flag: bool,
}

fn refused<T: CniArgs + std::fmt::Debug>(text: &str) -> String {
    T::parse(text).unwrap_err().to_string()
}

#[test]
fn absent_is_none_or_the_default() {
    let empty = Args { ip: None, k8s_pod_name: String::new(), flag: false, text: None, colour: None };
    assert_eq!(Args::parse("").unwrap(), empty);
    let args = Args::parse("COLOUR=ff;IP=10.1.0.5;K8S_POD_NAME=web;FLAG=True;TEXT=a=b").unwrap();
    assert_eq!(args.ip, Some("10.1.0.5".parse().unwrap()));
    assert_eq!(args.k8s_pod_name, "web");
    assert!(args.flag);
    assert_eq!(args.text.as_deref(), Some("a=b"));
    assert_eq!(args.colour, Some(Colour(255)));
}

#[test]
fn an_empty_value_is_text_and_no_address() {
    let args = Args::parse("IP=;TEXT=").unwrap();
    assert_eq!((args.ip, args.text.as_deref()), (None, Some("")));
    assert!(refused::<Args>("FLAG=").contains("\"FLAG=\""));
}

#[test]
fn the_last_of_a_key_counts_and_each_is_read() {
    assert_eq!(Args::parse("K8S_POD_NAME=a;K8S_POD_NAME=b").unwrap().k8s_pod_name, "b");
    assert_eq!(Args::parse("IP=10.1.0.5;IP=").unwrap().ip, None);
    assert!(refused::<Args>("IP=x;IP=10.1.0.5").contains("\"IP=x\""));
}

#[test]
fn a_wrong_value_comes_before_unknown_keys_and_the_first_of_them_before_the_others() {
    assert!(refused::<Args>("NOSUCH=1;IP=x;FLAG=y").contains("\"IP=x\""));
    assert!(refused::<Args>("NOSUCH=1;FLAG=y;IP=x").contains("\"FLAG=y\""));
    assert!(refused::<Args>("IgnoreUnknown=z;IP=x").contains("\"IgnoreUnknown=z\""));
    assert!(refused::<Args>("IP=x;IgnoreUnknown=z").contains("\"IP=x\""));
    assert!(refused::<Args>("IgnoreUnknown=z;IgnoreUnknown=1").contains("\"IgnoreUnknown=z\""));
}

#[test]
fn c31_unknown_keys_are_an_error_unless_somebody_said_otherwise() {
    assert_eq!(
        refused::<Args>("NOSUCH=1;FLAG=1;k8s_pod_name=a"),
        r#"ARGS: unknown args ["NOSUCH=1" "k8s_pod_name=a"]"#
    );
    assert!(Args::parse("NOSUCH=1;FLAG=1;IgnoreUnknown=true").unwrap().flag);
    assert!(Tolerant::parse("NOSUCH=1;FLAG=1;IgnoreUnknown=0").unwrap().flag);
    assert!(refused::<Tolerant>("IgnoreUnknown=z").contains("\"IgnoreUnknown=z\""));
}
