//! Each feature builds without the others, and without a warning.

use std::path::Path;
use std::process::Command;

#[test]
fn each_feature_builds_alone() {
    // That of the tests: what all features have in common is there already, more often than not.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    for feature in ["", "derive", "schema", "tokio", "tracing"] {
        let built = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--locked", "--no-default-features", "--features", feature])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "--target-dir"])
            .arg(target)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success() && said.is_empty(), "{feature:?}: {said}");
    }
}
