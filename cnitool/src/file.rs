//! Reading files that somebody else may have written.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The most bytes of a configuration, as for runtimes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a regular file that is no larger than a configuration may be. Nothing is waited for.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a FIFO would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    bounded(File::open(path)?)
}

/// Reads what a user has named: a file, or a pipe, such as `/dev/stdin`, which is waited for. It is no larger than a
/// configuration may be.
pub(crate) fn read_or_wait(path: &Path) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?)
}

fn bounded(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {MAX_BYTES} bytes"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let file = File::create(&path).unwrap();
        file.set_len(MAX_BYTES).unwrap();
        assert_eq!(read(&path).unwrap().len() as u64, MAX_BYTES);
        file.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), "it is larger than 16777216 bytes");
        for other in [Path::new("/dev/zero"), dir.path()] {
            assert_eq!(read(other).unwrap_err().to_string(), "it is no regular file");
        }
        let endless = read_or_wait(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(endless.to_string(), "it is larger than 16777216 bytes");
    }
}
