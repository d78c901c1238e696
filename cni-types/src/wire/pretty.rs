//! Indented JSON.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// A comma, a new line, and as many spaces as a line of a result begins with.
const LINE: &[u8; 66] = b",\n                                                                ";
const INDENT: usize = 4;

/// Four spaces a level, as serde_json's own `PrettyFormatter` prints with that indent, but each start of a line in one piece:
/// it is more than a tenth of printing a result.
#[derive(Default)]
pub(super) struct Pretty {
    level: usize,
    /// Whether the innermost list or object holds anything so far.
    holds: bool,
}

impl Pretty {
    fn begin<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.holds = false;
        writer.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.holds {
            self.line(writer, true)?;
        }
        self.holds = true;
        writer.write_all(bracket)
    }

    /// Begins a line; but for the first entry and the closing bracket, a comma ends the one before.
    fn line<W: Write + ?Sized>(&self, writer: &mut W, no_comma: bool) -> io::Result<()> {
        let (start, mut spaces) = (usize::from(no_comma), self.level * INDENT);
        let piece = spaces.min(LINE.len() - 2);
        writer.write_all(&LINE[start..2 + piece])?;
        while spaces > piece {
            spaces -= INDENT;
            writer.write_all(&LINE[2..2 + INDENT])?;
        }
        Ok(())
    }
}

impl Formatter for Pretty {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.line(writer, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.holds = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.line(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.holds = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{hash_map, vec};
    use proptest::prelude::*;
    use serde::Serialize as _;
    use serde_json::ser::PrettyFormatter;
    use serde_json::{Serializer, Value, json};

    use super::*;

    fn printed(value: &Value, formatter: impl Formatter) -> String {
        let mut text = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut text, formatter)).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 32, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                hash_map(".*", inner, 0..4).prop_map(|entries| entries.into_iter().collect()),
            ]
        })
    }

    /// A level around a value, with what stands beside it.
    fn wrapped(value: &Value, kind: u8) -> Value {
        match kind {
            0 => json!([value]),
            1 => json!({"a": value}),
            2 => json!([[], value, {}]),
            _ => json!({"a": {}, "b": value, "c": []}),
        }
    }

    proptest! {
        // More levels than are printed in one piece.
        #[test]
        fn indented_json_is_that_of_serde_json(value in value(), levels in vec(0..4_u8, 0..40)) {
            let value = levels.into_iter().fold(value, |value, kind| wrapped(&value, kind));
            let theirs = PrettyFormatter::with_indent(&[b' '; INDENT]);
            prop_assert_eq!(printed(&value, Pretty::default()), printed(&value, theirs));
        }
    }
}
