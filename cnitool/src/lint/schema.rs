//! The part of JSON Schema that tells which keys there are and what they may be, and of that only what is certain.
//!
//! Schemas come from plugins, so they may be anything: what is not understood allows everything, and work is bounded.

use std::cell::Cell;

use serde_json::{Map, Value as Json};

use super::document::{Kind, Node};

/// How many schemas are looked at for one plugin in one place of the configuration.
const WORK: usize = 20_000;
/// How deep references and alternatives are followed.
const DEPTH: usize = 16;
/// How much of a value is shown.
const SHOWN: usize = 40;

/// The keys under which a schema says more about an object's keys than is understood here.
const OPEN: [&str; 7] =
    ["dependentSchemas", "else", "if", "patternProperties", "propertyNames", "then", "unevaluatedProperties"];

/// A schema, with what it may refer to.
#[derive(Debug)]
pub(crate) struct Schema<'s> {
    root: &'s Json,
    left: Cell<usize>,
}

/// One way in which a value fits: the schema without its alternatives; `None` if anything goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'s>(Option<&'s Map<String, Json>>);

/// Why a value does not fit: the words for what was expected, and whether it is at least of the right type.
#[derive(Debug)]
pub(super) struct Misfit {
    pub(super) expected: Vec<String>,
    pub(super) right_type: bool,
}

impl<'s> Schema<'s> {
    pub(super) fn new(root: &'s Json) -> Self {
        Self { root, left: Cell::new(WORK) }
    }

    pub(super) fn root(&self) -> &'s Json {
        self.root
    }

    /// The ways in which a value fits a schema.
    pub(super) fn fit(&self, schema: &'s Json, node: Node<'_>) -> Result<Vec<View<'s>>, Misfit> {
        self.fit_within(schema, Some(node), DEPTH)
    }

    /// All that a schema says of values of any kind.
    pub(super) fn views(&self, schema: &'s Json) -> Vec<View<'s>> {
        self.fit_within(schema, None, DEPTH).unwrap_or_default()
    }

    fn fit_within(
        &self,
        schema: &'s Json,
        node: Option<Node<'_>>,
        depth: usize,
    ) -> Result<Vec<View<'s>>, Misfit> {
        let left = self.left.get();
        let (Json::Object(map), 1.., 1..) = (schema, depth, left) else { return Ok(vec![View(None)]) };
        self.left.set(left - 1);
        if let Some(node) = node {
            fits(map, node)?;
        }
        let mut views = Vec::new();
        if let Some(to) = map.get("$ref") {
            match to.as_str().and_then(|to| self.root.pointer(to.strip_prefix('#')?)) {
                Some(schema) => views.extend(self.fit_within(schema, node, depth - 1)?),
                None => views.push(View(None)),
            }
        }
        for schema in list(map, "allOf") {
            views.extend(self.fit_within(schema, node, depth - 1)?);
        }
        for alternatives in ["anyOf", "oneOf"] {
            let mut misfits = Vec::new();
            let mut fit_any = false;
            for schema in list(map, alternatives) {
                match self.fit_within(schema, node, depth - 1) {
                    Ok(more) => {
                        fit_any = true;
                        views.extend(more);
                    }
                    Err(misfit) => misfits.push(misfit),
                }
            }
            if !fit_any && !misfits.is_empty() {
                return Err(Misfit::any(misfits));
            }
        }
        if views.is_empty() || map.contains_key("properties") {
            views.push(View(Some(map)));
        }
        Ok(views)
    }
}

fn list<'s>(map: &'s Map<String, Json>, key: &str) -> &'s [Json] {
    map.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

impl Misfit {
    fn any(misfits: Vec<Self>) -> Self {
        let right_type = misfits.iter().any(|misfit| misfit.right_type);
        // Of several alternatives, those of the right type are meant.
        let meant = misfits.into_iter().filter(|misfit| misfit.right_type == right_type);
        let mut expected: Vec<String> = Vec::new();
        for words in meant.flat_map(|misfit| misfit.expected) {
            if !expected.contains(&words) {
                expected.push(words);
            }
        }
        Self { expected, right_type }
    }
}

impl<'s> View<'s> {
    /// Whether there may be keys that are not told.
    pub(super) fn is_open(self) -> bool {
        let Some(map) = self.0 else { return true };
        let names = map.get("properties").and_then(Json::as_object);
        let more = map.get("additionalProperties").is_some_and(|more| *more != Json::Bool(false));
        names.is_none_or(Map::is_empty) || more || OPEN.iter().any(|key| map.contains_key(*key))
    }

    /// Whether a key that is not told is an error.
    pub(super) fn is_closed(self) -> bool {
        let says_so = |map: &Map<String, Json>| map.get("additionalProperties") == Some(&Json::Bool(false));
        !self.is_open() && self.0.is_some_and(says_so)
    }

    /// The keys that are told.
    pub(super) fn properties(self) -> impl Iterator<Item = (&'s str, &'s Json)> {
        let properties = self.0.and_then(|map| map.get("properties")?.as_object());
        properties.into_iter().flatten().map(|(key, schema)| (key.as_str(), schema))
    }

    /// The schema of a key, as plugins find it: exactly, or else in another letter case.
    pub(super) fn property(self, key: &str) -> Option<&'s Json> {
        let exact = self.properties().find(|(name, _)| *name == key);
        let found = exact.or_else(|| self.properties().find(|(name, _)| name.eq_ignore_ascii_case(key)));
        found.map(|(_, schema)| schema)
    }

    /// The schema of the keys that are not told.
    pub(super) fn more(self) -> Option<&'s Json> {
        self.0?.get("additionalProperties").filter(|more| more.is_object())
    }

    /// The keys that must be there.
    pub(super) fn required(self) -> impl Iterator<Item = &'s str> {
        self.0.into_iter().flat_map(|map| list(map, "required")).filter_map(Json::as_str)
    }

    /// The schema of an element of a list.
    pub(super) fn element(self, index: usize) -> Option<&'s Json> {
        let map = self.0?;
        list(map, "prefixItems").get(index).or_else(|| map.get("items").filter(|items| items.is_object()))
    }

    /// What it is for.
    pub(super) fn description(self) -> Option<&'s str> {
        self.0?.get("description")?.as_str()
    }

    /// What may be there, in a word or two; empty if that is not told.
    pub(super) fn words(self) -> String {
        self.0.map(|map| expected(map, true)).unwrap_or_default()
    }
}

/// Whether a value is of the type and in the bounds that a schema itself names.
fn fits(map: &Map<String, Json>, node: Node<'_>) -> Result<(), Misfit> {
    let types = types(map);
    let right_type = types.is_empty() || types.iter().any(|name| is_of(node, name));
    let value = || node.value();
    let is_one_of = map.get("enum").and_then(Json::as_array).is_none_or(|list| list.contains(&value()));
    let is_it = map.get("const").is_none_or(|only| *only == value());
    let within = node.kind() != Kind::Number || is_within(map, &value());
    if right_type && is_one_of && is_it && within {
        return Ok(());
    }
    Err(Misfit { expected: vec![expected(map, false)], right_type })
}

fn types(map: &Map<String, Json>) -> Vec<&str> {
    match map.get("type") {
        Some(Json::String(name)) => vec![name],
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(node: Node<'_>, name: &str) -> bool {
    match (node.kind(), name) {
        (Kind::Boolean, "boolean")
        | (Kind::List, "array")
        | (Kind::Null, "null")
        | (Kind::Number, "number")
        | (Kind::Object, "object")
        | (Kind::Text, "string") => true,
        // A plugin may take 9000.0 for a whole number, or not: only what is surely none is told.
        (Kind::Number, "integer") => node.value().as_f64().is_none_or(|number| number.fract() == 0.0),
        (_, "boolean" | "array" | "null" | "number" | "object" | "string" | "integer") => false,
        // No type of JSON.
        _ => true,
    }
}

fn is_within(map: &Map<String, Json>, value: &Json) -> bool {
    let bound = |key: &str| map.get(key).and_then(Json::as_f64);
    let Some(number) = value.as_f64() else { return true };
    bound("minimum").is_none_or(|least| number >= least) && bound("maximum").is_none_or(|most| number <= most)
}

/// The words for what a schema wants. `null` is not worth a word: it stands for what is not there.
fn expected(map: &Map<String, Json>, brief: bool) -> String {
    let quoted = |value: &Json| clipped(&value.to_string());
    if let Some(only) = map.get("const") {
        return quoted(only);
    }
    let values: Vec<_> = list(map, "enum").iter().filter(|value| !value.is_null()).map(quoted).collect();
    if !values.is_empty() {
        return clipped_to(&values.join(if brief { ", " } else { " or " }), 3 * SHOWN);
    }
    let names = types(map);
    let named = names.iter().filter(|name| **name != "null" || names.len() == 1);
    named.map(|name| word(name, map, brief)).collect::<Vec<_>>().join(" or ")
}

fn word(name: &str, map: &Map<String, Json>, brief: bool) -> String {
    let (article, noun, range) = match name {
        "array" => ("a ", "list", String::new()),
        "boolean" => ("a ", "boolean", String::new()),
        "integer" => ("an ", "integer", range(map)),
        "null" => ("", "null", String::new()),
        "number" => ("a ", "number", range(map)),
        "object" => ("an ", "object", String::new()),
        "string" => ("a ", "string", String::new()),
        other => return clipped(other),
    };
    format!("{}{noun}{range}", if brief { "" } else { article })
}

fn range(map: &Map<String, Json>) -> String {
    let bound = |key: &str| map.get(key).filter(|bound| bound.is_number());
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least} on"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

/// A value as it is told of in a message.
pub(super) fn shown(node: Node<'_>) -> String {
    let raw = clipped(node.raw);
    match node.kind() {
        Kind::Boolean => format!("boolean {raw}"),
        Kind::List => "a list".to_owned(),
        Kind::Null => "null".to_owned(),
        Kind::Number => format!("number {raw}"),
        Kind::Object => "an object".to_owned(),
        Kind::Text => format!("string {raw}"),
    }
}

fn clipped(text: &str) -> String {
    clipped_to(text, SHOWN)
}

fn clipped_to(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lint::document::Document;

    fn misfit(schema: &Json, value: &str) -> Option<(Vec<String>, bool)> {
        let document = Document::new("f".into(), value.as_bytes().to_vec()).unwrap();
        let misfit = Schema::new(schema).fit(schema, document.root()).err()?;
        Some((misfit.expected, misfit.right_type))
    }

    fn wants(schema: &Json, value: &str) -> String {
        misfit(schema, value).map(|(expected, _)| expected.join(" | ")).unwrap_or_default()
    }

    #[test]
    fn only_what_is_certain_does_not_fit() {
        let mtu = json!({"type": ["integer", "null"], "minimum": 0, "maximum": 65535});
        for good in ["0", "65535", "1e3", "9000.0", "null"] {
            assert_eq!(wants(&mtu, good), "", "{good}");
        }
        for bad in ["-1", "65536", "1.5", "\"1\"", "true", "[]", "{}"] {
            assert_eq!(wants(&mtu, bad), "an integer from 0 to 65535", "{bad}");
        }
        assert!(misfit(&mtu, "-1").unwrap().1);
        assert!(!misfit(&mtu, "\"1\"").unwrap().1);
        let mode = json!({"type": "string", "enum": ["bridge", "vepa"]});
        assert_eq!(wants(&mode, "\"vepa\""), "");
        assert_eq!(wants(&mode, "\"Bridge\""), r#""bridge" or "vepa""#);
        assert_eq!(wants(&json!({"const": 1}), "2"), "1");
        // What is not understood allows everything.
        for schema in
            [json!(true), json!({}), json!(null), json!({"type": "text"}), json!({"format": "ipv4"})]
        {
            assert_eq!(wants(&schema, "7"), "", "{schema}");
        }
    }

    #[test]
    fn alternatives_and_references_are_followed() {
        let schema = json!({
            "anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}, {"type": "string"}],
            "$defs": {"Range": {"type": "object", "properties": {"subnet": {}}}},
        });
        assert_eq!(wants(&schema, "7"), "an object | null | a string");
        let document = Document::new("f".into(), b"{}".to_vec()).unwrap();
        let views = Schema::new(&schema);
        let views = views.fit(&schema, document.root()).unwrap();
        assert!(views.len() == 1 && views[0].property("SUBNET").is_some() && !views[0].is_open());
    }

    #[test]
    fn what_has_no_end_comes_to_one() {
        let branches = vec![json!({"$ref": "#"}); 50];
        let schema = json!({"anyOf": branches, "allOf": branches});
        assert_eq!(wants(&schema, "7"), "");
        assert_eq!(wants(&json!({"$ref": "#"}), "7"), "");
        assert_eq!(wants(&json!({"$ref": "https://example.com/x"}), "7"), "");
    }
}
