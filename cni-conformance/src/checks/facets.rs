//! What every single answer of the run has to be, whatever it was an answer to.

use cni_invoke::Exit;
use serde_json::{Map, Value};

use crate::catalog::{ERROR_CODE, ERROR_EXIT, ERROR_OBJECT, ERROR_VERSION, STDOUT_PURE};
use crate::exchange::{Answer, Exchange};
use crate::session::Session;

/// The codes of the spec's table, and 8, which deployed plugins have for a namespace that cannot be used.
const WELL_KNOWN: [u64; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 11, 50, 51];

pub(crate) fn run(session: &Session<'_>) {
    for exchange in session.log() {
        let pure =
            if exchange.is_impure() { Err("stdout is not one JSON document".to_owned()) } else { Ok(()) };
        session.judge(&STDOUT_PURE, &exchange, pure);
        session.judge(&ERROR_EXIT, &exchange, exit(&exchange));
        match exchange.answer() {
            Answer::Error(object) => error(session, &exchange, object),
            Answer::Failure if matches!(exchange.exit(), Some(Exit::Code(_))) => {
                session.fail(&ERROR_OBJECT, exchange.told(), &exchange);
            }
            Answer::Success(_) | Answer::Failure | Answer::Broken(_) => {}
        }
    }
    for check in [&ERROR_OBJECT, &ERROR_VERSION, &ERROR_CODE] {
        session.skip(check, "no call failed with an error object");
    }
}

fn exit(exchange: &Exchange) -> Result<(), String> {
    match (exchange.answer(), exchange.exit()) {
        (Answer::Broken(why), _) => Err(why.to_owned()),
        (_, Some(exit @ Exit::Signal(_))) => Err(format!("it ended by {exit}")),
        (Answer::Error(_), Some(Exit::Code(0))) => {
            Err("it printed an error object and exited with 0".to_owned())
        }
        _ => Ok(()),
    }
}

fn error(session: &Session<'_>, exchange: &Exchange, object: &Map<String, Value>) {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let code = object.get("code").and_then(Value::as_u64);
    let verdict = if code.is_none() {
        Err("the error object has no numeric code".to_owned())
    } else if text("msg").unwrap_or_default().is_empty() {
        Err("the error object has no msg".to_owned())
    } else if object.get("details").is_some_and(|details| !details.is_string()) {
        Err("details of the error object is no string".to_owned())
    } else {
        Ok(())
    };
    session.judge(&ERROR_OBJECT, exchange, verdict);
    if let Some(code) = code {
        let known = code >= 100 || WELL_KNOWN.contains(&code);
        let reason = || Err(format!("code {code} is reserved and means nothing: {}", exchange.told()));
        session.judge(&ERROR_CODE, exchange, if known { Ok(()) } else { reason() });
    }
    if let Some(version) = &exchange.config_version {
        let found = text("cniVersion");
        let same = if found == Some(version) {
            Ok(())
        } else {
            Err(format!(
                "cniVersion of the error object is {}",
                found.map_or("missing".to_owned(), |found| format!("{found:?}"))
            ))
        };
        session.judge(&ERROR_VERSION, exchange, same);
    }
}
