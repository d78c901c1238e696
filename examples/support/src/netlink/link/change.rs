//! Changing a link that exists: any number of settings in one request.

use std::fmt::Write as _;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};

use super::super::Handle;
use super::{Link, checked_name};
use crate::error::Result;
use crate::mac::Mac;
use crate::netns::NetNs;

/// What to change about a link, for [`Handle::change`]. What is not named stays as it is.
///
/// ```no_run
/// # use plugin_support::{Mac, netlink::{Handle, LinkChange}};
/// # let netlink = Handle::open()?;
/// let eth0 = netlink.link("eth0")?;
/// netlink.change(&eth0, &LinkChange::new().mac(Mac([2, 0, 0, 0, 0, 1])).mtu(1400).up())?;
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LinkChange<'a> {
    attributes: Vec<LinkAttribute>,
    flags: LinkFlags,
    mask: LinkFlags,
    name: Option<String>,
    /// Keeps the descriptor in `attributes` open.
    netns: Option<BorrowedFd<'a>>,
    told: String,
}

impl<'a> LinkChange<'a> {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the link up.
    pub fn up(self) -> Self {
        self.flag(LinkFlags::Up, true, "up")
    }

    /// Sets the link down.
    pub fn down(self) -> Self {
        self.flag(LinkFlags::Up, false, "down")
    }

    /// Whether the link takes every frame.
    pub fn promisc(self, on: bool) -> Self {
        self.flag(LinkFlags::Promisc, on, if on { "promisc on" } else { "promisc off" })
    }

    /// Whether the link takes every multicast frame.
    pub fn allmulti(self, on: bool) -> Self {
        self.flag(LinkFlags::Allmulti, on, if on { "allmulti on" } else { "allmulti off" })
    }

    /// Largest payload in bytes.
    pub fn mtu(self, bytes: u32) -> Self {
        self.attribute(LinkAttribute::Mtu(bytes), format_args!("mtu {bytes}"))
    }

    /// Hardware address. Many drivers want the link down.
    pub fn mac(self, mac: impl Into<Mac>) -> Self {
        let mac = mac.into();
        self.attribute(LinkAttribute::Address(mac.octets().to_vec()), format_args!("mac {mac}"))
    }

    /// Transmit queue length in packets.
    pub fn tx_queue(self, packets: u32) -> Self {
        self.attribute(LinkAttribute::TxQueueLen(packets), format_args!("tx queue {packets}"))
    }

    /// Free text; empty takes it away.
    pub fn alias(self, text: &str) -> Self {
        self.attribute(LinkAttribute::IfAlias(text.into()), format_args!("alias {text:?}"))
    }

    /// Makes the link a port of this bridge, bond or VRF.
    pub fn master(self, master: &Link) -> Self {
        self.attribute(LinkAttribute::Controller(master.index), format_args!("master {:?}", master.name))
    }

    /// Makes the link no port of anything.
    pub fn no_master(self) -> Self {
        self.attribute(LinkAttribute::Controller(0), format_args!("no master"))
    }

    /// Renames the link. Kernels before 6.2 want it down.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.tell(format_args!("name {name:?}"));
        self.name = Some(name);
        self
    }

    /// Moves the link to another namespace, where it is down and may have another index.
    pub fn netns(mut self, netns: &'a NetNs) -> Self {
        self.tell(format_args!("netns {:?}", netns.path()));
        self.netns = Some(netns.as_fd());
        self
    }

    fn flag(mut self, flag: LinkFlags, on: bool, told: &str) -> Self {
        self.mask |= flag;
        self.flags.set(flag, on);
        self.tell(format_args!("{told}"));
        self
    }

    fn attribute(mut self, attribute: LinkAttribute, told: std::fmt::Arguments<'_>) -> Self {
        self.attributes.push(attribute);
        self.tell(told);
        self
    }

    /// What errors say about the change.
    fn tell(&mut self, told: std::fmt::Arguments<'_>) {
        let separator = if self.told.is_empty() { "" } else { ", " };
        // Writing to a `String` cannot fail.
        let _ = write!(self.told, "{separator}{told}");
    }

    fn message(&self, index: u32) -> Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = self.flags;
        message.header.change_mask = self.mask;
        message.attributes.clone_from(&self.attributes);
        if let Some(name) = &self.name {
            message.attributes.push(LinkAttribute::IfName(checked_name(name)?));
        }
        if let Some(netns) = self.netns {
            message.attributes.push(LinkAttribute::NetNsFd(netns.as_raw_fd()));
        }
        Ok(message)
    }
}

impl Handle {
    /// Changes a link in one request.
    ///
    /// The kernel applies the settings one after the other and stops at the first that it refuses; earlier ones stay.
    ///
    /// # Errors
    ///
    /// If the kernel refuses; the text names the link and all settings asked for.
    pub fn change(&self, link: &Link, change: &LinkChange<'_>) -> Result<()> {
        let message = change.message(link.index)?;
        self.request(&RouteNetlinkMessage::SetLink(message), 0, || {
            format!("failed to set {link}: {}", change.told)
        })?;
        Ok(())
    }

    /// Sets a link up.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    pub fn set_up(&self, link: &Link) -> Result<()> {
        self.change(link, &LinkChange::new().up())
    }

    /// Sets a link down.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    pub fn set_down(&self, link: &Link) -> Result<()> {
        self.change(link, &LinkChange::new().down())
    }
}
