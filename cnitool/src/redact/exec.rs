//! Plugins whose stderr is looked through before it is passed on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use libcni::cni_invoke::{Environment, Exec, FindError, Invocation, Output, RunError, Until};
use libcni::cni_types::PluginType;
use libcni::{ProcessExec, SearchPath};

use crate::output::Console;

/// The longest line that is waited for, in bytes: a plugin may never end one.
const LONGEST_LINE: usize = 64 * 1024;

/// Runs plugins, and hides what is secret in what they print on stderr, line by line.
pub(crate) struct Redacting {
    exec: ProcessExec,
    console: Console,
}

impl Redacting {
    pub(crate) fn new(exec: ProcessExec, console: Console) -> Self {
        Self { exec, console }
    }
}

impl Exec for Redacting {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        self.exec.find(plugin, search_path)
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        self.console.redaction().learn_call(invocation.environment, invocation.stdin);
        // Of each run its own: plugins that run side by side do not end each other's lines.
        let lines = Arc::new(Mutex::new(Lines::default()));
        let (console, kept) = (self.console, Arc::clone(&lines));
        let sink = move |part: &[u8]| {
            let ended = kept.lock().unwrap_or_else(PoisonError::into_inner).ended_by(part);
            console.pass_on(&ended);
        };
        let outcome = self.exec.clone().with_stderr(sink).run(invocation);
        self.console.pass_on(&lines.lock().unwrap_or_else(PoisonError::into_inner).begun);
        outcome
    }

    fn describe(&self, program: &Path, environment: &Environment, until: &Until) -> Result<Output, RunError> {
        self.exec.describe(program, environment, until)
    }
}

/// Puts lines together again from the parts they come in.
#[derive(Default)]
struct Lines {
    /// The line that has not ended yet.
    begun: Vec<u8>,
    /// Whether that is too long, and left out up to its end.
    left_out: bool,
}

impl Lines {
    /// The lines that end with this part. Of one that is too long, none is given: at a cut, half a secret could stand on
    /// either side.
    fn ended_by(&mut self, part: &[u8]) -> Vec<u8> {
        let mut ended = Vec::new();
        for piece in part.split_inclusive(|byte| *byte == b'\n') {
            if !self.left_out {
                self.begun.extend_from_slice(piece);
            }
            if self.begun.len() > LONGEST_LINE {
                self.begun.clear();
                self.left_out = true;
                ended.extend_from_slice(format!("(a line of more than {LONGEST_LINE} bytes)").as_bytes());
            }
            if piece.ends_with(b"\n") {
                if self.left_out {
                    ended.push(b'\n');
                }
                self.left_out = false;
                ended.append(&mut self.begun);
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_one_that_is_too_long_is_left_out() {
        let mut lines = Lines::default();
        assert_eq!(lines.ended_by(b"on"), b"");
        assert_eq!(lines.ended_by(b"e\ntwo\nth"), b"one\ntwo\n");
        assert_eq!(lines.ended_by(&vec![b'r'; LONGEST_LINE - 2]), b"");
        assert_eq!(lines.ended_by(b"s3cr"), b"(a line of more than 65536 bytes)");
        assert_eq!(lines.ended_by(&vec![b'x'; LONGEST_LINE]), b"");
        assert_eq!(lines.ended_by(b"3t\nnext\nla"), b"\nnext\n");
        assert_eq!(lines.begun, b"la");
    }
}
