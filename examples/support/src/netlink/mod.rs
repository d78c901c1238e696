//! Route netlink: what `ip` and `bridge` do, without their processes.
//!
//! A [`Handle`] belongs to one network namespace. Its methods are one request each, named after what they do to the
//! kernel's tables; objects read are plain data ([`Link`], [`Address`]), and what to change is said by a small builder.

mod addr;
mod link;
mod neigh;
mod route;
mod rule;
pub(crate) mod socket;
pub(crate) mod traffic;
mod wait;

use netlink_packet_core::{NetlinkSerializable, ParseableParametrized};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;

use self::socket::{Failure, Reply, Socket};
use crate::error::{Errno, Error, Result};

pub use self::addr::{Address, AddressFlags, AddressScope, NewAddress};
pub use self::link::{
    BridgeOptions, BridgePort, BridgeVlan, IpvlanMode, Link, LinkChange, LinkDetails, LinkFlags, LinkKind,
    MacvlanMode, NewLink, OperState, Peer, PortOptions,
};
pub use self::neigh::{Neighbour, NeighbourState};
pub use self::route::{MAIN_TABLE, NextHop, Route, RouteFilter, RouteProtocol, RouteScope, RouteType};
pub use self::rule::Rule;
pub use self::traffic::{Qdisc, TokenBucket};

/// A route-netlink connection to one network namespace, for one thread at a time.
#[derive(Debug)]
pub struct Handle {
    kernel: Kernel,
}

/// What answers: the kernel of this machine, or one that a test has made up.
#[derive(Debug)]
enum Kernel {
    Linux(Socket),
    #[cfg(feature = "testing")]
    Fake(crate::testing::FakeNetns),
}

impl Handle {
    /// Connects to the calling thread's network namespace. For another one, see [`NetNs::netlink`].
    ///
    /// [`NetNs::netlink`]: crate::netns::NetNs::netlink
    ///
    /// # Errors
    ///
    /// If no socket can be had.
    pub fn open() -> Result<Self> {
        Socket::open(NETLINK_ROUTE)
            .map(|socket| Self { kernel: Kernel::Linux(socket) })
            .map_err(|errno| Error::os("failed to open a netlink socket", errno))
    }

    /// Connects to a namespace of a made-up kernel.
    #[cfg(feature = "testing")]
    pub(crate) fn fake(netns: crate::testing::FakeNetns) -> Self {
        Self { kernel: Kernel::Fake(netns) }
    }

    /// One request that is acknowledged, after the objects it asked for.
    fn request(
        &self,
        message: &RouteNetlinkMessage,
        flags: u16,
        attempt: impl Fn() -> String,
    ) -> Result<Vec<RouteNetlinkMessage>> {
        let (kind, body) = (message.message_type(), body(message));
        let answer = match &self.kernel {
            Kernel::Linux(socket) => socket.request(kind, flags, &body),
            #[cfg(feature = "testing")]
            Kernel::Fake(netns) => netns.request(kind, flags, &body, &attempt()),
        };
        decoded(answer, attempt)
    }

    /// All objects of a kind.
    fn dump(
        &self,
        message: &RouteNetlinkMessage,
        attempt: impl Fn() -> String,
    ) -> Result<Vec<RouteNetlinkMessage>> {
        let (kind, body) = (message.message_type(), body(message));
        let answer = match &self.kernel {
            Kernel::Linux(socket) => socket.dump(kind, &body),
            #[cfg(feature = "testing")]
            Kernel::Fake(netns) => netns.dump(kind, &body, &attempt()),
        };
        decoded(answer, attempt)
    }
}

pub(crate) fn body(message: &RouteNetlinkMessage) -> Vec<u8> {
    let mut body = vec![0; NetlinkSerializable::buffer_len(message)];
    message.serialize(&mut body);
    body
}

fn decoded(
    replies: Result<Vec<Reply>, Failure>,
    attempt: impl Fn() -> String,
) -> Result<Vec<RouteNetlinkMessage>> {
    let replies = replies.map_err(|failure| failed(failure, attempt()))?;
    replies
        .iter()
        .map(|reply| RouteNetlinkMessage::parse_with_param(&reply.body, reply.kind))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::Decode { attempt: attempt(), reason: error.to_string() })
}

/// A failure of the request loop, told with what it was about.
pub(crate) fn failed(failure: Failure, attempt: String) -> Error {
    match failure {
        Failure::Decode(reason) => Error::Decode { attempt, reason },
        Failure::Refused { errno, explanation } => {
            Error::Refused { attempt, explanation, source: Errno(errno) }
        }
    }
}
