//! Finds the JSON Schema of a configuration type that has one, and nothing for one that has none.
//!
//! The derive writes `Schema::<Config>::new().find()` for every plugin, whatever its type can do. Where the type
//! implements `schemars::JsonSchema` (and the feature `schema` is on), that is the method here that has the bound; anywhere
//! else the compiler goes on through `Deref` to the one that finds nothing.

use std::marker::PhantomData;
use std::ops::Deref;

pub use serde_json::Value as Json;

/// The question for the schema of a type.
#[derive(Debug)]
pub struct Schema<T>(PhantomData<T>);

/// The answer for a type that has none.
#[derive(Debug)]
pub struct NoSchema;

impl<T> Schema<T> {
    /// The question.
    #[allow(clippy::new_without_default, reason = "only the derive asks")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Deref for Schema<T> {
    type Target = NoSchema;

    fn deref(&self) -> &NoSchema {
        &NoSchema
    }
}

impl NoSchema {
    /// No schema.
    pub const fn find(&self) -> Option<Json> {
        None
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Schema<T> {
    /// The schema of what the type reads.
    pub fn find(&self) -> Option<Json> {
        let generator = schemars::generate::SchemaSettings::draft2020_12().for_deserialize().into_generator();
        let mut schema = generator.into_root_schema_for::<T>();
        // `()` and unit structs read nothing, of what is an object all the same.
        if schema.get("type").is_some_and(|ty| ty == "null") {
            schema.insert("type".to_owned(), "object".into());
            schema.insert("properties".to_owned(), Json::Object(serde_json::Map::new()));
        }
        Some(schema.to_value())
    }
}

#[cfg(test)]
mod tests {
    use super::Schema;

    struct Mute;

    #[test]
    fn a_type_without_a_schema_has_none() {
        assert_eq!(Schema::<Mute>::new().find(), None);
    }

    #[cfg(feature = "schema")]
    #[test]
    fn a_type_with_a_schema_has_it() {
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code, reason = "only its schema is looked at")]
        struct Config {
            /// The bridge's name.
            bridge: String,
        }
        let schema = Schema::<Config>::new().find().unwrap();
        assert_eq!(schema["properties"]["bridge"]["type"], "string");
        assert_eq!(schema["properties"]["bridge"]["description"], "The bridge's name.");
        assert_eq!(schema["required"][0], "bridge");
    }

    #[cfg(feature = "schema")]
    #[test]
    fn no_keys_is_an_object_without_keys() {
        let schema = Schema::<()>::new().find().unwrap();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"], serde_json::json!({}));
    }
}
