//! A plugin that is asked what it is, by a person or a tool.

use std::process::{Command, Stdio};

use cni_skel::types::{self, Handling, PluginDescription};
use serde_json::Value;

use crate::process::{answer, command, config, example, text};

/// Asks by hand, with a stdin that stays open and silent.
fn ask(argument: &str) -> (Option<i32>, String, String) {
    let mut by_hand = Command::new(example("misbehaving"));
    by_hand.env_clear().arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = by_hand.spawn().unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_plugin_describes_itself() {
    let (exit, stdout, stderr) = ask(types::DESCRIBE);
    assert_eq!((exit, stderr.as_str()), (Some(0), ""));
    let description = PluginDescription::decode(stdout.as_bytes()).unwrap();
    assert_eq!(description.name, "misbehaving");
    assert_eq!(description.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(description.arguments, ["DO"]);
    assert_eq!(description.supported_versions.len(), 7);
    assert_eq!(description.handling(types::Command::Del), Handling::Handled);
    assert_eq!(description.handling(types::Command::Status), Handling::NoOp);
}

#[test]
fn a_person_gets_text_on_stdout() {
    let (exit, stdout, stderr) = ask("--version");
    assert_eq!((exit, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout, concat!("misbehaving ", env!("CARGO_PKG_VERSION"), "\n"));
    let (exit, stdout, stderr) = ask("--help");
    assert_eq!((exit, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("does what a plugin should not") && stdout.contains("--describe"), "{stdout}");
}

#[test]
fn a_runtime_sees_no_difference() {
    for argument in ["--describe", "--help", "--version"] {
        let mut add = command(&example("misbehaving"), "nothing");
        let output = answer(add.arg(argument).spawn().unwrap(), &config());
        assert_eq!(output.status.code(), Some(0), "{argument}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result, serde_json::json!({"cniVersion": "1.0.0"}), "{argument}");
    }
}
