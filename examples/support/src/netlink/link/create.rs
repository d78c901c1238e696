//! Creating links. One kind, one variant of [`LinkKind`].

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoIpVlan, InfoKind, InfoMacVlan, InfoVeth, InfoVlan, InfoVrf, LinkAttribute, LinkFlags,
    LinkInfo, LinkMessage,
};

use super::super::Handle;
use super::{BridgeOptions, Link, MacvlanMode, checked_name};
use crate::error::Result;
use crate::mac::Mac;
use crate::netns::NetNs;

pub use netlink_packet_route::link::IpVlanMode as IpvlanMode;

/// A name that no kernel gives a link: its settings have a directory of that name.
const IMPOSSIBLE_NAME: &str = "cni/probe";

/// A link to create, for [`Handle::create`].
///
/// ```no_run
/// # use plugin_support::{netlink::{Handle, LinkKind, NewLink, Peer}, netns::NetNs};
/// let host = NetNs::current()?;
/// let container = NetNs::open("/run/netns/blue")?.netlink()?;
/// let peer = Peer::new("veth1a2b3c4d").netns(&host);
/// container.create(&NewLink::new("eth0", LinkKind::Veth(peer)).mtu(1400).up())?;
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NewLink<'a> {
    end: End<'a>,
    kind: LinkKind<'a>,
}

/// What to create, with the settings that only this kind has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LinkKind<'a> {
    /// A switch.
    Bridge(BridgeOptions),
    /// A link that drops everything.
    Dummy,
    /// A link to redirect incoming traffic to, so that it can be shaped.
    Ifb,
    /// A further link on `parent` with the same hardware address.
    Ipvlan {
        /// The link below.
        parent: &'a Link,
        /// Switching or routing.
        mode: IpvlanMode,
    },
    /// A further link on `parent` with a hardware address of its own.
    Macvlan {
        /// The link below.
        parent: &'a Link,
        /// Who may talk to whom.
        mode: MacvlanMode,
        /// Length of the queue for broadcasts in packets; `None` for the kernel's 1000.
        broadcast_queue: Option<u32>,
    },
    /// Two links that are each other's other end.
    Veth(Peer<'a>),
    /// The frames of `parent` that carry a VLAN's tag.
    Vlan {
        /// The link below.
        parent: &'a Link,
        /// VLAN ID, 1 to 4094.
        id: u16,
    },
    /// A routing domain.
    Vrf {
        /// Its routing table.
        table: u32,
    },
}

/// The other end of a veth pair. It cannot be set up at once: the kernel makes it before it is connected.
#[derive(Clone, Debug)]
#[must_use]
pub struct Peer<'a>(End<'a>);

/// What any link may have from the start.
#[derive(Clone, Debug)]
struct End<'a> {
    name: String,
    mac: Option<Mac>,
    mtu: Option<u32>,
    tx_queue: Option<u32>,
    master: Option<u32>,
    up: bool,
    netns: Option<(BorrowedFd<'a>, String)>,
}

impl<'a> NewLink<'a> {
    /// A link of this kind, down, in the namespace of the handle.
    pub fn new(name: impl Into<String>, kind: LinkKind<'a>) -> Self {
        Self { end: End::new(name.into()), kind }
    }

    /// Hardware address; random without.
    pub fn mac(mut self, mac: impl Into<Mac>) -> Self {
        self.end.mac = Some(mac.into());
        self
    }

    /// Largest payload in bytes; the kernel's choice without.
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.end.mtu = Some(bytes);
        self
    }

    /// Transmit queue length in packets.
    pub fn tx_queue(mut self, packets: u32) -> Self {
        self.end.tx_queue = Some(packets);
        self
    }

    /// Makes the link a port of this bridge, bond or VRF.
    pub fn master(mut self, master: &Link) -> Self {
        self.end.master = Some(master.index);
        self
    }

    /// Sets the link up at once.
    pub fn up(mut self) -> Self {
        self.end.up = true;
        self
    }

    /// Puts the link into another namespace. A parent is still looked for in the namespace of the handle.
    pub fn netns(mut self, netns: &'a NetNs) -> Self {
        self.end.set_netns(netns);
        self
    }

    fn message(&self) -> Result<LinkMessage> {
        let mut message = self.end.message()?;
        if let LinkKind::Ipvlan { parent, .. }
        | LinkKind::Macvlan { parent, .. }
        | LinkKind::Vlan { parent, .. } = &self.kind
        {
            message.attributes.push(LinkAttribute::Link(parent.index));
        }
        message.attributes.push(LinkAttribute::LinkInfo(self.kind.info()?));
        Ok(message)
    }
}

impl<'a> Peer<'a> {
    /// The other end, down, in the namespace of the handle.
    pub fn new(name: impl Into<String>) -> Self {
        Self(End::new(name.into()))
    }

    /// Hardware address; random without.
    pub fn mac(mut self, mac: impl Into<Mac>) -> Self {
        self.0.mac = Some(mac.into());
        self
    }

    /// Largest payload in bytes. Without, the kernel's choice, also if the first end has another.
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.0.mtu = Some(bytes);
        self
    }

    /// Transmit queue length in packets.
    pub fn tx_queue(mut self, packets: u32) -> Self {
        self.0.tx_queue = Some(packets);
        self
    }

    /// Puts this end into another namespace.
    pub fn netns(mut self, netns: &'a NetNs) -> Self {
        self.0.set_netns(netns);
        self
    }
}

impl<'a> End<'a> {
    fn new(name: String) -> Self {
        Self { name, mac: None, mtu: None, tx_queue: None, master: None, up: false, netns: None }
    }

    fn set_netns(&mut self, netns: &'a NetNs) {
        self.netns = Some((netns.as_fd(), format!("{:?}", netns.path())));
    }

    fn message(&self) -> Result<LinkMessage> {
        let mut message = LinkMessage::default();
        if self.up {
            message.header.flags = LinkFlags::Up;
            message.header.change_mask = LinkFlags::Up;
        }
        let attributes = &mut message.attributes;
        attributes.push(LinkAttribute::IfName(checked_name(&self.name)?));
        attributes.extend(self.mac.map(|mac| LinkAttribute::Address(mac.octets().to_vec())));
        attributes.extend(self.mtu.map(LinkAttribute::Mtu));
        attributes.extend(self.tx_queue.map(LinkAttribute::TxQueueLen));
        attributes.extend(self.master.map(LinkAttribute::Controller));
        attributes.extend(self.netns.as_ref().map(|(fd, _)| LinkAttribute::NetNsFd(fd.as_raw_fd())));
        Ok(message)
    }
}

impl LinkKind<'_> {
    fn info(&self) -> Result<Vec<LinkInfo>> {
        let (kind, data) = match self {
            Self::Bridge(options) => (InfoKind::Bridge, options.data()),
            Self::Dummy => (InfoKind::Dummy, None),
            Self::Ifb => (InfoKind::Ifb, None),
            Self::Ipvlan { mode, .. } => {
                (InfoKind::IpVlan, Some(InfoData::IpVlan(vec![InfoIpVlan::Mode(*mode)])))
            }
            Self::Macvlan { mode, broadcast_queue, .. } => {
                let mut options = vec![InfoMacVlan::Mode(*mode)];
                options.extend(broadcast_queue.map(InfoMacVlan::BcQueueLen));
                (InfoKind::MacVlan, Some(InfoData::MacVlan(options)))
            }
            Self::Veth(peer) => (InfoKind::Veth, Some(InfoData::Veth(InfoVeth::Peer(peer.0.message()?)))),
            Self::Vlan { id, .. } => (InfoKind::Vlan, Some(InfoData::Vlan(vec![InfoVlan::Id(*id)]))),
            Self::Vrf { table } => (InfoKind::Vrf, Some(InfoData::Vrf(vec![InfoVrf::TableId(*table)]))),
        };
        Ok([LinkInfo::Kind(kind)].into_iter().chain(data.map(LinkInfo::Data)).collect())
    }
}

/// As errors tell it: `veth "eth0" with peer "veth1" in netns "/run/netns/host"`.
impl fmt::Display for NewLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = &self.end;
        match &self.kind {
            LinkKind::Bridge(_) => write!(f, "bridge {end}"),
            LinkKind::Dummy => write!(f, "dummy {end}"),
            LinkKind::Ifb => write!(f, "ifb {end}"),
            LinkKind::Ipvlan { parent, .. } => write!(f, "ipvlan {end} on {parent}"),
            LinkKind::Macvlan { parent, .. } => write!(f, "macvlan {end} on {parent}"),
            LinkKind::Veth(Peer(peer)) => write!(f, "veth {end} with peer {peer}"),
            LinkKind::Vlan { parent, id } => write!(f, "vlan {end} with id {id} on {parent}"),
            LinkKind::Vrf { table } => write!(f, "vrf {end} of table {table}"),
        }
    }
}

impl fmt::Display for End<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)?;
        match &self.netns {
            Some((_, path)) => write!(f, " in netns {path}"),
            None => Ok(()),
        }
    }
}

impl Handle {
    /// Creates a link. [`link`](Self::link), in the namespace where it is, tells what has become of it.
    ///
    /// # Errors
    ///
    /// [`Error::is_exists`] is true if a link has the name already, or the other end's name. If the kernel has no such
    /// kind, [`Error::is_unsupported`] is true.
    ///
    /// [`Error::is_exists`]: crate::Error::is_exists
    /// [`Error::is_unsupported`]: crate::Error::is_unsupported
    pub fn create(&self, link: &NewLink<'_>) -> Result<()> {
        let message = RouteNetlinkMessage::NewLink(link.message()?);
        self.request(&message, NLM_F_CREATE | NLM_F_EXCL, || format!("failed to create {link}"))?;
        Ok(())
    }

    /// Whether links of a kind can be created, in the kernel's words for it: `vlan`. Nothing is. The kernel loads a module
    /// that it needs, as it does for [`create`](Self::create).
    ///
    /// # Errors
    ///
    /// If the kernel has no such kind, [`Error::is_unsupported`] is true; if privileges are missing,
    /// [`Error::is_not_permitted`].
    ///
    /// [`Error::is_unsupported`]: crate::Error::is_unsupported
    /// [`Error::is_not_permitted`]: crate::Error::is_not_permitted
    pub fn try_kind(&self, kind: &str) -> Result<()> {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(IMPOSSIBLE_NAME.into()));
        link.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind.into())]));
        let message = RouteNetlinkMessage::NewLink(link);
        let attempt = || format!("failed to create {kind} {IMPOSSIBLE_NAME:?}");
        match self.request(&message, NLM_F_CREATE | NLM_F_EXCL, attempt) {
            Err(error) if error.is_unsupported() || error.is_not_permitted() => Err(error),
            // The kind is looked for before the name is looked at.
            _ => Ok(()),
        }
    }
}
