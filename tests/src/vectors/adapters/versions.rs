//! `versions`: version numbers, VERSION replies, reconciliation.

use std::cmp::Ordering;

use cni_types::{CniVersion, PluginInfo, VersionNumber, config::PluginConfig, reconcile};

use super::{error, ok, simple};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Calls what corresponds to the function that the case names.
#[derive(Debug)]
pub struct Versions;

impl Adapter for Versions {
    fn expected(&self, case: &Case, expect: &Json) -> Json {
        // `returned` is what Go's function leaves behind beside its error.
        let go = simple(expect, &["reencoded"], &["details"]);
        // Replies are documents; neither the order of their keys nor Go's way of escaping matters.
        let replies = ["PluginSupports.Encode", "PluginDecoder.Decode"];
        if !case.text("func").is_some_and(|func| replies.contains(&func)) {
            return go;
        }
        match go.field("ok").and_then(Json::as_object) {
            None => go,
            Some(fields) => ok(fields.iter().map(|(key, value)| {
                let document = value.as_str().and_then(|text| Json::parse(text).ok());
                (key.clone(), document.unwrap_or_else(|| value.clone()))
            })),
        }
    }

    fn answer(&self, case: &Case) -> Answer {
        Answer::Given(answer(case).unwrap_or_else(|why| why))
    }

    fn source(&self, case: &Case) -> Option<Json> {
        Json::parse_last_wins(case.text("reply").or_else(|| case.text("conf"))?).ok()
    }
}

/// Our answer, error or not, in the common form.
fn answer(case: &Case) -> Result<Json, Json> {
    let bare = |why: String| error(why, Vec::<(String, Json)>::new());
    let number = |key: &str| {
        case.text(key).unwrap_or_default().parse::<VersionNumber>().map_err(|why| bare(why.to_string()))
    };
    let value = |value: Json| Ok(ok([("value", value)]));
    let list = |versions: &[CniVersion]| {
        Json::Array(versions.iter().map(|version| Json::string(version.as_str())).collect())
    };
    match case.text("func").unwrap_or_default() {
        "ParseVersion" => {
            let version = number("version")?;
            value(Json::Array([version.major, version.minor, version.micro].map(Json::number).to_vec()))
        }
        "GreaterThan" => value(Json::Bool(number("version")? > number("other")?)),
        "GreaterThanOrEqualTo" => {
            value(Json::Bool(number("version")?.cmp(&number("other")?) != Ordering::Less))
        }
        "VersionsStartingFrom" => {
            let version: CniVersion =
                case.text("version").unwrap_or_default().parse().map_err(|why| bare(format!("{why}")))?;
            value(list(version.and_later()))
        }
        "Current" => value(Json::string(CniVersion::NEWEST.as_str())),
        "All" => value(list(&CniVersion::ALL)),
        "PluginSupports.Encode" => {
            let mut info = PluginInfo::new(CniVersion::NEWEST, &[]);
            info.supported_versions = strings(case, "versions");
            value(printed(&info))
        }
        "PluginDecoder.Decode" => {
            let info = PluginInfo::decode(&case.bytes("reply").unwrap_or_default())
                .map_err(|why| bare(why.to_string()))?;
            let claimed = info.supported_versions.iter().map(Json::string).collect();
            Ok(ok([("value", Json::Array(claimed)), ("reencoded", printed(&info))]))
        }
        "Reconciler.CheckRaw" => {
            match reconcile(case.text("config").unwrap_or_default(), &strings(case, "supported")) {
                Ok(()) => value(Json::Bool(true)),
                Err(why) => Err(error(&why, [("details", Json::string(why.details()))])),
            }
        }
        "ConfigDecoder.Decode" => {
            let config = PluginConfig::decode(&case.bytes("conf").unwrap_or_default())
                .map_err(|why| bare(why.to_string()))?;
            let version = config.cni_version.unwrap_or_else(|| CniVersion::WHEN_ABSENT.to_string());
            value(Json::string(version))
        }
        other => panic!("unknown function {other:?}"),
    }
}

fn strings(case: &Case, key: &str) -> Vec<String> {
    let items = case.input.field(key).and_then(Json::as_array).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn printed(info: &PluginInfo) -> Json {
    let text = serde_json::to_string(info).unwrap_or_else(|why| panic!("cannot print {info:?}: {why}"));
    Json::parse(&text).unwrap_or_else(|why| panic!("printed no JSON: {why}: {text}"))
}
