//! No shell interprets anything: what is run is a program with its arguments, and few files run any.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files that run programs, all by name or path and a list of arguments.
const RUNNERS: [(&str, &str); 4] = [
    ("cni-invoke/src/process", "plugins, found in the search path"),
    ("examples/support/src/firewall", "iptables and nft, rules on stdin"),
    ("demo/src", "unshare, mount and ip, in the demo"),
    ("cni-skel/examples/misbehaving.rs", "echo, to show that a child cannot reach stdout"),
];

/// The Rust files that go into programs: no tests, and no code after `mod tests`.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["tests", "testing", "target", "fuzz", "benches"].contains(&name) && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && !["tests.rs", "testing.rs"].contains(&name) {
            found.push(path);
        }
    }
}

#[test]
fn no_shell_is_run_anywhere_and_few_files_run_programs() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    assert!(files.len() > 100, "{}", files.len());
    let mut runners = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let program = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let relative = file.strip_prefix(root()).unwrap().display().to_string();
        let is_runner = RUNNERS.iter().any(|(path, _)| relative.starts_with(path));
        for line in program.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for shell in ["\"sh\"", "\"bash\"", "/bin/sh", "/bin/bash", "sh -c", "\"-c\"", "fn system("] {
                assert!(!line.contains(shell), "{relative}: {line}");
            }
            // clap's describes a command line.
            if line.replace("clap::Command::new(", "").contains("Command::new(") {
                assert!(is_runner, "{relative} runs programs: {line}");
                runners += 1;
            }
        }
    }
    assert!(runners > 0);
}
