//! What a plugin answers, before it is written.

use std::io::Write;
use std::process::ExitCode;

use crate::types::{AddResult, ErrorObject, PluginDescription, PluginInfo, VersionedResult};

/// What a plugin answers to a call: what goes to stdout, what to stderr, and the exit status.
///
/// [`run`](crate::run) writes it; [`Dispatcher::respond`](crate::Dispatcher::respond) gives it for whoever wants to look
/// at it, or change it, first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// What is written to stdout: one JSON document, or nothing; a text if a person asked for one.
    pub stdout: Vec<u8>,
    /// What is written to stderr, for a person.
    pub stderr: String,
    /// The exit status: 0 for success, 1 for an error.
    pub exit: u8,
    /// What `stdout` says.
    pub answer: Answer,
}

/// What a reply says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Nobody asked for a command: who the plugin is, for a person. On stdout if asked for by `--help` or `--version`, else
    /// on stderr.
    About,
    /// Nobody asked for a command but for a description, which is on stdout.
    Description(Box<PluginDescription>),
    /// Success without a word: CHECK, DEL, GC, STATUS.
    Done,
    /// The error object.
    Error(ErrorObject),
    /// The result of ADD, in the configuration's version.
    Result(Box<VersionedResult>),
    /// The answer to VERSION.
    Version(PluginInfo),
}

impl Reply {
    pub(crate) fn new(answer: Answer) -> Self {
        let stdout = match &answer {
            Answer::About | Answer::Done => Vec::new(),
            Answer::Description(description) => description.to_json().into_bytes(),
            Answer::Error(error) => error.to_json().into_bytes(),
            Answer::Result(result) => result.to_json().into_bytes(),
            Answer::Version(info) => info.to_json().into_bytes(),
        };
        let exit = u8::from(matches!(answer, Answer::Error(_)));
        Self { stdout, stderr: String::new(), exit, answer }
    }

    pub(crate) fn error(error: ErrorObject) -> Self {
        Self::new(Answer::Error(error))
    }

    pub(crate) fn about(text: String) -> Self {
        Self { stderr: text, ..Self::new(Answer::About) }
    }

    /// A text for a person who asked for it.
    pub(crate) fn text(text: String) -> Self {
        Self { stdout: text.into_bytes(), ..Self::new(Answer::About) }
    }

    pub(crate) fn description(description: PluginDescription) -> Self {
        Self::new(Answer::Description(Box::new(description)))
    }

    /// The result of ADD in the newest layout, if it is one.
    pub fn result(&self) -> Option<AddResult> {
        if let Answer::Result(result) = &self.answer {
            Some(result.as_ref().clone().into_add_result())
        } else {
            None
        }
    }

    /// The error object, if it is one.
    pub fn as_error(&self) -> Option<&ErrorObject> {
        if let Answer::Error(error) = &self.answer { Some(error) } else { None }
    }

    /// Writes the reply and gives the exit status.
    ///
    /// Whatever of it cannot be written makes the status 1: a runtime must not take silence for success.
    pub fn write(&self, mut stdout: impl Write, mut stderr: impl Write) -> ExitCode {
        // A closed stderr costs a person a message, not a container its network.
        let _ = stderr.write_all(self.stderr.as_bytes());
        match stdout.write_all(&self.stdout).and_then(|()| stdout.flush()) {
            Ok(()) => ExitCode::from(self.exit),
            Err(error) => {
                let _ = writeln!(stderr, "cannot write the reply to stdout: {error}");
                ExitCode::FAILURE
            }
        }
    }
}
