//! Reading files that somebody else wrote: bounded, and never waiting for what is no file.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// How large a configuration or cache file may be, in bytes: as much as a plugin may print by default
/// ([`ProcessExec::STDOUT_LIMIT`](cni_invoke::ProcessExec::STDOUT_LIMIT)), thousands of times what such files have. A
/// cache file that would be larger is not written, since it could not be read again.
pub(crate) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a whole regular file; symbolic links are followed.
///
/// Opening does not block: a FIFO of a fitting name would otherwise hold up its reader for ever.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(MAX_FILE_BYTES)).unwrap_or_default());
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("larger than {MAX_FILE_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Whether reading failed for a reason that lies not in what the file is, so that it may be read another time: any answer of
/// the kernel but that it is a directory, a socket, a device without a driver, or a loop of links.
pub(crate) fn is_fault(error: &io::Error) -> bool {
    let of_the_file = [Errno::ISDIR, Errno::NXIO, Errno::NODEV, Errno::LOOP].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|number| !of_the_file.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("good"), "x").unwrap();
        assert_eq!(read(&path("good")).unwrap(), b"x");
        assert_eq!(read(dir.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(read(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);

        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(read(&path("fifo")).unwrap_err().to_string(), "not a regular file");

        let large = std::fs::File::create(path("large")).unwrap();
        large.set_len(MAX_FILE_BYTES).unwrap();
        assert_eq!(read(&path("large")).unwrap().len() as u64, MAX_FILE_BYTES);
        large.set_len(MAX_FILE_BYTES + 1).unwrap();
        assert_eq!(read(&path("large")).unwrap_err().to_string(), "larger than 16777216 bytes");
    }
}
