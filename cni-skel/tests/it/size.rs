//! What a plugin pays for the SDK in crates to build.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn a_plugin_builds_at_most_25_crates() {
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
    let crates: BTreeSet<_> = tree.lines().filter(|line| !line.is_empty()).collect();
    // The plugin itself is one more.
    assert!(crates.len() < 25, "{} crates: {crates:#?}", crates.len());
}
