//! The calls by hand that the guide shows, made as it shows them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

const GUIDE: &str = include_str!("../../../docs/guide/first-plugin.md");

/// The commands of the guide's console blocks on the built plugin, each with what it prints.
fn calls() -> Vec<(String, String)> {
    let by_hand = GUIDE.split("\n## ").find(|section| section.starts_with("Call it by hand")).unwrap();
    let mut calls: Vec<(String, String)> = Vec::new();
    for block in by_hand.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                calls.push((command.to_owned(), String::new()));
            } else if let Some(rest) = line.strip_prefix("> ") {
                calls.last_mut().unwrap().0 += &format!("\n{rest}");
            } else {
                calls.last_mut().unwrap().1 += &format!("{line}\n");
            }
        }
    }
    calls
}

#[test]
fn c99_calls_by_hand_answer_as_the_guide_says() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("by-hand-{}", std::process::id()));
    fs::create_dir_all(dir.join("target/debug")).unwrap();
    symlink(env!("CARGO_BIN_EXE_hello"), dir.join("target/debug/hello")).unwrap();
    let calls = calls();
    assert!(calls.iter().filter(|(_, printed)| !printed.is_empty()).count() >= 4, "{calls:?}");
    for (command, expected) in calls.iter().filter(|(command, _)| command != "cargo build") {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(&dir);
        let output = shell.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        // As `cargo new` starts to count.
        let printed = printed.replace(concat!("hello ", env!("CARGO_PKG_VERSION"), ":"), "hello 0.1.0:");
        assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
    }
    fs::remove_dir_all(dir).unwrap();
}
