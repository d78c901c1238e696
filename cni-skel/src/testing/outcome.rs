//! What came of a call.

use cni_invoke::testing::RecordedCall;

use crate::reply::{Answer, Reply};
use crate::types::{AddResult, ErrorCode, ErrorObject, PluginInfo};

/// What a plugin answered to an [`Invocation`](super::Invocation): exit status, both streams, and what they say.
#[derive(Debug)]
pub struct Outcome {
    reply: Reply,
    delegate_calls: Vec<RecordedCall>,
}

impl Outcome {
    pub(super) fn new(reply: Reply, delegate_calls: Vec<RecordedCall>) -> Self {
        Self { reply, delegate_calls }
    }

    /// Fails the test unless the call succeeded.
    ///
    /// # Panics
    ///
    /// When it did not, with the error object.
    #[track_caller]
    pub fn assert_success(&self) {
        if let Some(error) = self.reply.as_error() {
            panic!("the plugin failed: {error}");
        }
        assert_eq!(self.reply.exit, 0, "the plugin exited with {}", self.reply.exit);
    }

    /// Fails the test unless the call failed with this code; gives the error object.
    ///
    /// # Panics
    ///
    /// When it succeeded, or failed with another code.
    #[track_caller]
    pub fn assert_error(&self, code: u64) -> &ErrorObject {
        let Some(error) = self.reply.as_error() else {
            panic!("the plugin succeeded, where code {code} was expected: {:?}", self.reply.answer);
        };
        assert_eq!(error.code(), ErrorCode::new(code), "{error}");
        assert_eq!(self.reply.exit, 1, "an error exits with 1");
        error
    }

    /// The result of ADD in the newest layout, whatever version was printed.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub fn result(&self) -> AddResult {
        self.reply.result().unwrap_or_else(|| panic!("there is no result but {:?}", self.reply.answer))
    }

    /// The document on stdout.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let stdout = &self.reply.stdout;
        serde_json::from_slice(stdout).unwrap_or_else(|error| {
            panic!("stdout is no JSON document ({error}): {:?}", String::from_utf8_lossy(stdout))
        })
    }

    /// The error object, if the call failed.
    pub fn error(&self) -> Option<&ErrorObject> {
        self.reply.as_error()
    }

    /// The answer to VERSION, if it was asked for.
    pub fn info(&self) -> Option<&PluginInfo> {
        if let Answer::Version(info) = &self.reply.answer { Some(info) } else { None }
    }

    /// The calls of scripted delegates, in order, those that undo included.
    pub fn delegate_calls(&self) -> &[RecordedCall] {
        &self.delegate_calls
    }

    /// The exit status.
    pub fn exit(&self) -> u8 {
        self.reply.exit
    }

    /// What goes to stdout.
    pub fn stdout(&self) -> &[u8] {
        &self.reply.stdout
    }

    /// What the SDK writes to stderr. What a handler prints there itself goes to the test's own.
    pub fn stderr(&self) -> &str {
        &self.reply.stderr
    }
}
