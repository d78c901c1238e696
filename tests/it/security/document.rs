//! `SECURITY.md` names a test for each of its lines, and each of them is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every `fn name(` of the workspace's Rust files that is a test.
fn tests(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            tests(&path, found);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim_start) {
                if let Some(rest) = line.strip_prefix("fn ") {
                    let name = rest.split('(').next().unwrap();
                    if is_test {
                        found.insert(name.to_owned());
                    }
                    is_test = false;
                } else if line == "#[test]" {
                    is_test = true;
                }
            }
        }
    }
}

#[test]
fn every_test_that_is_named_exists_and_every_line_names_one() {
    let mut found = BTreeSet::new();
    tests(&root(), &mut found);
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let mut rows = 0;
    // The last column of a row is what proves it.
    for row in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let proof = row.trim_end_matches('|').rsplit('|').next().unwrap();
        if ["shown by", "why"].contains(&proof.trim()) {
            continue;
        }
        let named: Vec<_> = proof.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test is named: {row}");
        for name in named {
            assert!(found.contains(name), "there is no test `{name}`: {row}");
        }
        rows += 1;
    }
    assert!(rows > 20, "{rows} rows");
}
