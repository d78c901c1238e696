//! The IPAM plugin that the plugin under test delegates to: a script that writes down how it was called.
//!
//! It answers by itself, or has a real plugin answer; and it fails where it is told to.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cni_invoke::SearchPath;
use cni_types::{CniVersion, Command, PluginType};
use serde_json::Value;
use tempfile::TempDir;

use crate::setup::Conformance;

/// What the script writes to stderr at each call.
pub(crate) const STDERR_MARK: &str = "conformance: the delegate's stderr";

/// The most that is read of what it writes down, in bytes: as much as a plugin reads from stdin.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The script. The words in `@` are replaced.
const SCRIPT: &str = include_str!("delegate.sh");

/// A recorded delegate.
#[derive(Debug)]
pub(crate) struct Delegate {
    dir: TempDir,
    /// For `CNI_PATH`.
    pub(crate) search_path: SearchPath,
}

/// One call of it.
#[derive(Debug)]
pub(crate) struct DelegateCall {
    pub(crate) command: String,
    /// The whole environment.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) stdin: Vec<u8>,
    stdout: Vec<u8>,
}

impl Delegate {
    /// Puts the script where the plugin will find it.
    pub(crate) fn install(setup: &Conformance<'_>, plugin: &PluginType) -> Result<Self, String> {
        let dir = TempDir::new().map_err(|error| format!("cannot make a directory for it: {error}"))?;
        let mut search_path = SearchPath::new([dir.path().join("bin")]);
        let real = match &setup.search_path {
            None => String::new(),
            Some(real) => {
                real.dirs().iter().for_each(|dir| search_path.push(dir));
                let found = cni_invoke::find_plugin(plugin, real).map_err(|error| error.to_string())?;
                found.display().to_string()
            }
        };
        // What nobody can look at would only stand between the lines of a test run.
        let mark = if setup.in_process { "" } else { STDERR_MARK };
        let script = SCRIPT
            .replace("@HOME@", &quoted(&dir.path().display().to_string()))
            .replace("@REAL@", &quoted(&real))
            .replace("@MARK@", &quoted(mark));
        let new = Self { dir, search_path };
        new.write(plugin, &script).map_err(|error| format!("cannot write it: {error}"))?;
        Ok(new)
    }

    fn write(&self, plugin: &PluginType, script: &str) -> io::Result<()> {
        for dir in ["bin", "calls", "fail", "leases"] {
            fs::create_dir(self.home().join(dir))?;
        }
        let program = self.home().join("bin").join(plugin.as_str());
        fs::write(&program, script)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
    }

    fn home(&self) -> &Path {
        self.dir.path()
    }

    /// A search path on which there is nothing.
    pub(crate) fn empty_search_path(&self) -> SearchPath {
        SearchPath::new([self.home().join("leases")])
    }

    /// Lets it answer in a version from now on.
    pub(crate) fn answer_in(&self, version: CniVersion) -> io::Result<()> {
        // `%s` is the last number of the address.
        let ips = match version {
            v if v < CniVersion::V0_3_0 => r#""ip4":{"ip":"198.51.100.%s/24","gateway":"198.51.100.1"}"#,
            v if v < CniVersion::V1_0_0 => {
                r#""ips":[{"version":"4","address":"198.51.100.%s/24","gateway":"198.51.100.1"}]"#
            }
            _ => r#""ips":[{"address":"198.51.100.%s/24","gateway":"198.51.100.1"}]"#,
        };
        fs::write(self.home().join("result"), format!(r#"{{"cniVersion":"{version}",{ips}}}"#))
    }

    /// Lets it fail a command while something is done.
    pub(crate) fn failing<T>(&self, command: Command, then: impl FnOnce() -> T) -> io::Result<T> {
        let file = self.home().join("fail").join(command.as_str());
        fs::write(&file, r#"{"cniVersion":"1.0.0","code":142,"msg":"the delegate was told to fail"}"#)?;
        let done = then();
        fs::remove_file(&file)?;
        Ok(done)
    }

    /// The calls since this was asked last, in the order in which they began.
    pub(crate) fn take_calls(&self) -> io::Result<Vec<DelegateCall>> {
        let mut dirs: Vec<(u64, _)> = fs::read_dir(self.home().join("calls"))?
            .map(|entry| {
                let path = entry?.path();
                let number = path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0);
                Ok((number, path))
            })
            .collect::<io::Result<_>>()?;
        dirs.sort();
        let mut calls = Vec::with_capacity(dirs.len());
        for (_, dir) in dirs {
            let environment = environment(&read(&dir.join("environ"))?);
            let command = environment.iter().find(|(name, _)| name == cni_types::env::COMMAND);
            let command = command.map(|(_, value)| value.clone()).unwrap_or_default();
            // Only an answer of its own to ADD, or one of a real plugin, is kept.
            let stdout = read(&dir.join("stdout")).unwrap_or_default();
            calls.push(DelegateCall { command, environment, stdin: read(&dir.join("stdin"))?, stdout });
            fs::remove_dir_all(dir)?;
        }
        Ok(calls)
    }
}

impl DelegateCall {
    /// The configuration that it was given.
    pub(crate) fn config(&self) -> Option<Value> {
        serde_json::from_slice(&self.stdin).ok()
    }

    /// The result that it printed.
    pub(crate) fn result(&self) -> Option<Value> {
        serde_json::from_slice(&self.stdout).ok()
    }
}

/// What the script has written down, which is what a plugin gave to it, and may be anything.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("what the delegate was given is larger than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// What stands in `/proc/PID/environ`.
fn environment(bytes: &[u8]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let variables = bytes.split(|byte| *byte == 0).filter(|variable| !variable.is_empty());
    variables
        .map(|variable| match variable.iter().position(|byte| *byte == b'=') {
            Some(at) => (text(&variable[..at]), text(&variable[at + 1..])),
            None => (text(variable), String::new()),
        })
        .collect()
}

/// Text as a word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_is_read_of_what_a_delegate_was_given() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("stdin");
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(
            read(&path).unwrap_err().to_string(),
            "what the delegate was given is larger than 67108864 bytes"
        );
        fs::write(&path, "{}").unwrap();
        assert_eq!(read(&path).unwrap(), b"{}");
    }
}
