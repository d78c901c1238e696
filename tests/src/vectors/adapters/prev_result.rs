//! `prev_result`: the previous result in a plugin's configuration.

use cni_types::config::PluginConfig;

use super::{error, ok, simple};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Reads a configuration and the `prevResult` in it.
#[derive(Debug)]
pub struct PrevResult;

impl Adapter for PrevResult {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        // `had_raw_prev_result` and `raw_prev_result_after` tell of a field that Go clears on the way.
        simple(expect, &["prev_result_version"], &["stage"])
    }

    fn answer(&self, case: &Case) -> Answer {
        let conf = case.bytes("conf").unwrap_or_default();
        let config = match PluginConfig::decode(&conf) {
            Ok(config) => config,
            Err(why) => return Answer::Given(error(why, [("stage", Json::string("unmarshal"))])),
        };
        Answer::Given(match config.decode_prev_result() {
            Err(why) => error(why, [("stage", Json::string("parse"))]),
            Ok(None) => ok([("value", Json::Null)]),
            Ok(Some(result)) => {
                let text = result.to_json();
                let value = Json::parse(&text).unwrap_or_else(|why| panic!("printed no JSON: {why}: {text}"));
                ok([("value", value), ("prev_result_version", Json::string(result.version().as_str()))])
            }
        })
    }

    fn source(&self, case: &Case) -> Option<Json> {
        Json::parse_last_wins(case.text("conf")?).ok()
    }
}
