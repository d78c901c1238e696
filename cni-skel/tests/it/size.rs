//! What a plugin pays for the SDK in crates to build.

use std::collections::BTreeSet;
use std::process::Command;

/// What a plugin builds besides itself, with the default features.
fn crates() -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--no-dedupe",
            "--format",
            "{p}",
        ])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    tree.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_plugin_builds_at_most_25_crates() {
    let crates = crates();
    // The plugin itself is one more.
    assert!(crates.len() < 25, "{} crates: {crates:#?}", crates.len());
}

#[test]
fn features_that_are_off_cost_no_crate() {
    let crates = crates();
    for optional in ["schemars", "tokio", "tracing"] {
        assert!(!crates.iter().any(|name| name.starts_with(optional)), "{optional}: {crates:#?}");
    }
}
