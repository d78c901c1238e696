//! One call of the plugin: what was sent, what came back, and what that says.
//!
//! What stdout holds is read leniently here: a log line before the result is a fault of its own, and must not hide what
//! the result says.

use std::ffi::{OsStr, OsString};

use cni_invoke::{Exit, Output, RunError};
use serde_json::{Map, Value};

use crate::report::{Received, Sent};

/// How much of a stream a report keeps, in bytes.
const KEPT: usize = 16 * 1024;

/// One call and its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// `CNI_COMMAND` as it was sent.
    pub(crate) command: String,
    /// The variables of the protocol as they were sent, and the mark.
    environment: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    /// The `cniVersion` of the configuration, as far as stdin was one.
    pub(crate) config_version: Option<String>,
    ran: Result<Ran, String>,
    /// Whether the plugin could not even be started.
    pub(crate) not_started: bool,
}

#[derive(Debug)]
struct Ran {
    exit: Exit,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    printed: Printed,
}

/// What stands on stdout.
#[derive(Debug)]
enum Printed {
    Nothing,
    Document(Value),
    /// Something else, in which there may be a document.
    Impure(Option<Value>),
}

/// What an answer comes to, with the benefit of the doubt.
#[derive(Debug)]
pub(crate) enum Answer<'e> {
    /// Exit status 0 and no error object; the document, if there was one.
    Success(Option<&'e Value>),
    /// An error object, whatever the exit status.
    Error(&'e Map<String, Value>),
    /// Another exit status, or a signal, and no error object.
    Failure,
    /// The plugin did not come to its own end.
    Broken(&'e str),
}

impl Exchange {
    pub(crate) fn new(
        command: &str,
        environment: Vec<(OsString, OsString)>,
        stdin: &[u8],
        outcome: Result<Output, RunError>,
    ) -> Self {
        let not_started = outcome.as_ref().is_err_and(|error| !error.was_started());
        let ran = outcome.map(Ran::new).map_err(|error| match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        });
        Self {
            command: command.to_owned(),
            environment,
            stdin: stdin.to_vec(),
            config_version: declared_version(stdin),
            ran,
            not_started,
        }
    }

    pub(crate) fn answer(&self) -> Answer<'_> {
        let ran = match &self.ran {
            Ok(ran) => ran,
            Err(why) => return Answer::Broken(why),
        };
        match (ran.error_object(), ran.exit.is_success()) {
            (Some(object), _) => Answer::Error(object),
            (None, true) => Answer::Success(ran.document()),
            (None, false) => Answer::Failure,
        }
    }

    pub(crate) fn succeeded(&self) -> bool {
        matches!(self.answer(), Answer::Success(_))
    }

    /// The object on stdout of a call that succeeded.
    pub(crate) fn object(&self) -> Option<&Map<String, Value>> {
        if let Answer::Success(Some(Value::Object(object))) = self.answer() { Some(object) } else { None }
    }

    /// How the plugin ended, if it came to its own end.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.ran.as_ref().ok().map(|ran| ran.exit)
    }

    /// Whether stdout is empty but for white space.
    pub(crate) fn is_silent(&self) -> bool {
        self.ran.as_ref().is_ok_and(|ran| matches!(ran.printed, Printed::Nothing))
    }

    /// Whether stdout holds something else than one JSON document or nothing.
    pub(crate) fn is_impure(&self) -> bool {
        self.ran.as_ref().is_ok_and(|ran| matches!(ran.printed, Printed::Impure(_)))
    }

    pub(crate) fn stderr(&self) -> &[u8] {
        self.ran.as_ref().map_or(&[], |ran| &ran.stderr)
    }

    /// What the answer comes to, in a few words, for the reason of a finding.
    pub(crate) fn told(&self) -> String {
        match self.answer() {
            Answer::Success(None) => "it succeeded and printed no result".to_owned(),
            Answer::Success(Some(_)) => "it succeeded".to_owned(),
            Answer::Error(object) => {
                let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
                let separator = if text("details").is_empty() { "" } else { "; " };
                let code =
                    object.get("code").map_or_else(|| "no code".to_owned(), |code| format!("code {code}"));
                format!("it failed: {}{separator}{} ({code})", text("msg"), text("details"))
            }
            Answer::Failure => match self.exit() {
                Some(exit) => format!("it failed with {exit} and no error object"),
                None => "it failed".to_owned(),
            },
            Answer::Broken(why) => why.to_owned(),
        }
    }

    /// For a report: the variables of the protocol and stdin.
    pub(crate) fn sent(&self) -> Sent {
        let text = |value: &OsStr| value.to_string_lossy().into_owned();
        Sent {
            environment: self.environment.iter().map(|(name, value)| (text(name), text(value))).collect(),
            stdin: excerpt(&self.stdin),
        }
    }

    /// For a report: the exit status and both streams.
    pub(crate) fn received(&self) -> Received {
        match &self.ran {
            Ok(ran) => Received {
                exit: ran.exit.to_string(),
                stdout: excerpt(&ran.stdout),
                stderr: excerpt(&ran.stderr),
            },
            Err(why) => Received { exit: why.clone(), stdout: String::new(), stderr: String::new() },
        }
    }
}

impl Ran {
    fn new(output: Output) -> Self {
        let printed = Printed::read(&output.stdout);
        Self { exit: output.exit, stderr: output.stderr.bytes().to_vec(), stdout: output.stdout, printed }
    }

    fn document(&self) -> Option<&Value> {
        match &self.printed {
            Printed::Nothing | Printed::Impure(None) => None,
            Printed::Document(document) | Printed::Impure(Some(document)) => Some(document),
        }
    }

    /// Neither a result nor the reply to VERSION has one of these keys.
    fn error_object(&self) -> Option<&Map<String, Value>> {
        let object = self.document()?.as_object()?;
        (object.contains_key("code") || object.contains_key("msg")).then_some(object)
    }
}

impl Printed {
    fn read(stdout: &[u8]) -> Self {
        if stdout.trim_ascii().is_empty() {
            return Self::Nothing;
        }
        match serde_json::from_slice(stdout) {
            Ok(document) => Self::Document(document),
            Err(_) => Self::Impure(find_document(stdout)),
        }
    }
}

/// The object among other text that is most likely meant: the last one that has a version or a code, or else the last.
fn find_document(stdout: &[u8]) -> Option<Value> {
    let (mut found, mut at): (Option<Value>, usize) = (None, 0);
    while let Some(start) = stdout[at..].iter().position(|byte| *byte == b'{') {
        let start = at + start;
        let mut documents = serde_json::Deserializer::from_slice(&stdout[start..]).into_iter::<Value>();
        if let Some(Ok(document)) = documents.next() {
            let is_meant = |value: &Value| value.get("cniVersion").or_else(|| value.get("code")).is_some();
            if is_meant(&document) || !found.as_ref().is_some_and(is_meant) {
                found = Some(document);
            }
            at = start + documents.byte_offset().max(1);
        } else {
            at = start + 1;
        }
    }
    found
}

fn declared_version(stdin: &[u8]) -> Option<String> {
    let config: Value = serde_json::from_slice(stdin).ok()?;
    Some(config.as_object()?.get("cniVersion")?.as_str()?.to_owned())
}

fn excerpt(bytes: &[u8]) -> String {
    let kept = String::from_utf8_lossy(&bytes[..bytes.len().min(KEPT)]).into_owned();
    if bytes.len() > KEPT { format!("{kept} … ({} bytes in all)", bytes.len()) } else { kept }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exchange(exit: Exit, stdout: &str) -> Exchange {
        let stdin = br#"{"cniVersion":"1.0.0"}"#;
        Exchange::new("ADD", Vec::new(), stdin, Ok(Output::new(exit, stdout)))
    }

    #[test]
    fn a_document_is_found_among_other_text() {
        for (stdout, found) in [
            ("level=info msg={}\n{\"cniVersion\":\"1.0.0\"}\n", json!({"cniVersion": "1.0.0"})),
            ("{\"cniVersion\":\"1.0.0\"}\nbye {", json!({"cniVersion": "1.0.0"})),
            ("{\"cniVersion\":\"1.0.0\"}{\"level\":\"info\"}", json!({"cniVersion": "1.0.0"})),
            ("a {\"x\":{}} b {\"y\":1}", json!({"y": 1})),
        ] {
            let exchange = exchange(Exit::SUCCESS, stdout);
            assert!(exchange.is_impure(), "{stdout}");
            assert_eq!(exchange.object(), found.as_object(), "{stdout}");
        }
        let nothing = exchange(Exit::SUCCESS, "all is well");
        assert!(nothing.is_impure() && nothing.object().is_none());
    }

    #[test]
    fn an_error_object_is_an_error_whatever_the_exit_status() {
        for exit in [Exit::SUCCESS, Exit::Code(1)] {
            let failed = exchange(exit, r#"{"code":7,"msg":"no","details":"never"}"#);
            assert!(matches!(failed.answer(), Answer::Error(_)));
            assert_eq!(failed.told(), "it failed: no; never (code 7)");
        }
        assert_eq!(
            exchange(Exit::Signal(6), "{}").told(),
            "it failed with signal 6 (SIGABRT) and no error object"
        );
        assert!(exchange(Exit::SUCCESS, " \n").is_silent());
    }

    #[test]
    fn what_is_sent_and_received_is_kept_within_bounds() {
        let long = "x".repeat(KEPT + 1);
        let received = exchange(Exit::SUCCESS, &long).received();
        assert!(received.stdout.ends_with("… (16385 bytes in all)"));
        assert_eq!(received.exit, "exit status 0");
        assert_eq!(exchange(Exit::SUCCESS, "").config_version.as_deref(), Some("1.0.0"));
    }
}
