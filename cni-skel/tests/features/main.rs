//! What the optional features do, seen from outside: real processes, and real builds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alone;
mod describe;
mod log;
mod native;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The example of this name, which `cargo test` has built beside the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(program.exists(), "{program:?} is missing: `--test features` alone does not build it");
    program
}

/// A call of an example.
fn command(name: &str, cni_command: &str) -> Command {
    let mut command = Command::new(example(name));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("CNI_COMMAND", cni_command);
    command.env("CNI_CONTAINERID", "c1").env("CNI_NETNS", "/some/netns").env("CNI_IFNAME", "eth0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What comes of a call with this configuration.
fn answer(command: &mut Command, config: &Value) -> Output {
    let mut child = command.spawn().unwrap();
    // A plugin that fails early need not read its stdin.
    let _ = child.stdin.take().unwrap().write_all(config.to_string().as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The one document that stdout is.
#[track_caller]
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
