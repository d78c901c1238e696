//! What is published: which crates, with which API, made of whose types, and what an author reads of them first.
//!
//! What a package contains is seen by `.ci/run`, which builds each from its own files.

mod api;
mod dependencies;
mod foreign;
mod manifest;
mod rustdoc;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// What cargo says of the workspace, and with `arguments` of what it depends on.
fn metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A crate that is published.
struct Published {
    name: String,
    /// Its manifest, as cargo reads it.
    package: Value,
}

impl Published {
    fn all() -> Vec<Self> {
        let metadata = metadata(&["--no-deps"]);
        let packages = metadata["packages"].as_array().unwrap().iter();
        // Without `publish` it is null, with `publish = false` an empty list.
        let published = packages.filter(|package| package["publish"].is_null());
        let name = |package: &Value| package["name"].as_str().unwrap().to_owned();
        published.map(|package| Self { name: name(package), package: package.clone() }).collect()
    }

    fn dir(&self) -> &Path {
        Path::new(self.package["manifest_path"].as_str().unwrap()).parent().unwrap()
    }

    /// The name in code and the root file of the library, if it has one.
    fn library(&self) -> Option<(&str, &Path)> {
        let mut targets = self.package["targets"].as_array().unwrap().iter();
        let is_library = |target: &&Value| {
            target["kind"].as_array().unwrap().iter().any(|kind| kind == "lib" || kind == "proc-macro")
        };
        let found = targets.find(is_library)?;
        Some((found["name"].as_str().unwrap(), Path::new(found["src_path"].as_str().unwrap())))
    }
}

#[test]
fn these_crates_are_published() {
    let mut names: Vec<String> = Published::all().into_iter().map(|published| published.name).collect();
    names.sort();
    let expected =
        ["cni-conformance", "cni-invoke", "cni-skel", "cni-skel-derive", "cni-types", "cnitool", "libcni"];
    assert_eq!(names, expected, "another package needs `publish = false`");
}
