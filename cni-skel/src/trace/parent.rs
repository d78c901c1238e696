//! `traceparent`: which span of which trace something happens in, as W3C's Trace Context has it.
//!
//! Only what passing it on takes; nothing is exported to anywhere.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// The flags that have a meaning: sampled, and random. Others may not be passed on.
const KNOWN_FLAGS: u8 = 0b11;

/// A span of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceParent {
    trace_id: String,
    span_id: String,
    flags: u8,
}

impl TraceParent {
    /// Reads the text of a header or a variable; `None` if it is none, which means the same as no text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('-');
        let (version, trace_id) = (hex(fields.next()?, 2)?, hex(fields.next()?, 32)?);
        let (span_id, flags) = (hex(fields.next()?, 16)?, hex(fields.next()?, 2)?);
        let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
        // A later version may say more after what this one has.
        let is_whole = version != "00" || fields.next().is_none();
        if version == "ff" || is_zero(trace_id) || is_zero(span_id) || !is_whole {
            return None;
        }
        let flags = u8::from_str_radix(flags, 16).ok()? & KNOWN_FLAGS;
        Some(Self { trace_id: trace_id.to_owned(), span_id: span_id.to_owned(), flags })
    }

    /// A new span of the same trace.
    pub(super) fn child(&self) -> Self {
        // The standard library's hasher starts from what the system gives at random; that is all an ID needs.
        let random = RandomState::new().build_hasher().finish();
        Self { span_id: format!("{:016x}", random.max(1)), ..self.clone() }
    }

    pub(super) fn trace_id(&self) -> &str {
        &self.trace_id
    }

    pub(super) fn span_id(&self) -> &str {
        &self.span_id
    }
}

/// The text, if it is that many lower-case digits.
fn hex(text: &str, digits: usize) -> Option<&str> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    Some(text).filter(|text| text.len() == digits && text.bytes().all(is_digit))
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_read_is_what_is_written() {
        assert_eq!(TraceParent::parse(TEXT).unwrap().to_string(), TEXT);
    }

    #[test]
    fn a_child_is_another_span_of_the_same_trace() {
        let parent = TraceParent::parse(TEXT).unwrap();
        let children = [parent.child(), parent.child()];
        for child in &children {
            assert_eq!((child.trace_id(), child.flags), (parent.trace_id(), parent.flags));
            assert_ne!(child.span_id(), parent.span_id());
            assert_eq!(TraceParent::parse(&child.to_string()).as_ref(), Some(child));
        }
        assert_ne!(children[0], children[1]);
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let later = TraceParent::parse(&format!("cc{}-what-comes", TEXT[2..].replace("-01", "-fd"))).unwrap();
        assert_eq!(later.to_string(), TEXT);
    }

    #[test]
    fn anything_else_is_none() {
        let zero_trace = TEXT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let faulty = [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            &TEXT.to_uppercase(),
            &TEXT.replace("00f067aa0ba902b7", "0000000000000000"),
            &zero_trace,
            &TEXT.replace("4b", "x_"),
            &TEXT.replace("4bf", "4b"),
            &format!("ff{}", &TEXT[2..]),
            &format!("{TEXT}-more"),
            &format!(" {TEXT}"),
            "é0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ];
        for text in faulty {
            assert_eq!(TraceParent::parse(text), None, "{text}");
        }
    }
}
