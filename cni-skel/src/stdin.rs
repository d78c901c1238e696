//! Reading stdin: whole and bounded, or, for VERSION, without ever waiting for a runtime that writes nothing.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{read, retry_on_intr};
use rustix::stdio::stdin;
use serde::de::IgnoredAny;

/// The longest stdin that is read, in bytes: a GC request of half a million attachments fits, and any configuration and
/// `prevResult` that a runtime reads itself; a runaway writer does not.
pub const MAX_STDIN_BYTES: usize = 64 * 1024 * 1024;

/// How much is read at most, in bytes, where a configuration could be done without: a thousand times what one has. Every
/// part that is read may be its end, and then all of it is parsed, so of more bytes the cost would get out of hand.
const MAX_READY_BYTES: usize = 1024 * 1024;

/// How much room is made at first, in bytes: for most requests, and without a further page of memory.
const PART_BYTES: usize = 2048;

/// How long VERSION waits for a configuration that it could do without.
const VERSION_PATIENCE: Duration = Duration::from_millis(100);

/// Where stdin comes from, and what of it was read.
#[derive(Debug)]
pub(crate) struct Stdin {
    bytes: Arc<Vec<u8>>,
    /// Whether more may come from the process's stdin.
    open: bool,
}

impl Stdin {
    pub(crate) fn process() -> Self {
        Self { bytes: Arc::default(), open: true }
    }

    pub(crate) fn bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(bytes), open: false }
    }

    /// Reads to the end.
    pub(crate) fn read(&mut self) -> io::Result<&Arc<Vec<u8>>> {
        while self.open && self.bytes.len() <= MAX_STDIN_BYTES {
            self.read_part()?;
        }
        if self.bytes.len() > MAX_STDIN_BYTES {
            let message = format!("stdin is longer than {MAX_STDIN_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(&self.bytes)
    }

    /// Reads what comes next, if it is not the end.
    ///
    /// Not through the standard library's buffer: what that holds back, poll does not see.
    fn read_part(&mut self) -> io::Result<()> {
        let bytes = Arc::make_mut(&mut self.bytes);
        if bytes.len() == bytes.capacity() {
            bytes.reserve(PART_BYTES);
        }
        self.open = retry_on_intr(|| read(stdin(), spare_capacity(bytes)))? > 0;
        Ok(())
    }

    /// What was read so far.
    pub(crate) fn held(&self) -> &[u8] {
        &self.bytes
    }

    /// What was read, to keep.
    pub(crate) fn into_bytes(self) -> Arc<Vec<u8>> {
        self.bytes
    }

    /// Reads what is there or comes at once; never waits for a person or for a pipe that stays silent.
    pub(crate) fn read_if_ready(&mut self) -> &[u8] {
        if !self.open || stdin().is_terminal() {
            return &self.bytes;
        }
        let deadline = Instant::now() + VERSION_PATIENCE;
        // A configuration is complete once it parses: the writer need not close its end.
        while self.open && self.bytes.len() < MAX_READY_BYTES && !is_document(&self.bytes) {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).unwrap_or_default();
            let ready = poll(&mut [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)], Some(&timeout));
            if !matches!(ready, Ok(1..)) || self.read_part().is_err() {
                break;
            }
        }
        &self.bytes
    }
}

fn is_document(bytes: &[u8]) -> bool {
    bytes.trim_ascii_end().ends_with(b"}")
        && serde_json::from_str::<IgnoredAny>(&String::from_utf8_lossy(bytes)).is_ok()
}
