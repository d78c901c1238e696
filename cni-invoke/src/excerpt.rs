//! The start or the end of a stream of any length, and how errors quote it.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};

/// How many bytes of a stream an error keeps.
const KEPT: usize = 16 * 1024;
/// How many of those its text quotes.
const QUOTED: usize = 1024;

/// What a plugin printed, within bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Printed {
    /// The start of stdout.
    pub stdout: Head,
    /// The end of stderr.
    pub stderr: Tail,
}

impl Printed {
    /// What stands on the two streams.
    pub fn new(stdout: impl Into<Head>, stderr: impl Into<Tail>) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into() }
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stdout {}, stderr {}", self.stdout, self.stderr)
    }
}

/// The first bytes of a stream, and how many came after them. Its text is a bounded quote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    bytes: Vec<u8>,
    omitted: u64,
}

impl Head {
    /// How many bytes are kept.
    pub const CAPACITY: usize = KEPT;

    /// The bytes kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes came after them.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

impl<T: AsRef<[u8]>> From<T> for Head {
    fn from(all: T) -> Self {
        let all = all.as_ref();
        let kept = &all[..all.len().min(Self::CAPACITY)];
        Self { bytes: kept.to_vec(), omitted: (all.len() - kept.len()) as u64 }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.bytes[..self.bytes.len().min(QUOTED)];
        quote(f, shown)?;
        let total = self.bytes.len() as u64 + self.omitted;
        if (shown.len() as u64) < total {
            write!(f, " (the first {} of {total} bytes)", shown.len())?;
        }
        Ok(())
    }
}

/// The last bytes of a stream, and how many went before them. Its text is a bounded quote.
///
/// ```
/// use cni_invoke::Tail;
/// let tail = Tail::from("boom\n");
/// assert_eq!((tail.bytes(), tail.omitted()), (&b"boom\n"[..], 0));
/// assert_eq!(tail.to_string(), r#""boom\n""#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    bytes: Vec<u8>,
    omitted: u64,
}

impl Tail {
    /// How many bytes are kept.
    pub const CAPACITY: usize = KEPT;

    /// The bytes kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes went before them.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

impl<T: AsRef<[u8]>> From<T> for Tail {
    fn from(all: T) -> Self {
        let mut tail = TailBuffer::default();
        tail.push(all.as_ref());
        tail.finish()
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.bytes[self.bytes.len().saturating_sub(QUOTED)..];
        quote(f, shown)?;
        let total = self.bytes.len() as u64 + self.omitted;
        if (shown.len() as u64) < total {
            write!(f, " (the last {} of {total} bytes)", shown.len())?;
        }
        Ok(())
    }
}

/// Keeps the last bytes of what passes by.
#[derive(Debug, Default)]
pub(crate) struct TailBuffer {
    kept: VecDeque<u8>,
    omitted: u64,
}

impl TailBuffer {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(Tail::CAPACITY)..];
        let surplus = (self.kept.len() + new.len()).saturating_sub(Tail::CAPACITY);
        self.kept.drain(..surplus);
        self.kept.extend(new);
        self.omitted += (surplus + bytes.len() - new.len()) as u64;
    }

    pub(crate) fn finish(self) -> Tail {
        Tail { bytes: self.kept.into(), omitted: self.omitted }
    }
}

/// Writes bytes as a quoted text on one line: what is UTF-8 as it is, the rest as `\xNN`.
fn quote(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_char('"')?;
    for chunk in bytes.utf8_chunks() {
        write!(f, "{}", chunk.valid().escape_debug())?;
        for byte in chunk.invalid() {
            write!(f, "\\x{byte:02x}")?;
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept_however_it_arrives() {
        let all: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        for step in [1, 7, 4096, Tail::CAPACITY, Tail::CAPACITY + 1, all.len()] {
            let mut buffer = TailBuffer::default();
            all.chunks(step).for_each(|part| buffer.push(part));
            let tail = buffer.finish();
            assert_eq!(tail.bytes(), &all[all.len() - Tail::CAPACITY..], "in steps of {step}");
            assert_eq!(tail.omitted(), (all.len() - Tail::CAPACITY) as u64, "in steps of {step}");
        }
    }

    #[test]
    fn a_quote_is_one_line_of_bounded_length() {
        assert_eq!(Head::from(b"a\n\xff\0\"\xc3\xa9").to_string(), r#""a\n\xff\0\"é""#);
        let long = "x".repeat(3000) + "y";
        let (head, tail) = (Head::from(&long).to_string(), Tail::from(&long).to_string());
        assert!(
            head.starts_with("\"xxx") && head.ends_with("xxx\" (the first 1024 of 3001 bytes)"),
            "{head}"
        );
        assert!(tail.starts_with("\"xxx") && tail.ends_with("xy\" (the last 1024 of 3001 bytes)"), "{tail}");
        let huge = vec![b'x'; Head::CAPACITY + 5];
        assert_eq!(Head::from(&huge).omitted(), 5);
        assert!(Head::from(&huge).to_string().ends_with("of 16389 bytes)"));
    }
}
