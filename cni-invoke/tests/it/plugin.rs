//! A plugin that is a shell script in a directory of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cni_invoke::{Environment, Exec, Invocation, Output, ProcessExec, Request, RunError, Until};
use cni_types::{Command, PluginType};

pub(crate) const CONFIG: &str = r#"{"cniVersion":"1.0.0","name":"n","type":"t"}"#;

pub(crate) struct Plugin {
    dir: tempfile::TempDir,
    plugin_type: PluginType,
    environment: Environment,
}

impl Plugin {
    /// A script; `$DIR` in it is the directory that it lies in.
    pub(crate) fn script(text: &str) -> Self {
        Self::file(&format!("#!/bin/sh\n{text}\n"), 0o755)
    }

    pub(crate) fn file(content: &str, mode: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let environment =
            [("CNI_PATH", dir.path()), ("DIR", dir.path()), ("PATH", Path::new("/usr/bin:/bin"))];
        let this = Self {
            environment: environment.into_iter().collect(),
            plugin_type: PluginType::new("t").unwrap(),
            dir,
        };
        fs::write(this.program(), content).unwrap();
        fs::set_permissions(this.program(), fs::Permissions::from_mode(mode)).unwrap();
        this
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.at("t")
    }

    /// A named pipe for the script and the test to wait for each other.
    pub(crate) fn with_fifo(self, name: &str) -> Self {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, self.at(name), mode).unwrap();
        self
    }

    pub(crate) fn with_var(mut self, name: &str, value: &str) -> Self {
        self.environment.set(name, value);
        self
    }

    /// Runs it without a look at the answer.
    pub(crate) fn run(&self, exec: &ProcessExec, stdin: &[u8], until: &Until) -> Result<Output, RunError> {
        let program = self.program();
        let invocation = Invocation::new(&self.plugin_type, &program, Command::Add, &self.environment);
        exec.run(&invocation.with_stdin(stdin).with_until(until))
    }

    /// The request that calls it.
    pub(crate) fn request(&self) -> Request<'_> {
        Request::new(&self.plugin_type, &self.environment, CONFIG.as_bytes())
    }
}

/// An exec that keeps stderr from the test's own.
pub(crate) fn quiet() -> ProcessExec {
    ProcessExec::new().with_stderr(|_| {})
}

/// Whether a program exists; if not, the test is skipped, which `CNI_TEST_REQUIRE=1` forbids.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn has_tool(name: &str) -> bool {
    let found = ["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(name).exists());
    if !found {
        assert_ne!(std::env::var("CNI_TEST_REQUIRE").as_deref(), Ok("1"), "{name} is missing");
        eprintln!("SKIPPED: {name} is missing");
    }
    found
}
