//! The network namespace that a plugin was given, as the kernel has it: which links are there, and damaging one.
//!
//! Netlink by hand, because three short messages do not earn a library. Everything happens on a thread of its own,
//! which enters the namespace and ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

// Message types and flags of rtnetlink(7), and of netdevice(7).
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const IFLA_IFNAME: u16 = 3;
const IFF_UP: u32 = 1;
/// `struct nlmsghdr` and `struct ifinfomsg`.
const HEADER: usize = 16;
const LINK: usize = 16;

/// A network namespace that can be entered.
#[derive(Debug)]
pub(crate) struct Kernel {
    netns: PathBuf,
}

/// A network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    index: i32,
    pub(crate) is_up: bool,
}

/// The interfaces of a namespace by their names.
pub(crate) type Links = BTreeMap<String, Link>;

impl Kernel {
    /// The namespace at a path, if it can be entered.
    ///
    /// # Errors
    ///
    /// The reason why it cannot.
    pub(crate) fn open(netns: &Path) -> Result<Self, String> {
        if is_own(netns) {
            return Err(format!(
                "network namespace {netns:?} is that of the plugin itself, and is left alone"
            ));
        }
        let new = Self { netns: netns.to_owned() };
        new.links().map(|_| new).map_err(|error| format!("cannot enter network namespace {netns:?}: {error}"))
    }

    /// What is there.
    pub(crate) fn links(&self) -> io::Result<Links> {
        self.inside(|socket| {
            let request = message(RTM_GETLINK, NLM_F_DUMP, 0, 0, 0);
            let mut links = Links::new();
            talk(socket, &request, |kind, body| {
                if kind == RTM_NEWLINK {
                    links.extend(read_link(body));
                }
            })?;
            Ok(links)
        })
    }

    /// Deletes an interface.
    pub(crate) fn delete(&self, link: Link) -> io::Result<()> {
        self.inside(|socket| talk(socket, &message(RTM_DELLINK, NLM_F_ACK, link.index, 0, 0), |_, _| {}))
    }

    /// Takes an interface down.
    pub(crate) fn take_down(&self, link: Link) -> io::Result<()> {
        self.inside(|socket| talk(socket, &message(RTM_NEWLINK, NLM_F_ACK, link.index, 0, IFF_UP), |_, _| {}))
    }

    fn inside<T: Send>(&self, act: impl FnOnce(&OwnedFd) -> io::Result<T> + Send) -> io::Result<T> {
        let netns = File::open(&self.netns)?;
        std::thread::scope(|scope| {
            let entered = scope.spawn(|| {
                move_into_link_name_space(netns.as_fd(), Some(LinkNameSpaceType::Network))?;
                let flags = SocketFlags::CLOEXEC;
                let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?; // the default is NETLINK_ROUTE
                act(&socket)
            });
            entered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Whether a path leads to the namespace of this thread, in which plugins run, too.
fn is_own(netns: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    id(netns).is_some_and(|found| id(Path::new("/proc/thread-self/ns/net")) == Some(found))
}

/// A request about one link, or, with index 0, about all.
fn message(kind: u16, flags: u16, index: i32, set: u32, change: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + LINK);
    bytes.extend(((HEADER + LINK) as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    bytes.extend([0; 8]); // sequence and port: there is one request on the socket
    bytes.extend([0; 4]); // family and type
    bytes.extend(index.to_ne_bytes());
    bytes.extend(set.to_ne_bytes());
    bytes.extend(change.to_ne_bytes());
    bytes
}

/// Sends a request and gives every message of the answer, up to its end, to a function.
fn talk(socket: &OwnedFd, request: &[u8], mut each: impl FnMut(u16, &[u8])) -> io::Result<()> {
    sendto(socket, request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (length, _) = recv(socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..length];
        while let Some(header) = rest.first_chunk::<HEADER>() {
            let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            let body = rest.get(HEADER..length).ok_or(io::ErrorKind::InvalidData)?;
            match kind {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => {
                    let errno = body.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
                    return if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-errno)) };
                }
                _ => each(kind, body),
            }
            rest = rest.get(align(length)..).unwrap_or_default();
        }
    }
}

/// The name and the state of a link, from `struct ifinfomsg` and the attributes after it.
fn read_link(body: &[u8]) -> Option<(String, Link)> {
    let info: &[u8; LINK] = body.first_chunk()?;
    let index = i32::from_ne_bytes([info[4], info[5], info[6], info[7]]);
    let flags = u32::from_ne_bytes([info[8], info[9], info[10], info[11]]);
    let mut rest = &body[LINK..];
    while let Some(header) = rest.first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = rest.get(4..length)?;
        if u16::from_ne_bytes([header[2], header[3]]) == IFLA_IFNAME {
            let name = value.strip_suffix(&[0]).unwrap_or(value);
            let link = Link { index, is_up: flags & IFF_UP != 0 };
            return Some((String::from_utf8_lossy(name).into_owned(), link));
        }
        rest = rest.get(align(length)..)?;
    }
    None
}

/// Messages and attributes begin at multiples of 4.
fn align(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_from_between_other_attributes() {
        let mut body = vec![0; 4];
        body.extend(7_i32.to_ne_bytes());
        body.extend((IFF_UP | 8).to_ne_bytes());
        body.extend([0; 4]);
        body.extend([5, 0, 9, 0, 1, 0, 0, 0]); // another attribute, of one byte
        body.extend([9, 0, 3, 0]);
        body.extend(b"eth0\0\0\0\0");
        assert_eq!(read_link(&body), Some(("eth0".to_owned(), Link { index: 7, is_up: true })));
        for length in 0..body.len() - 4 {
            // Cut off anywhere, it is no link, and no panic.
            assert_eq!(read_link(&body[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_path_that_is_no_namespace_is_told() {
        let told = Kernel::open(Path::new("/does/not/exist")).unwrap_err();
        assert!(told.starts_with("cannot enter network namespace \"/does/not/exist\": "), "{told}");
        // Whatever is in the way there is the host's.
        let told = Kernel::open(Path::new("/proc/thread-self/ns/net")).unwrap_err();
        assert!(told.ends_with("is that of the plugin itself, and is left alone"), "{told}");
    }
}
