//! Programs that run in a private host. Output goes through files, not pipes: a daemon that keeps its starter's
//! streams open must not hang the test. Nothing runs longer than its limit.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use super::PrivateHost;
use crate::need;

/// Seconds after which a program is stopped: far beyond what any takes, well below a CI run's patience.
const LIMIT: &str = "120";

/// The same for a program that runs as long as its test.
const BACKGROUND_LIMIT: &str = "900";

pub(super) type Shared = Arc<Mutex<Child>>;

/// A program about to run in a private host.
#[derive(Debug)]
pub struct HostCommand {
    host: PrivateHost,
    words: Vec<std::ffi::OsString>,
    envs: Vec<(String, String)>,
    input: Vec<u8>,
}

impl HostCommand {
    pub(super) fn new<W: AsRef<OsStr>>(host: PrivateHost, words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Self { host, words, envs: Vec::new(), input: Vec::new() }
    }

    /// Adds a variable to the environment, which else has `PATH`, `HOME` and `LC_ALL` alone.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.envs.push((name.to_owned(), value.into()));
        self
    }

    /// Gives the program `input` on its standard input, which else is empty.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Runs the program, which must succeed.
    ///
    /// # Panics
    ///
    /// Unless it ends with status 0.
    pub fn run(self) -> Ran {
        let ran = self.attempt();
        assert!(ran.success(), "{ran}");
        ran
    }

    /// Runs the program, whatever comes of it.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn attempt(self) -> Ran {
        let (stdout, stderr) = (scratch_file(), scratch_file());
        let mut command = self.command(LIMIT);
        command.stdout(clone(&stdout)).stderr(clone(&stderr));
        let status = command.status().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
        Ran { command: self.text(), status, stdout: text_of(&stdout), stderr: text_of(&stderr) }
    }

    /// Starts the program and leaves it running.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn spawn(self) -> Background {
        let stderr = scratch_file();
        let mut command = self.command(BACKGROUND_LIMIT);
        command.stdout(Stdio::piped()).stderr(clone(&stderr));
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let child = Arc::new(Mutex::new(child));
        self.host.0.background.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&child));
        Background { command: self.text(), child, stdout, stderr }
    }

    fn command(&self, limit: &str) -> Command {
        let anchor = self.host.0.anchor.id();
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &anchor.to_string(), "--mount", "--net"])
            // The anchor itself is not in the process namespace, only its child.
            .arg(format!("--pid=/proc/{anchor}/ns/pid_for_children"))
            .args(["--", "timeout", "--kill-after=5", limit])
            .args(&self.words)
            .env_clear()
            .env("PATH", need::PROGRAM_PATH)
            .env("HOME", self.host.home())
            .env("LC_ALL", "C.UTF-8")
            .envs(self.envs.iter().map(|(name, value)| (name, value)));
        let mut input = scratch_file();
        input.write_all(&self.input).expect("a scratch file can be written");
        input.rewind().expect("a file can be rewound");
        command.stdin(input);
        command
    }

    fn text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// What came of a program.
#[derive(Clone, Debug)]
pub struct Ran {
    command: String,
    /// How it ended; status 124 where it was stopped for taking too long.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Ran {
    /// Whether it ended with status 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status.success()
    }

    /// Its standard output as a JSON document.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("unexpected output: {e}\n{self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { command, status, stdout, stderr } = self;
        write!(f, "`{command}` ended with {status}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

/// A program that runs beside the test, at most until the host ends.
#[derive(Debug)]
pub struct Background {
    command: String,
    child: Shared,
    stdout: BufReader<ChildStdout>,
    stderr: File,
}

impl Background {
    /// The next line that the program prints, without its end; `None` when it has ended.
    ///
    /// # Panics
    ///
    /// If its output is not text.
    pub fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line).expect("the program prints text");
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Waits until the program ends.
    ///
    /// # Panics
    ///
    /// If its output is not text.
    pub fn wait(mut self) -> Ran {
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).expect("the program prints text");
        let status =
            self.child.lock().unwrap_or_else(PoisonError::into_inner).wait().expect("it is our child");
        Ran { command: self.command, status, stdout, stderr: text_of(&self.stderr) }
    }

    /// What the program has said on its standard error so far.
    pub fn stderr(&self) -> String {
        text_of(&self.stderr)
    }
}

fn scratch_file() -> File {
    tempfile::tempfile().expect("a scratch file can be made")
}

fn clone(file: &File) -> File {
    file.try_clone().expect("a file can be opened twice")
}

/// What a program has written to `file` so far. Read by position: the program shares the file's cursor.
fn text_of(file: &File) -> String {
    let length = file.metadata().expect("a scratch file can be read").len();
    let mut bytes = vec![0; usize::try_from(length).expect("output fits into memory")];
    file.read_exact_at(&mut bytes, 0).expect("a scratch file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
