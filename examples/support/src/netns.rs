//! Network namespaces: open one by path, work inside it, tell two apart.
//!
//! A namespace belongs to a thread, not to a process. Nothing here ever moves the caller's thread: work for another
//! namespace runs on a thread of its own, which ends there. A netlink socket keeps the namespace that it was opened in,
//! so [`NetNs::netlink`] serves most needs without any further thread.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{io, panic, thread};

use rustix::fs::{FlockOperation, OFlags, PROC_SUPER_MAGIC, StatFs, flock, fstatfs, statfs};
use rustix::io::Errno as RawErrno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{Error, Result};
use crate::netlink::Handle;

/// `NSFS_MAGIC` of `linux/magic.h`.
const NSFS_MAGIC: u64 = 0x6e73_6673;

/// The calling thread's namespace. `/proc/self` would be the main thread's.
const CURRENT: &str = "/proc/thread-self/ns/net";

/// An open network namespace, which lives at least as long as this value.
///
/// Two values are equal if they are the same namespace, whatever their paths.
///
/// ```no_run
/// use plugin_support::netns::NetNs;
///
/// let container = NetNs::open("/run/netns/blue")?;
/// assert_ne!(container, NetNs::current()?);
///
/// // A netlink handle stays in the namespace it was opened in.
/// let netlink = container.netlink()?;
/// let lo = netlink.link("lo")?;
/// netlink.set_up(&lo)?;
///
/// // Anything else that depends on the namespace, such as binding a socket, runs inside.
/// let listener = container.run(|| std::net::TcpListener::bind("127.0.0.1:80"))?;
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Debug)]
pub struct NetNs {
    file: File,
    path: PathBuf,
    id: NetNsId,
    #[cfg(feature = "testing")]
    pub(crate) fake: Option<crate::testing::FakeNetns>,
}

/// What makes a namespace itself, independent of its path. Valid as long as the namespace exists; the kernel may give
/// the number to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetNsId {
    device: u64,
    inode: u64,
}

impl NetNs {
    /// Opens the namespace at `path`, for instance `/run/netns/blue` or `/proc/4711/ns/net`.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if there is nothing at `path`, with the text of Go's `ns.GetNS`,
    /// `failed to Statfs "PATH": no such file or directory`. What lies at `path` but is no network namespace gives
    /// [`Error::NotNsFile`] or [`Error::NotNetns`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        // By path first, since opening could do something: a FIFO waits, a device acts.
        let statfs = statfs(&path).map_err(|errno| Error::os(format!("failed to Statfs {path:?}"), errno))?;
        holds_namespaces(&path, &statfs)?;
        let file = File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(&path)
            .map_err(|source| Error::io(format!("failed to open network namespace {path:?}"), source))?;
        // Again by descriptor, as the path may lead elsewhere by now.
        let statfs =
            fstatfs(&file).map_err(|errno| Error::os(format!("failed to Statfs {path:?}"), errno))?;
        holds_namespaces(&path, &statfs)?;
        is_network(&path, &file, &statfs)?;
        let id = NetNsId::of_file(&file)
            .map_err(|source| Error::io(format!("failed to stat network namespace {path:?}"), source))?;
        Ok(Self {
            file,
            path,
            id,
            #[cfg(feature = "testing")]
            fake: None,
        })
    }

    /// The calling thread's namespace.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), if `/proc` is not mounted.
    pub fn current() -> Result<Self> {
        Self::open(CURRENT)
    }

    /// The path given to [`open`](Self::open).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The namespace's identity.
    pub fn id(&self) -> NetNsId {
        self.id
    }

    /// Whether the calling thread is in this namespace.
    ///
    /// # Errors
    ///
    /// If `/proc` is not mounted.
    pub fn is_current(&self) -> Result<bool> {
        #[cfg(feature = "testing")]
        if let Some(fake) = &self.fake {
            return Ok(fake.is_current());
        }
        Ok(NetNsId::current()? == self.id)
    }

    /// A route-netlink handle that works in this namespace for as long as it lives, from any thread.
    ///
    /// # Errors
    ///
    /// If the namespace cannot be entered (`CAP_SYS_ADMIN` is needed) or no socket can be had.
    pub fn netlink(&self) -> Result<Handle> {
        #[cfg(feature = "testing")]
        if let Some(fake) = &self.fake {
            return Ok(Handle::fake(fake.clone()));
        }
        self.run(Handle::open)?
    }

    /// Waits until no other process works on the namespace that asks for it in the same way, as Go's `sbr` does, and holds
    /// others off for as long as this value lives. It is flock(2) on the namespace itself.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn lock(&self) -> Result<()> {
        #[cfg(feature = "testing")]
        if self.fake.is_some() {
            return Ok(());
        }
        loop {
            match flock(&self.file, FlockOperation::LockExclusive) {
                Err(RawErrno::INTR) => {}
                locked => {
                    return locked
                        .map_err(|errno| Error::os(format!("failed to lock {:?}", self.path), errno));
                }
            }
        }
    }

    /// Runs `work` inside the namespace and returns what it returned.
    ///
    /// If the caller is in this namespace already, `work` runs right here, else on a new thread; the caller's own thread
    /// stays where it is, also if `work` panics. The panic goes on in the caller.
    ///
    /// # Errors
    ///
    /// If the namespace cannot be entered (`CAP_SYS_ADMIN` is needed) or no thread can be had; `work` has not run then.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        #[cfg(feature = "testing")]
        if self.fake.is_some() {
            return Ok(work());
        }
        if self.is_current().unwrap_or(false) {
            return Ok(work());
        }
        thread::scope(|scope| {
            let inside = thread::Builder::new().name("netns".into()).spawn_scoped(scope, || {
                move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network)).map_err(
                    |errno| Error::os(format!("failed to enter network namespace {:?}", self.path), errno),
                )?;
                Ok(work())
            });
            inside
                .map_err(|source| {
                    Error::io(
                        format!("failed to start a thread for network namespace {:?}", self.path),
                        source,
                    )
                })?
                .join()
                .unwrap_or_else(|payload| panic::resume_unwind(payload))
        })
    }
}

#[cfg(feature = "testing")]
impl NetNs {
    /// A namespace of a made-up kernel.
    pub(crate) fn fake(file: File, path: PathBuf, id: NetNsId, fake: crate::testing::FakeNetns) -> Self {
        Self { file, path, id, fake: Some(fake) }
    }
}

impl PartialEq for NetNs {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for NetNs {}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl NetNsId {
    /// The calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If `/proc` is not mounted.
    pub fn current() -> Result<Self> {
        fs::metadata(CURRENT)
            .map(|metadata| Self { device: metadata.dev(), inode: metadata.ino() })
            .map_err(|source| Error::io(format!("failed to stat {CURRENT:?}"), source))
    }

    /// That of a made-up kernel's namespace; no real one has a device without number.
    #[cfg(feature = "testing")]
    pub(crate) fn fake(number: u64) -> Self {
        Self { device: 0, inode: number }
    }

    fn of_file(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// The file systems of Go's `ns.IsNSorErr`: nsfs holds nothing else; procfs did before Linux 3.19, and its other files
/// are told apart by [`is_network`].
fn holds_namespaces(path: &Path, statfs: &StatFs) -> Result<()> {
    let magic = statfs.f_type as u64;
    if statfs.f_type == PROC_SUPER_MAGIC || magic == NSFS_MAGIC {
        return Ok(());
    }
    Err(Error::NotNsFile { path: path.to_owned(), magic })
}

/// The kernel names a namespace file by its type, `net:[4026531840]`, unless it is mounted somewhere, as `ip netns` and
/// runtimes do: then it names the place. Where the type cannot be read, entering decides.
fn is_network(path: &Path, file: &File, statfs: &StatFs) -> Result<()> {
    let Ok(target) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) else { return Ok(()) };
    let actual = target.to_string_lossy();
    let is_mounted = target.is_absolute() && u64::try_from(statfs.f_type) == Ok(NSFS_MAGIC);
    if is_mounted || actual.starts_with("net:[") {
        return Ok(());
    }
    Err(Error::NotNetns { path: path.to_owned(), actual: actual.into_owned() })
}
