//! What an author reads of a crate first: its manifest, its README, the table of its features; and that what is packaged
//! is all that it needs and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::Published;

/// What may be in a package.
const KINDS: [&str; 8] = ["json", "lock", "md", "rs", "sh", "snap", "stderr", "toml"];

/// What may be in a package, too.
const FILES: [&str; 2] = ["Cargo.toml.orig", "LICENSE"];

#[test]
fn manifests_say_what_a_registry_shows() {
    for published in Published::all() {
        let Published { name, package } = &published;
        let list = |key: &str| -> Vec<&str> {
            package[key].as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
        };
        assert!(package["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
        assert_eq!(package["license"], "Apache-2.0", "{name}");
        assert!(published.dir().join("LICENSE").is_file(), "{name}");
        assert!(!list("categories").is_empty() && list("categories").len() <= 5, "{name}");
        // The limits of crates.io
        assert!(!list("keywords").is_empty() && list("keywords").len() <= 5, "{name}");
        assert!(list("keywords").iter().all(|keyword| keyword.len() <= 20), "{name}");
        if published.library().is_some() {
            assert_eq!(package["metadata"]["docs"]["rs"]["all-features"], true, "{name}");
        }
    }
}

#[test]
fn documentation_and_readme_say_which_rust_is_needed() {
    for published in Published::all() {
        let needed = format!("Rust {} or later", published.package["rust_version"].as_str().unwrap());
        let readme = published.dir().join(published.package["readme"].as_str().unwrap_or("README.md"));
        let root = published.library().map(|(_, root)| root.to_owned());
        for file in std::iter::once(readme).chain(root) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.contains(&needed), "{} does not say {needed:?}", file.display());
        }
    }
}

/// The rows of a table of features: the name, and whether it is there by default.
fn table(text: &str) -> BTreeMap<String, bool> {
    let rows = text.lines().filter_map(|line| line.trim_start_matches("//! ").strip_prefix("| `"));
    let row = |row: &str| {
        let (name, rest) = row.split_once("` | ")?;
        match rest.split_once(" |")?.0 {
            "yes" => Some((name.to_owned(), true)),
            "no" => Some((name.to_owned(), false)),
            _ => None, // of another table
        }
    };
    rows.filter_map(row).collect()
}

#[test]
fn every_feature_is_in_the_table_of_its_crate() {
    let mut seen = 0;
    for published in Published::all() {
        let features = published.package["features"].as_object().unwrap();
        let by_default: BTreeSet<&str> = features
            .get("default")
            .into_iter()
            .flat_map(|list| list.as_array().unwrap())
            .filter_map(|name| name.as_str())
            .collect();
        let names = features.keys().filter(|name| *name != "default");
        let expected: BTreeMap<String, bool> =
            names.map(|name| (name.clone(), by_default.contains(name.as_str()))).collect();
        let Some((_, root)) = published.library() else {
            assert!(expected.is_empty(), "{} has no documentation to have a table in", published.name);
            continue;
        };
        assert_eq!(table(&std::fs::read_to_string(root).unwrap()), expected, "{}", root.display());
        let readme = table(&std::fs::read_to_string(published.dir().join("README.md")).unwrap());
        assert!(readme.is_empty() || readme == expected, "the README of {}", published.name);
        seen += expected.len();
    }
    assert!(seen > 0);
}

/// The files that cargo would package, by their paths in the package.
fn packaged(published: &Published) -> BTreeSet<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--locked", "--package", &published.name])
        .current_dir(super::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(PathBuf::from).collect()
}

#[test]
fn packages_have_all_that_they_include_and_nothing_else() {
    let mut seen = 0;
    for published in Published::all() {
        let name = &published.name;
        let files = packaged(&published);
        for needed in ["Cargo.lock", "LICENSE", "README.md"] {
            assert!(files.contains(Path::new(needed)), "{name} has no {needed}");
        }
        for file in &files {
            let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
            let stray = !KINDS.contains(&kind) && !FILES.iter().any(|known| file.ends_with(known));
            // Templates are whatever they are made into.
            assert!(
                !stray || file.starts_with("templates"),
                "{name} would be packaged with {}",
                file.display()
            );
            if kind != "rs" {
                continue;
            }
            for included in includes(&std::fs::read_to_string(published.dir().join(file)).unwrap()) {
                let path = normal(&file.parent().unwrap().join(&included));
                let there = path.as_ref().is_some_and(|path| files.contains(path));
                assert!(
                    there,
                    "{name}: {} includes {included:?}, which is not in the package",
                    file.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

/// The paths that a source file includes; those that a macro puts together are seen by the build of the package.
fn includes(source: &str) -> Vec<String> {
    let parts = ["include!(\"", "include_str!(\"", "include_bytes!(\""];
    let found = parts.iter().flat_map(|part| source.split(part).skip(1));
    found.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// The path without `..`, by its text alone; `None` if it leads out of the package.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if !normal.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            other => normal.push(other),
        }
    }
    Some(normal)
}
