//! The end of a stream that may be of any length.

use std::collections::VecDeque;

/// The last bytes of a stream, and how many went before them.
///
/// ```
/// use cni_invoke::Tail;
/// let tail = Tail::from("boom\n");
/// assert_eq!((tail.bytes(), tail.omitted()), (&b"boom\n"[..], 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    bytes: Vec<u8>,
    omitted: u64,
}

impl Tail {
    /// How many bytes are kept.
    pub const CAPACITY: usize = 16 * 1024;

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

/// Keeps the last bytes of what passes by.
#[derive(Debug, Default)]
pub(crate) struct TailBuffer {
    kept: VecDeque<u8>,
    omitted: u64,
}

impl TailBuffer {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(Tail::CAPACITY)..];
        let room = Tail::CAPACITY - new.len();
        let surplus = self.kept.len().saturating_sub(room);
        self.kept.drain(..surplus);
        self.kept.extend(new);
        self.omitted += (surplus + bytes.len() - new.len()) as u64;
    }

    pub(crate) fn finish(self) -> Tail {
        Tail { bytes: self.kept.into(), omitted: self.omitted }
    }
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
}
