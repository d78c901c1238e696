//! The keys of a configuration as a table: what a plugin's schema comes to for people.

use serde_json::Value as Json;

use super::join;
use super::schema::Schema;

/// How many keys are told.
const KEYS: usize = 200;
/// How deep they may lie.
const DEPTH: usize = 6;

/// A key of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The path to it, `[]` for an element and `*` for any key.
    pub(crate) path: String,
    /// What it may be, in a word or two; empty if that is not told.
    pub(crate) words: String,
    /// What it is for; empty if that is not told.
    pub(crate) about: String,
    pub(crate) is_required: bool,
}

/// The keys that a schema tells, each followed by those inside it.
pub(crate) fn keys_of(schema: &Json) -> Vec<Key> {
    let mut keys = Vec::new();
    let whole = Schema::new(schema);
    inside(&whole, schema, "", DEPTH, &mut keys);
    keys
}

fn inside<'s>(whole: &Schema<'s>, schema: &'s Json, path: &str, depth: usize, keys: &mut Vec<Key>) {
    if depth == 0 {
        return;
    }
    for view in whole.views(schema) {
        let required: Vec<_> = view.required().collect();
        for (name, schema) in view.properties() {
            key(whole, schema, &join(path, name), required.contains(&name), depth, keys);
        }
        if let Some(more) = view.more().filter(|more| more.as_object().is_some_and(|map| !map.is_empty())) {
            key(whole, more, &join(path, "*"), false, depth, keys);
        }
        // Elements of elements have no name of their own.
        if let Some(element) = view.element(usize::MAX) {
            inside(whole, element, &format!("{path}[]"), depth - 1, keys);
        }
    }
}

fn key<'s>(
    whole: &Schema<'s>,
    schema: &'s Json,
    path: &str,
    is_required: bool,
    depth: usize,
    keys: &mut Vec<Key>,
) {
    if keys.len() >= KEYS {
        return;
    }
    let views = whole.views(schema);
    let mut words: Vec<_> = views.iter().map(|view| view.words()).filter(|it| !it.is_empty()).collect();
    if words.len() > 1 {
        words.retain(|word| word != "null");
    }
    words.dedup();
    let own = schema.get("description").and_then(Json::as_str);
    let about = own.or_else(|| views.iter().find_map(|view| view.description())).unwrap_or_default();
    // One line of a table: what comes after the first sentence is in the JSON.
    let about = about.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    keys.push(Key { path: path.to_owned(), words: words.join(" or "), about, is_required });
    inside(whole, schema, path, depth - 1, keys);
}
