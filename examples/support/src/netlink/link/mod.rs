//! Links as the kernel shows them: what is read, found and deleted. What can be changed is in the modules below.

mod bridge;
mod change;
mod create;

use std::fmt;

use netlink_packet_core::Nla as _;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBridge, InfoBridgePort, InfoData, InfoIpVlan, InfoMacVlan, InfoPortData, InfoTun, InfoVlan, InfoVrf,
    LinkAttribute, LinkExtentMask, LinkInfo, LinkMessage,
};

use super::Handle;
use crate::error::{Error, Result};
use crate::mac::Mac;

pub use self::bridge::{BridgeOptions, BridgeVlan, PortOptions};
pub use self::change::LinkChange;
pub use self::create::{IpvlanMode, LinkKind, NewLink, Peer};
pub use netlink_packet_route::link::{LinkFlags, MacVlanMode as MacvlanMode, State as OperState};

/// The longest interface name, `IFNAMSIZ` less the final zero.
const LONGEST_NAME: usize = 15;

/// A network interface as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The number that the namespace knows the link by; it survives a change of name.
    pub index: u32,
    /// The interface name.
    pub name: String,
    /// What the link is, in the kernel's words: `veth`, `bridge`, `macvlan`; `None` for hardware and loopback.
    pub kind: Option<String>,
    /// Hardware address; `None` if the link has none, or none of 48 bits.
    pub mac: Option<Mac>,
    /// The address burnt into the hardware, where the kernel tells one.
    pub permanent_mac: Option<Mac>,
    /// Largest payload in bytes.
    pub mtu: u32,
    /// `IFF_*` flags; see [`is_up`](Self::is_up).
    pub flags: LinkFlags,
    /// Whether traffic passes, by RFC 2863. Loopback and tunnels stay [`OperState::Unknown`].
    pub oper_state: OperState,
    /// Index of the bridge, bond or VRF that the link is a port of.
    pub master: Option<u32>,
    /// Index of the link below (VLAN, macvlan) or at the other end (veth), in the namespace of
    /// [`peer_netns`](Self::peer_netns).
    pub peer: Option<u32>,
    /// Number, known to this namespace, of the one where [`peer`](Self::peer) is; `None` for this one.
    pub peer_netns: Option<i32>,
    /// Transmit queue length in packets.
    pub tx_queue: u32,
    /// How many users want promiscuous mode; an administrator's wish is [`LinkFlags::Promisc`] as well.
    pub promiscuity: u32,
    /// Free text set by an administrator.
    pub alias: Option<String>,
    /// What only links of this kind have.
    pub details: LinkDetails,
    /// Settings as a port of a bridge, if it is one.
    pub port: Option<BridgePort>,
}

/// Settings that exist for one kind of link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkDetails {
    /// Kind `bridge`.
    Bridge {
        /// Whether ports only see the VLANs they are members of.
        vlan_filtering: bool,
    },
    /// Kind `ipvlan`.
    Ipvlan {
        /// Switching or routing.
        mode: IpvlanMode,
    },
    /// Kind `macvlan`.
    Macvlan {
        /// Who may talk to whom.
        mode: MacvlanMode,
        /// Length of the queue for broadcasts in packets that was asked for; `None` on kernels before 5.11.
        broadcast_queue: Option<u32>,
    },
    /// Any other link.
    #[default]
    None,
    /// Kind `tun`, whose other end is a program.
    Tun {
        /// Whether the program gets frames; packets otherwise.
        frames: bool,
        /// Whether it may have several queues.
        multi_queue: bool,
        /// The user who may attach to the link without privileges.
        owner: Option<u32>,
        /// The group whose members may.
        group: Option<u32>,
    },
    /// Kind `vlan`.
    Vlan {
        /// VLAN ID, 0 to 4095.
        id: u16,
    },
    /// Kind `vrf`.
    Vrf {
        /// Routing table.
        table: u32,
    },
}

/// A link's settings as a port of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgePort {
    /// Whether a frame may leave where it came in.
    pub hairpin: bool,
    /// Whether frames of other isolated ports are kept away.
    pub isolated: bool,
}

impl Link {
    /// Whether an administrator has set the link up. Whether traffic passes is [`oper_state`](Self::oper_state).
    pub fn is_up(&self) -> bool {
        self.flags.contains(LinkFlags::Up)
    }

    /// Whether this is a loopback interface.
    pub fn is_loopback(&self) -> bool {
        self.flags.contains(LinkFlags::Loopback)
    }

    /// Whether the link takes all multicast frames because an administrator asked for it.
    pub fn is_allmulti(&self) -> bool {
        self.flags.contains(LinkFlags::Allmulti)
    }

    /// Whether the link is of `kind`: `veth`, `bridge`, `macvlan`.
    pub fn is_kind(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }

    fn from_message(message: LinkMessage) -> Self {
        let mut link = Self {
            index: message.header.index,
            name: String::new(),
            kind: None,
            mac: None,
            permanent_mac: None,
            mtu: 0,
            flags: message.header.flags,
            oper_state: OperState::Unknown,
            master: None,
            peer: None,
            peer_netns: None,
            tx_queue: 0,
            promiscuity: 0,
            alias: None,
            details: LinkDetails::None,
            port: None,
        };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::Address(bytes) => link.mac = Mac::from_bytes(&bytes),
                LinkAttribute::PermAddress(bytes) => link.permanent_mac = Mac::from_bytes(&bytes),
                LinkAttribute::Mtu(mtu) => link.mtu = mtu,
                LinkAttribute::OperState(state) => link.oper_state = state,
                LinkAttribute::Controller(index) => link.master = Some(index),
                LinkAttribute::Link(index) => link.peer = Some(index),
                LinkAttribute::LinkNetNsId(id) => link.peer_netns = Some(id),
                LinkAttribute::TxQueueLen(length) => link.tx_queue = length,
                LinkAttribute::Promiscuity(count) => link.promiscuity = count,
                LinkAttribute::IfAlias(alias) => link.alias = Some(alias),
                LinkAttribute::LinkInfo(infos) => link.learn(&infos),
                _ => {}
            }
        }
        link
    }

    fn learn(&mut self, infos: &[LinkInfo]) {
        for info in infos {
            match info {
                LinkInfo::Kind(kind) => self.kind = Some(kind.to_string()),
                LinkInfo::Data(data) => self.details = LinkDetails::from_data(data),
                LinkInfo::PortData(InfoPortData::BridgePort(settings)) => {
                    self.port = Some(BridgePort::from_settings(settings));
                }
                _ => {}
            }
        }
    }
}

/// As errors name a link: `link "eth0" (index 3)`.
impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {:?} (index {})", self.name, self.index)
    }
}

impl LinkDetails {
    fn from_data(data: &InfoData) -> Self {
        let known = match data {
            InfoData::Bridge(options) => options.iter().find_map(|option| match option {
                InfoBridge::VlanFiltering(on) => Some(Self::Bridge { vlan_filtering: *on }),
                _ => None,
            }),
            InfoData::IpVlan(options) => options.iter().find_map(|option| match option {
                InfoIpVlan::Mode(mode) => Some(Self::Ipvlan { mode: *mode }),
                _ => None,
            }),
            InfoData::MacVlan(options) => {
                let broadcast_queue = options.iter().find_map(|option| match option {
                    InfoMacVlan::BcQueueLen(packets) => Some(*packets),
                    _ => None,
                });
                options.iter().find_map(|option| match option {
                    InfoMacVlan::Mode(mode) => Some(Self::Macvlan { mode: *mode, broadcast_queue }),
                    _ => None,
                })
            }
            InfoData::Tun(options) => Some(tun(options)),
            InfoData::Vlan(options) => options.iter().find_map(|option| match option {
                InfoVlan::Id(id) => Some(Self::Vlan { id: *id }),
                _ => None,
            }),
            InfoData::Vrf(options) => options.iter().find_map(|option| match option {
                InfoVrf::TableId(table) => Some(Self::Vrf { table: *table }),
                _ => None,
            }),
            _ => None,
        };
        known.unwrap_or_default()
    }
}

/// The settings of a link whose other end is a program; `IFLA_TUN_*` of `linux/if_link.h`.
fn tun(options: &[InfoTun]) -> LinkDetails {
    let number = |wanted: u16| {
        let InfoTun::Other(option) = options.iter().find(|option| option.kind() == wanted)? else {
            return None;
        };
        let mut bytes = [0; 4];
        option.emit_value(bytes.get_mut(..option.value_len())?);
        // A byte or four, in the machine's order; what is beside a byte is zero.
        Some(if option.value_len() == 1 { bytes[0].into() } else { u32::from_ne_bytes(bytes) })
    };
    LinkDetails::Tun {
        // IFF_TAP
        frames: number(3) == Some(2),
        multi_queue: number(7).is_some_and(|value| value != 0),
        owner: number(1),
        group: number(2),
    }
}

impl BridgePort {
    fn from_settings(settings: &[InfoBridgePort]) -> Self {
        let mut port = Self::default();
        for setting in settings {
            match setting {
                InfoBridgePort::HairpinMode(on) => port.hairpin = *on,
                InfoBridgePort::Isolated(on) => port.isolated = *on,
                _ => {}
            }
        }
        port
    }
}

impl Handle {
    /// The link named `name`.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if there is none.
    pub fn link(&self, name: &str) -> Result<Link> {
        self.one_link(0, Some(LinkAttribute::IfName(checked_name(name)?)), || {
            format!("failed to find link {name:?}")
        })
    }

    /// The link with this index.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if there is none.
    pub fn link_by_index(&self, index: u32) -> Result<Link> {
        self.one_link(index, None, || format!("failed to find link with index {index}"))
    }

    /// All links of the namespace, in the kernel's order.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn links(&self) -> Result<Vec<Link>> {
        let replies =
            self.dump(&RouteNetlinkMessage::GetLink(without_statistics()), || "failed to list links".into())?;
        Ok(replies.into_iter().filter_map(into_link).collect())
    }

    /// Deletes a link. One end of a veth pair takes the other along.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if it is gone already.
    pub fn delete(&self, link: &Link) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = link.index;
        self.request(&RouteNetlinkMessage::DelLink(message), 0, || format!("failed to delete {link}"))?;
        Ok(())
    }

    fn one_link(
        &self,
        index: u32,
        name: Option<LinkAttribute>,
        attempt: impl Fn() -> String,
    ) -> Result<Link> {
        let mut message = without_statistics();
        message.header.index = index;
        message.attributes.extend(name);
        let replies = self.request(&RouteNetlinkMessage::GetLink(message), 0, &attempt)?;
        replies.into_iter().find_map(into_link).ok_or_else(|| Error::Decode {
            attempt: attempt(),
            reason: "the kernel's answer holds no link".into(),
        })
    }
}

/// Counters are most of a link's answer, and nothing here reads them.
fn without_statistics() -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
    message
}

fn into_link(reply: RouteNetlinkMessage) -> Option<Link> {
    match reply {
        RouteNetlinkMessage::NewLink(message) => Some(Link::from_message(message)),
        _ => None,
    }
}

/// A name as an attribute. Only what would not reach the kernel as it is written is refused here.
fn checked_name(name: &str) -> Result<String> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains('\0') {
        return Err(Error::Invalid(format!(
            "invalid interface name {name:?}: expected 1 to {LONGEST_NAME} bytes without a zero"
        )));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests;
