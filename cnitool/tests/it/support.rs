//! A machine in a temporary directory: configurations, plugins that do as they are told, a cache.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Goes away with its test.
pub(crate) struct Host {
    dir: TempDir,
}

/// What a plugin of a [`Host`] does: by hand it says who it is, as Go's plugins do, or what it was told to say. Otherwise it
/// notes the call and what it read, does and prints what it was told to, and ends.
const PLUGIN: &str = r#"#!/bin/sh
if [ -z "$CNI_COMMAND" ]; then
    echo "CNI @NAME@ plugin v1.1.1" >&2
    echo "$*" >>@ROOT@by-hand
    [ -f @ROOT@told/@NAME@.describe.sh ] && . @ROOT@told/@NAME@.describe.sh
    [ "$*" = --describe ] && [ -f @ROOT@told/@NAME@.describe ] && exec cat @ROOT@told/@NAME@.describe
    exit 0
fi
told=@ROOT@told/@NAME@.$CNI_COMMAND
cat >"$told.stdin"
env >"$told.env"
echo "$CNI_COMMAND @NAME@${CNI_IFNAME:+ $CNI_IFNAME}" >>@ROOT@calls
[ -f "$told.sh" ] && . "$told.sh"
[ -f "$told.stderr" ] && cat "$told.stderr" >&2
[ -f "$told.stdout" ] && cat "$told.stdout"
[ -f "$told.exit" ] && exit "$(cat "$told.exit")"
exit 0
"#;

pub(crate) const ALL_VERSIONS: &str =
    r#"{"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}"#;

impl Host {
    pub(crate) fn new() -> Self {
        let host = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["net.d", "bin", "told"] {
            fs::create_dir(host.path(folder)).unwrap();
        }
        host
    }

    /// A path on the machine.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // Without links, as the program prints it.
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What stands in a file; nothing, if there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A configuration file in the directory that is searched.
    pub(crate) fn conf(&self, name: &str, text: &str) -> &Self {
        self.write(&format!("net.d/{name}"), text);
        self
    }

    /// A network of 1.1.0 with plugins of these types.
    pub(crate) fn network(&self, name: &str, plugins: &[&str]) -> &Self {
        let plugins: Vec<_> = plugins.iter().map(|plugin| format!(r#"{{"type":"{plugin}"}}"#)).collect();
        let list = format!(r#"{{"cniVersion":"1.1.0","name":"{name}","plugins":[{}]}}"#, plugins.join(","));
        self.conf(&format!("10-{name}.conflist"), &list)
    }

    /// A plugin that succeeds, prints the given results by command, and supports all versions.
    pub(crate) fn plugin(&self, name: &str, replies: &[(&str, &str)]) -> &Self {
        let path = self.path(&format!("bin/{name}"));
        let root = self.path("");
        let script = PLUGIN.replace("@ROOT@", root.to_str().unwrap()).replace("@NAME@", name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self.write(&format!("told/{name}.VERSION.stdout"), ALL_VERSIONS);
        for (command, reply) in replies {
            self.write(&format!("told/{name}.{command}.stdout"), reply);
        }
        self
    }

    /// Makes a plugin describe itself.
    pub(crate) fn described(&self, name: &str, description: &serde_json::Value) -> &Self {
        self.write(&format!("told/{name}.describe"), &description.to_string());
        self
    }

    /// Makes a plugin fail a command with an error object.
    pub(crate) fn failing(&self, name: &str, command: &str, code: u64, msg: &str) -> &Self {
        let object = format!(r#"{{"cniVersion":"1.1.0","code":{code},"msg":"{msg}"}}"#);
        self.write(&format!("told/{name}.{command}.stdout"), &object);
        self.write(&format!("told/{name}.{command}.exit"), "1");
        self
    }

    /// The calls of plugins so far, in order, as `COMMAND PLUGIN IFNAME`.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.read("calls").lines().map(str::to_owned).collect()
    }

    /// The calls since the last time.
    pub(crate) fn take_calls(&self) -> Vec<String> {
        let calls = self.calls();
        self.write("calls", "");
        calls
    }

    /// What a plugin last read for a command.
    pub(crate) fn stdin(&self, name: &str, command: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(&format!("told/{name}.{command}.stdin"))).unwrap()
    }

    /// A variable of a plugin when it was last called with a command.
    pub(crate) fn variable(&self, name: &str, command: &str, variable: &str) -> Option<String> {
        let start = format!("{variable}=");
        let environment = self.read(&format!("told/{name}.{command}.env"));
        environment.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
    }

    /// The files of the cache, sorted.
    pub(crate) fn cached(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("cache/results")) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the program here.
    pub(crate) fn cnitool(&self, arguments: &[&str]) -> Outcome {
        self.cnitool_with(&[], arguments)
    }

    /// Runs the program with more variables.
    pub(crate) fn cnitool_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
        let output = self.command(arguments).envs(variables.iter().copied()).output().unwrap();
        Outcome::new(&output, &self.path(""))
    }

    /// The program, ready to be run: with nothing but this machine in its environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cnitool"));
        command
            .args(arguments)
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("NETCONFPATH", self.path("net.d"))
            .env("CNI_PATH", self.path("bin"))
            .env("CNI_CACHE_DIR", self.path("cache"));
        command
    }
}

/// How a run of the program ended; the machine's directory reads `DIR/`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn new(output: &Output, root: &Path) -> Self {
        let text =
            |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(root.to_str().unwrap(), "DIR/");
        Self {
            status: output.status.code().unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The same outcome, which must be a success without a word on stderr.
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert!(self.status == 0 && self.stderr.is_empty(), "{self}");
        self
    }

    /// The same outcome, which must be a failure with this status and nothing on stdout.
    #[track_caller]
    pub(crate) fn bad(self, status: i32) -> Self {
        assert!(self.status == status && self.stdout.is_empty(), "{self}");
        self
    }

    /// stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Each line of stderr as JSON.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self}"));
        self.stderr.lines().map(parse).collect()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, stdout, stderr } = self;
        write!(f, "exit status {status}")?;
        for (name, text) in [("stdout", stdout), ("stderr", stderr)] {
            if !text.is_empty() {
                write!(f, "\n--- {name}\n{}", text.trim_end_matches('\n'))?;
            }
        }
        Ok(())
    }
}

/// Says that a test cannot be run here, unless it must be.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CNI_TEST_REQUIRE").is_none_or(|value| value != "1"), "required, but {why}");
    // To the stream itself: what is printed is swallowed by the test runner when the test passes.
    let _ = std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes());
}
