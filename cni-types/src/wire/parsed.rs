//! Values that are text of a certain form.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Reads text as a value of another type.
///
/// The text is parsed while it is visited, so that an error is where the text is, and not where its object ends.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T, F: fmt::Display>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, F>,
) -> Result<T, D::Error> {
    struct TextVisitor<P>(P);

    impl<T, F: fmt::Display, P: Fn(&str) -> Result<T, F>> Visitor<'_> for TextVisitor<P> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_str(TextVisitor(parse))
}
