//! What the project is built from: the rules of `deny.toml`, without the network and without `cargo-deny`, which takes
//! longer to build than everything else here. Only it can tell known vulnerabilities.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{metadata, root};

/// Every package that is built here, for whatever feature or test.
fn packages() -> Vec<Value> {
    let mut metadata = metadata(&["--all-features", "--filter-platform", "x86_64-unknown-linux-gnu"]);
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<String> = nodes.iter().map(|node| text(&node["id"])).collect();
    let Value::Array(mut packages) = metadata["packages"].take() else {
        panic!("cargo tells of no packages")
    };
    packages.retain(|package| used.contains(&text(&package["id"])));
    assert!(packages.len() > 50, "{}", packages.len());
    packages
}

fn rules() -> toml::Table {
    std::fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn texts(value: &toml::Value) -> BTreeSet<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn licences_are_among_those_allowed() {
    let allowed = texts(&rules()["licenses"]["allow"]);
    for package in packages() {
        let (name, license) = (text(&package["name"]), &package["license"]);
        let license = license.as_str().unwrap_or_else(|| panic!("{name} says no licence"));
        assert!(may_be_used(license, &allowed), "{name} is under {license}");
    }
}

#[test]
fn sources_are_the_registry_and_this_repository() {
    let registries = texts(&rules()["sources"]["allow-registry"]);
    for package in packages() {
        let Some(source) = package["source"].as_str() else {
            let manifest = text(&package["manifest_path"]);
            assert!(manifest.starts_with(root().to_str().unwrap()), "{manifest} is elsewhere");
            continue;
        };
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        assert!(registries.contains(registry), "{} is from {source}", package["name"]);
    }
}

#[test]
fn no_package_is_there_twice_but_these() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions.entry(text(&package["name"])).or_default().insert(text(&package["version"]));
    }
    for skipped in rules()["bans"]["skip"].as_array().unwrap() {
        let (name, version) = skipped["crate"].as_str().unwrap().split_once('@').unwrap();
        let known = versions.get_mut(name).is_some_and(|versions| versions.remove(version));
        assert!(known, "{name} {version} is no longer there: take it out of deny.toml");
        assert!(!versions[name].is_empty(), "{name} {version} is the only one");
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(versions.is_empty(), "{versions:?}");
}

/// What packages say of themselves; of the workspace's own code, clippy's `incompatible_msrv` sees to it.
#[test]
fn dependencies_build_with_the_oldest_rust_that_is_promised() {
    let packages = packages();
    let parsed = |version: &str| {
        let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
        (parts[0], parts[1])
    };
    let ours = packages.iter().find(|package| package["name"] == "cni-types").unwrap();
    let promised = parsed(ours["rust_version"].as_str().unwrap());
    for package in &packages {
        let needed = package["rust_version"].as_str().map_or((0, 0), parsed);
        assert!(needed <= promised, "{} needs Rust {needed:?}", package["name"]);
    }
}

/// Whether an SPDX expression can be met by the licences allowed: OR of ANDs, with parentheses; `/` is an old OR.
fn may_be_used(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any(&mut words, allowed);
    assert!(words.next().is_none(), "cannot read the licence {expression}");
    met
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut met = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allowed);
    }
    met
}

fn all(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        let met = any(words, allowed);
        assert_eq!(words.next(), Some(")"));
        return met;
    }
    // An exception makes another licence of it.
    match words.next_if_eq(&"WITH") {
        Some(_) => allowed.contains(&format!("{word} WITH {}", words.next().unwrap_or_default())),
        None => allowed.contains(word),
    }
}

#[test]
fn licence_expressions_are_read_as_spdx_does() {
    let allowed: BTreeSet<String> = ["MIT", "Apache-2.0"].map(str::to_owned).into();
    for good in
        ["MIT", "GPL-2.0 OR MIT", "MIT/GPL-2.0", "(GPL-2.0 OR MIT) AND Apache-2.0", "GPL-2.0 AND X OR MIT"]
    {
        assert!(may_be_used(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-2.0", "MIT AND GPL-2.0", "(MIT OR GPL-2.0) AND GPL-2.0", "MIT WITH Some-exception"] {
        assert!(!may_be_used(bad, &allowed), "{bad}");
    }
}
