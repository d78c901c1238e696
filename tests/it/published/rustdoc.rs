//! The libraries as rustdoc tells them, as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use cni_tests::bins::target_dir;
use cni_tests::need::skip;
use serde_json::Value;

use super::{Published, root};

/// The version of the JSON that `public-api` reads. Another toolchain wants another `public-api`.
const FORMAT: u64 = 57;

/// The JSON of each published library, by the crate's name.
///
/// `None`, and the test has to be skipped, where rustdoc is not the pinned one and writes another format.
pub(crate) fn documented() -> Option<&'static BTreeMap<String, PathBuf>> {
    static DOCUMENTED: LazyLock<Result<BTreeMap<String, PathBuf>, String>> = LazyLock::new(document);
    let documented =
        DOCUMENTED.as_ref().unwrap_or_else(|errors| panic!("the documentation does not build:\n{errors}"));
    for file in documented.values() {
        let format = read(file)["format_version"].as_u64();
        if format != Some(FORMAT) {
            skip(format_args!("needs a rustdoc that writes JSON of format {FORMAT}, not {format:?}"));
            return None;
        }
    }
    Some(documented)
}

pub(crate) fn read(file: &PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn document() -> Result<BTreeMap<String, PathBuf>, String> {
    let target = target_dir().unwrap_or_else(|| root().join("target"));
    // All of the workspace, so that dependencies have the features with which clippy has them checked already.
    let output = Command::new(env!("CARGO"))
        .args(["doc", "--quiet", "--locked", "--workspace", "--all-features", "--no-deps", "--lib"])
        .arg("--target-dir")
        .arg(&target)
        // As docs.rs does it. What is wrong with the text of the documentation is seen elsewhere.
        .env("RUSTDOC", root().join("tests/public-api/rustdoc"))
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json --cap-lints=allow --cfg=docsrs")
        .current_dir(root())
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let published = Published::all();
    let libraries = published.iter().filter_map(|published| Some((published, published.library()?.0)));
    let file = |library: &str| target.join("doc").join(library).with_extension("json");
    Ok(libraries.map(|(published, library)| (published.name.clone(), file(library))).collect())
}
