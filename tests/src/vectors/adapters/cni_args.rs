//! `cni_args`: the typed reading of `CNI_ARGS`.
//!
//! Go fills a struct field by field and leaves it half filled after an error; here an error gives nothing, so what the
//! reference tells of that (`fields_after_error`) has no place.

use std::net::IpAddr;

use cni_skel::CniArgs;
use cni_types::ErrorObject;

use super::{error, ok, simple};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Reads the arguments into a struct like the reference's.
#[derive(Debug)]
pub struct Args;

/// The reference's struct. Its `IgnoreUnknown` is no field here, but a rule of the derive.
#[derive(Debug, CniArgs)]
struct Fields {
    #[cni(rename = "IP")]
    ip: Option<IpAddr>,
    #[cni(rename = "K8S_POD_NAME")]
    pod_name: Option<String>,
    #[cni(rename = "K8S_POD_NAMESPACE")]
    pod_namespace: Option<String>,
    #[cni(rename = "K8S_POD_INFRA_CONTAINER_ID")]
    pod_infra_container_id: Option<String>,
    #[cni(rename = "FLAG")]
    flag: Option<bool>,
    #[cni(rename = "COUNT")]
    count: Option<i64>,
    #[cni(rename = "PTR")]
    ptr: Option<String>,
}

impl Adapter for Args {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        simple(expect, &[], &[])
    }

    fn answer(&self, case: &Case) -> Answer {
        let Some(text) = case.text("args") else {
            return Answer::NoCounterpart("arguments are text, and text is UTF-8".to_owned());
        };
        let read = Fields::parse(text).and_then(|fields| {
            let args: cni_types::CniArgs = text.parse()?;
            Ok((fields, args.ignore_unknown()?))
        });
        Answer::Given(match read {
            Err(why) => error(ErrorObject::from(why).msg, Vec::<(String, Json)>::new()),
            Ok((fields, ignore_unknown)) => {
                let text = |value: Option<String>| Json::string(value.unwrap_or_default());
                let or_null = |value: Option<String>| value.map_or(Json::Null, Json::string);
                let value = Json::object([
                    ("IgnoreUnknown", Json::Bool(ignore_unknown)),
                    ("IP", or_null(fields.ip.map(|ip| ip.to_string()))),
                    ("K8S_POD_NAME", text(fields.pod_name)),
                    ("K8S_POD_NAMESPACE", text(fields.pod_namespace)),
                    ("K8S_POD_INFRA_CONTAINER_ID", text(fields.pod_infra_container_id)),
                    ("FLAG", Json::Bool(fields.flag.unwrap_or_default())),
                    ("COUNT", Json::number(fields.count.unwrap_or_default())),
                    ("PTR", or_null(fields.ptr)),
                ]);
                ok([("value", value)])
            }
        })
    }

    fn source(&self, case: &Case) -> Option<Json> {
        // Every value, so that one can be found again.
        let pairs = case.text("args")?.split(';').filter_map(|pair| pair.split_once('='));
        Some(Json::Array(pairs.map(|(_, value)| Json::string(value)).collect()))
    }
}
