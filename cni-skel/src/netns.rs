//! Network namespaces: which one a path is, and running a closure inside one.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// The path of a container's network namespace, as the runtime gave it.
///
/// Not every value is a namespace: a runtime whose sandbox is a virtual machine gives something else, and a unit test
/// gives whatever it likes. Only [`Netns::run`] needs a real one.
#[doc(alias = "NetNS")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Netns(PathBuf);

impl Netns {
    /// The namespace of a path, which is not opened.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Runs a closure inside the namespace, on a thread of its own, and gives what it returns.
    ///
    /// Whatever the closure opens there (a netlink socket, say) stays bound to the namespace and may be returned. A
    /// panic of the closure goes on in the caller.
    ///
    /// # Errors
    ///
    /// When the path cannot be opened, is no network namespace, or may not be entered.
    #[doc(alias = "WithNetNSPath")]
    pub fn run<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> io::Result<T> {
        let attempt = |what: &str, error: io::Error| {
            io::Error::new(error.kind(), format!("failed to {what} netns {:?}: {error}", self.0))
        };
        let no_namespace = || {
            let message = format!("{:?} is no network namespace", self.0);
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        // A namespace is a regular file to stat. Opening a FIFO would wait for its other end.
        if !std::fs::metadata(&self.0).map_err(|error| attempt("open", error))?.is_file() {
            return Err(no_namespace());
        }
        #[cfg(feature = "tracing")]
        let inside = crate::trace::carried(inside);
        let namespace = File::open(&self.0).map_err(|error| attempt("open", error))?;
        std::thread::scope(|scope| {
            let entered = scope.spawn(|| {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok(inside())
            });
            match entered.join() {
                Ok(Err(Errno::INVAL)) => Err(no_namespace()),
                Ok(returned) => returned.map_err(|error| attempt("enter", error.into())),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

impl std::fmt::Display for Netns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

/// Which namespace (or other file) a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NetnsId {
    device: u64,
    inode: u64,
}

impl NetnsId {
    /// The calling thread's own, if /proc tells.
    pub(crate) fn own() -> Option<Self> {
        Self::of(Path::new(OWN))
    }

    /// What a path leads to; nothing is opened, so a FIFO or a dead mount cannot block.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self { device: found.dev(), inode: found.ino() })
    }
}
