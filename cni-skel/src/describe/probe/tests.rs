//! What is seen of a type.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::schema;
use crate::types::RawJson;
use crate::{Cidr, MacAddr, Route};

#[derive(Deserialize)]
#[allow(dead_code, reason = "only its shape is looked at")]
#[serde(rename_all = "camelCase")]
struct Keys {
    bridge: String,
    is_gateway: Option<bool>,
    #[serde(default, alias = "MTU")]
    mtu: Option<u32>,
    #[serde(rename = "txQLen")]
    tx_queue: i64,
    trunk: Option<Vec<Trunk>>,
    #[serde(deserialize_with = "text")]
    subnet: Cidr,
    gateway: IpAddr,
    mac: Option<MacAddr>,
    file: PathBuf,
    sysctl: HashMap<String, String>,
    ratio: f64,
    mode: Option<Mode>,
    shape: Shape,
    kind: Kind,
    raw: RawJson,
    any: Option<Value>,
    pair: (u8, String),
    port: Port,
    routes: Vec<Route>,
    #[serde(skip)]
    not_read: u8,
}

#[derive(Default, Deserialize)]
#[allow(dead_code, reason = "only its shape is looked at")]
#[serde(default, deny_unknown_fields)]
struct Trunk {
    #[serde(rename = "minID")]
    min_id: Option<u16>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Bridge,
    Vepa,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "only its shape is looked at")]
enum Shape {
    Round,
    Square { width: u8 },
}

#[derive(Deserialize)]
enum Kind {
    Known,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "only its shape is looked at")]
struct Port(u16);

/// As plugins do who have words of their own for what is wrong.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cidr, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

#[test]
fn a_type_tells_its_keys_and_what_each_may_be() {
    let text = json!({"type": "string"});
    let number = json!({"type": ["integer", "null"], "minimum": 0});
    assert_eq!(
        schema::<Keys>().unwrap(),
        json!({"type": "object", "properties": {
            "bridge": text,
            "isGateway": {"type": ["boolean", "null"]},
            "mtu": {"type": ["integer", "null"], "minimum": 0, "maximum": u32::MAX},
            "MTU": {"type": ["integer", "null"], "minimum": 0, "maximum": u32::MAX},
            "txQLen": {"type": "integer"},
            "trunk": {"type": ["array", "null"], "items": {
                "type": "object", "additionalProperties": false,
                "properties": {"minID": {"type": ["integer", "null"], "minimum": 0, "maximum": u16::MAX}},
            }},
            "subnet": text,
            "gateway": text,
            "mac": {"type": ["string", "null"]},
            "file": text,
            "sysctl": {"type": "object", "additionalProperties": text},
            "ratio": {"type": "number"},
            "mode": {"type": ["string", "null"], "enum": ["bridge", "vepa", null]},
            "shape": {},
            "kind": text,
            "raw": {},
            "any": {},
            "pair": {"type": "array"},
            "port": {"type": "integer", "minimum": 0, "maximum": u16::MAX},
            // What a route may have besides is not told.
            "routes": {"type": "array", "items": {"type": "object", "additionalProperties": {}, "properties": {
                "dst": {"type": ["string", "null"]},
                "gw": {"type": ["string", "null"]},
                "mtu": number,
                "advmss": number,
                "priority": number,
                "table": number,
                "scope": number,
            }}},
        }})
    );
}

#[test]
fn what_is_told_is_what_is_read() {
    // Each of them against serde_json itself.
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct One<T> {
        value: T,
    }
    fn check<T: serde::de::DeserializeOwned>(good: Value, bad: Value) {
        let told = schema::<One<T>>().unwrap()["properties"]["value"]["type"].clone();
        let named = |value: &Value| match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let tells = |value: &Value| match &told {
            Value::Array(types) => types.contains(&named(value).into()),
            one => one == named(value),
        };
        for value in [good, bad] {
            let is_read = serde_json::from_value::<One<T>>(json!({"value": value})).is_ok();
            assert_eq!(is_read, tells(&value), "{told} {value}");
        }
    }
    check::<String>(json!("a"), json!(1));
    check::<Option<String>>(json!(null), json!(false));
    check::<bool>(json!(true), json!("true"));
    check::<u64>(json!(7), json!("7"));
    check::<Vec<u8>>(json!([]), json!({}));
    check::<BTreeMap<String, u8>>(json!({}), json!([]));
    check::<IpAddr>(json!("10.1.0.5"), json!(10));
    check::<MacAddr>(json!("02:00:00:00:00:01"), json!(2));
    check::<Box<Option<Trunk>>>(json!({}), json!("x"));
}

#[test]
fn a_type_without_keys_or_with_any_has_no_schema() {
    #[derive(Deserialize)]
    struct Unit;
    assert_eq!(schema::<()>(), None);
    assert_eq!(schema::<Unit>(), None);
    assert_eq!(schema::<Value>(), None);
    // Nothing is known of the keys but that there may be any.
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct Flat {
        own: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    assert_eq!(schema::<Flat>(), Some(json!({"type": "object", "additionalProperties": {}})));
}

#[test]
fn a_type_that_holds_itself_comes_to_an_end() {
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct Tree {
        left: Option<Box<Self>>,
        right: Option<Box<Self>>,
        many: Vec<Self>,
    }
    let text = schema::<Tree>().unwrap().to_string();
    assert!(text.contains("left") && text.len() < 1_000_000, "{} bytes", text.len());
}
