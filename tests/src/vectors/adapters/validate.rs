//! `validate`: the rules for names.

use cni_types::{ContainerId, ErrorObject, InterfaceName, InvalidName, NetworkName};

use super::{error, ok, pick, simple};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Checks a container ID, a network name or an interface name.
#[derive(Debug)]
pub struct Validate;

impl Adapter for Validate {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        // `error` is message and details in one.
        let Some(msg) = expect.field("msg").and_then(Json::as_str) else {
            return simple(expect, &[], &["code", "details"]);
        };
        error(msg, pick(expect, &["code", "details"]))
    }

    fn answer(&self, case: &Case) -> Answer {
        let Some(value) = case.text("value") else {
            return Answer::NoCounterpart("names are text, and text is UTF-8".to_owned());
        };
        let verdict: Result<(), InvalidName> = match case.text("func") {
            Some("ValidateContainerID") => ContainerId::new(value).map(drop),
            Some("ValidateNetworkName") => NetworkName::new(value).map(drop),
            Some("ValidateInterfaceName") => InterfaceName::new(value).map(drop),
            other => panic!("unknown function {other:?}"),
        };
        Answer::Given(match verdict {
            Ok(()) => ok([("value", Json::Bool(true))]),
            Err(why) => {
                let object = ErrorObject::from(why);
                error(
                    &object.msg,
                    [("code", Json::number(object.code())), ("details", Json::string(&object.details))],
                )
            }
        })
    }

    fn source(&self, _: &Case) -> Option<Json> {
        None
    }
}
