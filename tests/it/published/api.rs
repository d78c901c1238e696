//! The API of each published library, as `tests/public-api` has it: a change shows in the diff of a file, and only a change
//! that was meant passes.

use std::collections::{BTreeSet, HashSet};

use public_api::{Builder, PublicItem};

use super::root;
use super::rustdoc::documented;

/// Traits of which a user knows nothing, or that nearly every type has; `Send` and `Sync` are told.
const UNTOLD: [&str; 6] = [
    "core::marker::Freeze",
    "core::marker::StructuralPartialEq",
    "core::marker::Unpin",
    "core::marker::UnsafeUnpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

/// Names that need no path to be understood.
const PRELUDE: [(&str, &str); 9] = [
    ("alloc::boxed::Box<", "Box<"),
    ("alloc::string::String", "String"),
    ("alloc::vec::Vec<", "Vec<"),
    ("core::convert::AsRef<", "AsRef<"),
    ("core::convert::Into<", "Into<"),
    ("core::iter::traits::collect::IntoIterator", "IntoIterator"),
    ("core::iter::traits::iterator::Iterator", "Iterator"),
    ("core::option::Option<", "Option<"),
    ("core::result::Result<", "Result<"),
];

#[test]
fn apis_change_only_where_it_is_meant() {
    let Some(documented) = documented() else { return };
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/public-api"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, json) in documented {
            insta::assert_snapshot!(name.as_str(), api(json));
        }
    });
}

#[test]
fn there_is_a_file_for_each_library_and_no_other() {
    let Some(documented) = documented() else { return };
    let files = std::fs::read_dir(root().join("tests/public-api")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let told: BTreeSet<String> =
        names.filter_map(|name| name.strip_suffix(".snap").map(str::to_owned)).collect();
    let expected: BTreeSet<String> = documented.keys().cloned().collect();
    assert_eq!(told, expected);
}

/// One item a line. What a type implements is one line, without what the traits say anyway.
fn api(json: &std::path::Path) -> String {
    let api = Builder::from_rustdoc_json(json).omit_blanket_impls(true).build().unwrap();
    let texts: Vec<(&PublicItem, String)> = api.items().map(|item| (item, short(item))).collect();
    let implementations: HashSet<_> = texts
        .iter()
        .filter(|(_, text)| text.starts_with("impl") && text.contains(" for "))
        .map(|(item, _)| item.id())
        .collect();
    let of_a_trait =
        |item: &PublicItem| item.parent_id().is_some_and(|parent| implementations.contains(&parent));
    let mut lines: Vec<String> = Vec::new();
    let mut traits: Vec<(&str, Vec<&str>)> = Vec::new();
    for (item, text) in &texts {
        // The guide is there for documentation alone.
        if of_a_trait(item) && !text.starts_with("pub type") || text.contains("::guide") {
            continue;
        }
        let Some((name, of)) = implementation(text) else {
            flush(&mut traits, &mut lines);
            lines.push(text.clone());
            continue;
        };
        if UNTOLD.contains(&name.trim_start_matches('!')) {
            continue;
        }
        match text.strip_prefix("impl ").map(|_| traits.iter_mut().find(|(same, _)| *same == of)) {
            Some(Some((_, names))) => names.push(last(name)),
            Some(None) => traits.push((of, vec![last(name)])),
            None => {
                flush(&mut traits, &mut lines);
                lines.push(text.clone());
            }
        }
    }
    flush(&mut traits, &mut lines);
    lines.join("\n")
}

/// Of `impl<…> Trait for Type` the trait and the type.
fn implementation(text: &str) -> Option<(&str, &str)> {
    let (head, of) = text.strip_prefix("impl")?.split_once(" for ")?;
    let name =
        if head.starts_with('<') { head.rsplit_once("> ").map_or(head, |(_, name)| name) } else { head };
    Some((name.trim_start(), of))
}

fn flush(traits: &mut Vec<(&str, Vec<&str>)>, lines: &mut Vec<String>) {
    lines.extend(traits.drain(..).map(|(of, names)| format!("impl {} for {of}", names.join(", "))));
}

fn short(item: &PublicItem) -> String {
    PRELUDE.iter().fold(item.to_string(), |text, (path, name)| text.replace(path, name))
}

/// The name of a trait of the standard library without its path.
fn last(path: &str) -> &str {
    let standard = ["core::", "std::", "alloc::"].iter().any(|library| path.starts_with(library));
    if standard && !path.contains('<') { path.rsplit("::").next().unwrap_or(path) } else { path }
}
