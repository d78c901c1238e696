//! Who may know whom: the arrows between the crates, and a few words that belong to one room.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates of the house, and those of it that each may depend on. Examples, tests and the demo are not listed: nothing
/// may depend on them.
const ARROWS: [(&str, &[&str]); 7] = [
    ("cni-types", &[]),
    ("cni-invoke", &["cni-types"]),
    ("cni-conformance", &["cni-types", "cni-invoke"]),
    ("cni-skel", &["cni-types", "cni-invoke", "cni-conformance", "cni-skel-derive"]),
    ("cni-skel-derive", &[]),
    ("libcni", &["cni-types", "cni-invoke"]),
    ("cnitool", &["libcni", "cni-conformance"]),
];

/// Texts that may stand only in the named files of a crate's `src`, and why.
const ROOMS: [(&str, &str, &[&str]); 9] = [
    // cni-types does no I/O.
    ("cni-types", "std::fs", &[]),
    ("cni-types", "std::env", &[]),
    ("cni-types", "std::process", &[]),
    // Only the real call reads the process's environment.
    ("cni-skel", "std::env", &["call.rs"]),
    // The runtime's side speaks to plugins through one trait.
    ("libcni", "process::Command", &[]),
    ("cni-skel", "process::Command", &[]),
    // What the command line says is in one room, and what it is told by the environment in another.
    ("cnitool", "std::env", &["env.rs"]),
    ("cnitool", "io::stdout", &["output/mod.rs"]),
    ("cnitool", "io::stderr", &["output/mod.rs"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A package: its normal dependencies that are in the workspace, and where it lies.
struct Package {
    knows: Vec<String>,
    dir: PathBuf,
}

fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let members: Vec<String> = packages.iter().map(name).collect();
    let normal = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let normal = dependencies.filter(|dependency| dependency["kind"].is_null()).map(name);
        normal.filter(|dependency| members.contains(dependency)).collect()
    };
    let dir =
        |package: &Value| Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
    let package = |package: &Value| Package { knows: normal(package), dir: dir(package) };
    packages.iter().map(|found| (name(found), package(found))).collect()
}

#[test]
fn arrows_run_one_way() {
    let packages = packages();
    for (name, allowed) in ARROWS {
        for dependency in &packages[name].knows {
            assert!(allowed.contains(&dependency.as_str()), "{name} must not know {dependency}");
        }
    }
}

#[test]
fn plugins_know_the_facade_and_not_the_words_behind_it() {
    let packages = packages();
    for (name, package) in
        packages.iter().filter(|(_, package)| package.dir.parent() == Some(&root().join("examples")))
    {
        for dependency in ["cni-types", "cni-invoke", "libcni"] {
            assert!(
                !package.knows.iter().any(|known| known == dependency),
                "{name} must not know {dependency}"
            );
        }
    }
    assert!(packages["plugin-support"].knows.is_empty(), "what plugins share knows no CNI type");
}

#[test]
fn each_thing_has_its_room() {
    for (name, text, rooms) in ROOMS {
        for file in sources(&root().join(name).join("src")) {
            let source = std::fs::read_to_string(&file).unwrap();
            // Documentation may show what code may not do.
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            let found = code.filter(|line| line.contains(text)).count();
            let allowed = rooms.iter().any(|room| file.ends_with(room)) || file.ends_with("tests.rs");
            assert!(found == 0 || allowed, "{file:?} has {text:?}, which belongs elsewhere");
        }
    }
}

/// `forbid`, unlike `deny`, can be allowed nowhere below, and a package without the workspace's lints would be outside.
#[test]
fn no_package_may_have_unsafe_code() {
    let manifest = |dir: &Path| -> toml::Table {
        std::fs::read_to_string(dir.join("Cargo.toml")).unwrap().parse().unwrap()
    };
    let workspace = manifest(&root());
    assert_eq!(workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    let packages = packages();
    assert!(packages.len() > 10);
    for (name, package) in packages {
        let manifest = manifest(&package.dir);
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        assert_eq!(
            lints.and_then(toml::Value::as_bool),
            Some(true),
            "{name} leaves out the workspace's lints"
        );
        let script = package.dir.join("build.rs");
        assert!(!script.exists(), "{name} would run code when it is built");
    }
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
