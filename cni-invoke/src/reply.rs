//! What a plugin's exit status and stdout mean.
//!
//! Results are read strictly. Error objects are read as far as they go, because a plugin that fails to say properly why
//! it failed must not take its code with it.

use cni_types::error::DecodeError;
use cni_types::{CniVersion, ErrorCode, ErrorObject, PluginInfo, VersionedResult};
use serde_json::{Map, Value};

use crate::error::ErrorKind;
use crate::excerpt::Printed;
use crate::exec::Output;

/// What plugins from before VERSION existed say to it; their library gave no code.
const NO_SUCH_COMMAND: &str = "unknown CNI_COMMAND: VERSION";

/// The result of an ADD, in its own version or else in the configuration's.
pub(crate) fn result(output: Output, config: CniVersion) -> Result<VersionedResult, ErrorKind> {
    let output = succeeded(output)?;
    let decoded = VersionedResult::decode_with_default(config, &output.stdout);
    if decoded.as_ref().map_or(true, could_be_an_error)
        && let Some(object) = error_object(&output.stdout)
    {
        return Err(failed(object, output));
    }
    decoded.map_err(|problem| unreadable(problem, output))
}

/// The answer to a command that has none but its exit status. Go's library does not look at stdout either.
pub(crate) fn nothing(output: Output) -> Result<(), ErrorKind> {
    succeeded(output).map(drop)
}

/// The answer to VERSION.
pub(crate) fn plugin_info(output: Output) -> Result<PluginInfo, ErrorKind> {
    match succeeded(output) {
        Ok(output) => PluginInfo::decode(&output.stdout).map_err(|problem| unreadable(problem, output)),
        Err(ErrorKind::Failed { object, .. })
            if object.code() == ErrorCode::INVALID_ENVIRONMENT || object.msg == NO_SUCH_COMMAND =>
        {
            Ok(PluginInfo::of_plugin_without_version())
        }
        Err(error) => Err(error),
    }
}

fn succeeded(output: Output) -> Result<Output, ErrorKind> {
    if output.exit.is_success() {
        return Ok(output);
    }
    let stdout = &output.stdout;
    Err(match error_object(stdout) {
        Some(object) => failed(object, output),
        None => {
            let problem = if stdout.is_empty() { None } else { ErrorObject::decode(stdout).err() };
            ErrorKind::Unexplained { exit: output.exit, problem, printed: printed(output) }
        }
    })
}

fn failed(object: ErrorObject, output: Output) -> ErrorKind {
    ErrorKind::Failed { exit: output.exit, object: Box::new(object), printed: printed(output) }
}

fn unreadable(problem: DecodeError, output: Output) -> ErrorKind {
    ErrorKind::Unreadable { problem, printed: printed(output) }
}

fn printed(output: Output) -> Box<Printed> {
    Box::new(Printed::new(output.stdout, output.stderr))
}

/// Whether a result says nothing, but has keys that are no result's: it may be an error object.
fn could_be_an_error(result: &VersionedResult) -> bool {
    let (empty, extra) = if let Some(it) = result.as_v100() {
        (
            it.interfaces.is_empty() && it.ips.is_empty() && it.routes.is_empty() && it.dns.is_empty(),
            &it.extra,
        )
    } else if let Some(it) = result.as_v040() {
        (
            it.interfaces.is_empty() && it.ips.is_empty() && it.routes.is_empty() && it.dns.is_empty(),
            &it.extra,
        )
    } else if let Some(it) = result.as_v020() {
        (it.ip4.is_none() && it.ip6.is_none() && it.dns.is_empty(), &it.extra)
    } else {
        return false;
    };
    empty && !extra.is_empty()
}

/// The error object that stands on stdout, if there is one that says anything at all.
///
/// Bytes that are not UTF-8 are replaced; a value of the wrong type is taken as its text, and a wrong code as none.
fn error_object(stdout: &[u8]) -> Option<ErrorObject> {
    let text = String::from_utf8_lossy(stdout);
    let object = ErrorObject::decode(text.as_bytes()).ok().or_else(|| {
        let keys: Map<String, Value> = serde_json::from_str(&text).ok()?;
        let value = |name: &str| {
            keys.get(name).or_else(|| {
                keys.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
            })
        };
        let text = |name: &str| match value(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let code = value("code").and_then(Value::as_u64).unwrap_or_default();
        let mut object = ErrorObject::new(ErrorCode::new(code), text("msg")).with_details(text("details"));
        object.cni_version = Some(text("cniVersion")).filter(|version| !version.is_empty());
        Some(object)
    })?;
    let says_something = object.code().value() != 0 || !object.msg.is_empty() || !object.details.is_empty();
    says_something.then_some(object)
}

#[cfg(test)]
mod tests;
