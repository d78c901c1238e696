//! Whose types are in the APIs: a new major version of such a crate would be one of ours.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::rustdoc::{documented, read};

/// Each foreign type that may be in an API, the crates in whose, and why.
const ALLOWED: [(&str, &[&str], &str); 11] = [
    ("schemars", &["cni-skel"], "feature `schema`: authors derive with the very version that is used"),
    ("schemars::JsonSchema", &["cni-skel"], "feature `schema`: what configurations implement"),
    ("serde_core::de::Deserialize", &["cni-types"], "what is read as JSON"),
    ("serde_core::de::DeserializeOwned", &["cni-skel", "cni-types"], "an author's configuration and keys"),
    ("serde_core::de::Deserializer", &["cni-types"], "in what `Deserialize` demands"),
    ("serde_core::de::Error", &["cni-types"], "in what `cni-skel` reads with, which is hidden"),
    (
        "serde_core::ser::Serialize",
        &["cni-conformance", "cni-invoke", "cni-skel", "cni-types", "libcni"],
        "what is written as JSON, or given for it",
    ),
    ("serde_core::ser::Serializer", &["cni-conformance", "cni-types"], "in what `Serialize` demands"),
    (
        "serde_json::error::Error",
        &["cni-types", "libcni"],
        "that a value of the caller's cannot be written or read as JSON",
    ),
    ("serde_json::raw::RawValue", &["cni-types"], "in what `cni-skel` reads with, which is hidden"),
    (
        "serde_json::value::Value",
        &["cni-conformance", "cni-invoke", "cni-skel", "cni-types"],
        "JSON of any shape: configurations and replies of tests, schemas",
    ),
];
/// No promise of theirs is shorter than ours.
const STANDARD: [&str; 4] = ["alloc", "core", "proc_macro", "std"];

#[test]
fn apis_have_no_foreign_types_but_these() {
    let Some(documented) = documented() else { return };
    let own: BTreeSet<String> = documented.keys().map(|name| name.replace('-', "_")).collect();
    let allowed = |(path, names, _): &(&'static str, &'static [&'static str], _)| {
        names.iter().map(move |name| (*name, *path)).collect::<Vec<_>>()
    };
    let allowed: BTreeSet<(&str, &str)> = ALLOWED.iter().flat_map(allowed).collect();
    let mut seen = BTreeSet::new();
    for (name, json) in documented {
        for (path, item) in foreign(&read(json), &own) {
            seen.insert((name.clone(), path.clone()));
            assert!(
                allowed.contains(&(name.as_str(), path.as_str())),
                "{path} is in the API of {name}, at {item}: it has to be in `ALLOWED` with a reason, or go"
            );
        }
    }
    let unused =
        allowed.iter().filter(|(name, path)| !seen.contains(&((*name).to_owned(), (*path).to_owned())));
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "no longer in the API");
}

/// The foreign types in public items, each with an item that has it.
fn foreign(krate: &Value, own: &BTreeSet<String>) -> BTreeMap<String, String> {
    let index = krate["index"].as_object().unwrap();
    // What traits say of every type (`impl<T> From<T> for T`) is not ours.
    let blanket = |item: &&Value| {
        let implementation = &item["inner"]["impl"];
        implementation["is_synthetic"] == true || implementation["blanket_impl"].is_object()
    };
    let mut skipped: BTreeSet<String> = BTreeSet::new();
    for item in index.values().filter(blanket) {
        skipped.insert(item["id"].to_string());
        skipped.extend(item["inner"]["impl"]["items"].as_array().into_iter().flatten().map(Value::to_string));
    }
    let mut found = BTreeMap::new();
    for (id, item) in index.iter().filter(|(id, item)| item["crate_id"] == 0 && !skipped.contains(*id)) {
        let mut ids = Vec::new();
        mentioned(&item["inner"], &mut ids);
        for mention in ids {
            let Some(summary) = krate["paths"].get(&mention) else { continue };
            let library = &krate["external_crates"][summary["crate_id"].to_string()]["name"];
            let Some(library) = library.as_str() else { continue }; // this crate
            if !STANDARD.contains(&library) && !own.contains(library) {
                let path = summary["path"].as_array().unwrap().iter().map(|part| part.as_str().unwrap());
                let path = path.collect::<Vec<_>>().join("::");
                found.entry(path).or_insert_with(|| whereabouts(id, item));
            }
        }
    }
    found
}

/// The IDs of types, traits and modules that an item names: everything that has a path and an ID.
fn mentioned(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            // A re-export has a source instead.
            if map.contains_key("path") || map.contains_key("source") {
                ids.extend(map.get("id").map(Value::to_string));
            }
            map.values().for_each(|value| mentioned(value, ids));
        }
        Value::Array(values) => values.iter().for_each(|value| mentioned(value, ids)),
        _ => {}
    }
}

fn whereabouts(id: &str, item: &Value) -> String {
    let name = item["name"].as_str().map_or_else(|| format!("item {id}"), |name| format!("{name:?}"));
    match (&item["span"]["filename"], &item["span"]["begin"][0]) {
        (Value::String(file), line) => format!("{name} ({file}:{line})"),
        _ => name,
    }
}
