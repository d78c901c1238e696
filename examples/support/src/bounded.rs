//! Reading files that somebody else may have written: no more than a limit, and without waiting.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// The most bytes of a file that plugins keep state or settings in, unless they say otherwise: a thousand times what such
/// files have, and no more than any machine can hold.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// Reads a whole file of at most so many bytes. Symbolic links are followed; a FIFO that nobody writes to is empty.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("state.json");
/// std::fs::write(&path, "{}")?;
/// assert_eq!(plugin_support::bounded::read(&path, 2)?, b"{}");
/// assert_eq!(plugin_support::bounded::read(&path, 1).unwrap_err().to_string(), "larger than 1 bytes");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read or is larger, which is [`io::ErrorKind::FileTooLarge`].
pub fn read(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblocking).open(path)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_is_read_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("full"), "1234").unwrap();
        assert_eq!(read(path("full"), 4).unwrap(), b"1234");
        let error = read(path("full"), 3).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::FileTooLarge, "larger than 3 bytes")
        );
        assert_eq!(read("/dev/zero", 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(read(path("fifo"), 4).unwrap(), b"");
        assert_eq!(read(path("none"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(read(dir.path(), 4).is_err());
    }
}
