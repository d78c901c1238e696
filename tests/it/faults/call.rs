//! A program with all that it is given, to be run as it is or under another program.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use cni_tests::need::PROGRAM_PATH;

/// A call of a program.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) words: Vec<OsString>,
    pub(super) env: Vec<(&'static str, OsString)>,
    pub(super) stdin: PathBuf,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Call {
    pub(super) fn new(program: &Path, words: &[&str]) -> Self {
        let words = words.iter().map(OsString::from);
        Self {
            words: std::iter::once(program.into()).chain(words).collect(),
            env: vec![("PATH", PROGRAM_PATH.into())],
            stdin: "/dev/null".into(),
        }
    }

    /// Runs under another program, which is given this one at the end of its own words.
    pub(super) fn under(&self, words: &[&str]) -> Self {
        let words = words.iter().map(OsString::from).chain(self.words.iter().cloned()).collect();
        Self { words, ..self.clone() }
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).env_clear().envs(self.env.iter().cloned());
        command.stdin(File::open(&self.stdin).unwrap());
        command
    }

    pub(super) fn run(&self) -> Outcome {
        Outcome::of(&mut self.command())
    }

    /// Runs what must succeed.
    pub(super) fn good(&self) -> Outcome {
        let outcome = self.run();
        assert!(outcome.status.success(), "{:?}: {outcome:?}", self.words);
        outcome
    }
}

impl Outcome {
    pub(super) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
