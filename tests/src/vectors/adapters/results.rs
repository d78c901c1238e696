//! `results_convert` and `results_parse`: reading, converting and printing results.

use cni_types::{CniVersion, VersionedResult};

use super::{error, ok, simple};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Reads a result, converts it, prints it.
#[derive(Debug)]
pub struct ResultsConvert;

impl Adapter for ResultsConvert {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        simple(expect, &["created_as", "ok_text"], &["created_as", "stage"])
    }

    fn answer(&self, case: &Case) -> Answer {
        let result = match create(case) {
            Ok(result) => result,
            Err(why) => return Answer::Given(error(why, [("stage", Json::string("create"))])),
        };
        let created_as = result.version().as_str();
        let refused = |why: String| {
            let fields = [("stage", Json::string("convert")), ("created_as", Json::string(created_as))];
            Answer::Given(error(why, fields))
        };
        let mut result = result;
        for key in ["via", "to"] {
            let Some(to) = case.text(key) else { continue };
            let to: CniVersion = match to.parse() {
                Ok(to) => to,
                Err(why) => {
                    return refused(format!("cannot convert result from {created_as} to {to:?}: {why}"));
                }
            };
            result = match result.convert(to) {
                Ok(result) => result,
                Err(why) => return refused(why.to_string()),
            };
        }
        let text = result.to_json();
        let mut fields = match Json::parse(&text) {
            Ok(value) => vec![("value", value), ("created_as", Json::string(created_as))],
            Err(why) => panic!("printed a result that is no JSON: {why}: {text}"),
        };
        // The reference recorded the bytes only where nothing was converted.
        if case.expect.field("ok_text").is_some() {
            fields.push(("ok_text", Json::string(text)));
        }
        Answer::Given(ok(fields))
    }

    fn source(&self, case: &Case) -> Option<Json> {
        source(case)
    }
}

/// Reads a result, prints it, reads it again.
#[derive(Debug)]
pub struct ResultsParse;

impl Adapter for ResultsParse {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        simple(expect, &["created_as", "reread_error", "reread_differs"], &["stage"])
    }

    fn answer(&self, case: &Case) -> Answer {
        let result = match create(case) {
            Ok(result) => result,
            Err(why) => return Answer::Given(error(why, [("stage", Json::string("create"))])),
        };
        let text = result.to_json();
        let mut fields = match Json::parse(&text) {
            Ok(value) => vec![("value", value), ("created_as", Json::string(result.version().as_str()))],
            Err(why) => panic!("printed a result that is no JSON: {why}: {text}"),
        };
        match VersionedResult::decode(text.as_bytes()) {
            Err(why) => fields.push(("reread_error", Json::string(why.to_string()))),
            Ok(again) if again.to_json() != text => {
                fields.push(("reread_differs", Json::string(again.to_json())));
            }
            Ok(_) => {}
        }
        Answer::Given(ok(fields))
    }

    fn source(&self, case: &Case) -> Option<Json> {
        source(case)
    }
}

fn source(case: &Case) -> Option<Json> {
    Json::parse_last_wins(case.text("json")?).ok()
}

fn create(case: &Case) -> Result<VersionedResult, String> {
    let json = case.bytes("json").ok_or("the case has no \"json\"")?;
    match case.text("api") {
        Some("CreateFromBytes") => VersionedResult::decode(&json).map_err(|error| error.to_string()),
        Some("Create") => {
            let version = case.text("version").ok_or("the case has no \"version\"")?;
            let version: CniVersion = version
                .parse()
                .map_err(|error| format!("unsupported CNI result version {version:?}: {error}"))?;
            VersionedResult::decode_in_layout_of(version, &json).map_err(|error| error.to_string())
        }
        other => Err(format!("unknown api {other:?}")),
    }
}
