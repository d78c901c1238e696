//! Gives a container an interface whose other end is a program, such as a virtual machine's: a drop-in for Go's plugin of
//! that name.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `multiQueue` | boolean | false; whether the program may have several queues |
//! | `owner`, `group` | numbers | none; who may attach a program without privileges |
//! | `selinuxContext` | string | that of the plugin; the context in which the link is made |
//! | `bridge` | string | none; a bridge of the container whose port the interface becomes |
//! | `mtu` | number | the kernel's |
//! | `mac`, `runtimeConfig.mac`, `MAC` of `CNI_ARGS` | hardware address; the runtime's goes first, `mac` last | random |
//! | `ipam` | object | none: the interface has no addresses |
//! | `dns` | object | what the IPAM plugin says |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | An ADD whose IPAM plugin fails, whose bridge is missing or whose name is taken leaves the interface. | Nothing is left. |
//! | With an owner and a group the hardware address is forgotten. | It is set. |
//! | With an IPv6 gateway ADD waits for duplicate address detection, ten seconds in vain: without a program there is no carrier. | It does not wait. |
//! | A `prevResult` is dropped, and so is name resolution that the IPAM plugin gives. | They stay in the result. |
//! | DEL stops when the IPAM plugin fails, and deletes whatever link has the name. | It goes on, and leaves links of another kind and those that their alias says are another attachment's. |
//! | CHECK looks at addresses and routes alone. | It also looks at the interface: kind, hardware address, MTU, queues, owner, group, bridge. |
//! | GC does nothing; STATUS asks the IPAM plugin alone. | GC tells the IPAM plugin; STATUS also tells that the program `ip` or `/dev/net/tun` is missing (50). |

mod config;
mod device;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, GcRequest, MacAddr, Plugin,
    Result, ResultExt, StatusRequest,
};
use plugin_attach::addresses::{Detection, Manner};
use plugin_attach::single::{self, Addresses, Place, Single};
use plugin_support::firewall::{SystemTools, Tools};
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, Link, LinkChange, LinkDetails};

pub use self::config::{Args, Config, Runtime, Settings};

/// What the kernel calls such a link.
const KIND: &str = "tun";
/// What such links are made by.
const DEVICE: &str = "/dev/net/tun";

/// The tap plugin.
#[derive(CniPlugin)]
#[cni(name = "tap", about = "gives a container an interface whose other end is a program")]
#[cni(config = Config, runtime = Runtime, args = Args)]
pub struct Tap {
    /// Programs run on a thread that is in the container's namespace.
    tools: Arc<dyn Tools + Send + Sync>,
    kernel: Kernel,
    device: &'static str,
}

impl Default for Tap {
    /// On this machine.
    fn default() -> Self {
        Self { tools: Arc::new(SystemTools::default()), kernel: Kernel::default(), device: DEVICE }
    }
}

impl Tap {
    /// A plugin that runs other programs on another kernel, for tests.
    pub fn on(tools: Arc<dyn Tools + Send + Sync>, kernel: Kernel) -> Self {
        Self { tools, kernel, device: "/dev/null" }
    }

    fn single(&self, addresses: Addresses, mtu: Option<u32>) -> Single<'_> {
        let manner = Manner { arp_notify: true, detection: Detection::Later, ..Manner::default() };
        Single { kernel: &self.kernel, kind: KIND, addresses, manner, mtu }
    }

    /// Makes a link of a name in the container.
    fn create(&self, place: &Place, name: &str, mac: Option<MacAddr>, settings: &Settings<'_>) -> Result<()> {
        let netlink = &place.container_netlink;
        place.container.run(|| device::create(&*self.tools, name, settings))??;
        let link = netlink.link(name).with_context(|| format!("failed to refetch tap {name:?}"))?;
        let change = LinkChange::new();
        let change = settings.mtu.into_iter().fold(change, LinkChange::mtu);
        let change = mac.into_iter().fold(change, |change, mac| change.mac(mac.bytes()));
        if settings.mtu.is_some() || mac.is_some() {
            netlink.change(&link, &change)?;
        }
        if let Some(bridge) = settings.bridge {
            let ifname = &place.owner.ifname;
            netlink
                .change(&link, &LinkChange::new().master(&find_bridge(netlink, bridge)?))
                .with_context(|| format!("failed to set tap {ifname} as a port of bridge {bridge}"))?;
        }
        Ok(())
    }
}

#[cni_skel::plugin]
impl Plugin for Tap {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config())?;
        let mac = req.config().mac(req.runtime(), req.args())?;
        let place = Place::of_add(&self.kernel, req)?;
        let single = self.single(Addresses::if_wanted(req), settings.mtu);
        single.add(req, &place, |name| self.create(&place, name, mac, &settings))
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        single::del(&self.kernel, KIND, req)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        let place = Place::of_check(&self.kernel, req)?;
        let single = self.single(Addresses::if_wanted(req), settings.mtu);
        single.check(req, &place, |link| check_settings(&place.container_netlink, link, &settings))
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        Settings::new(req.config())?;
        device::works(&*self.tools)
            .context("tap interfaces cannot be made")
            .code(ErrorCode::PLUGIN_NOT_AVAILABLE)?;
        if !Path::new(self.device).exists() {
            let msg = format!("tap interfaces cannot be made: there is no {}", self.device);
            return Err(Error::new(ErrorCode::PLUGIN_NOT_AVAILABLE, msg));
        }
        if req.wants_ipam() { req.ipam()?.status() } else { Ok(()) }
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        single::gc(req)
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap")
            .field("tools", &self.tools)
            .field("kernel", &self.kernel)
            .finish_non_exhaustive()
    }
}

fn find_bridge(netlink: &Handle, name: &str) -> Result<Link> {
    match netlink.link(name) {
        // Go's words for it.
        Err(error) if error.is_not_found() => {
            Err(Error::message(format!("failed to get bridge {name}: Link not found")))
        }
        found => found.with_context(|| format!("failed to get bridge {name}")),
    }
}

fn check_settings(netlink: &Handle, link: &Link, settings: &Settings<'_>) -> Result<()> {
    let differs = |what: &str, wanted: &dyn fmt::Debug, found: &dyn fmt::Debug| {
        Err(Error::message(format!("tap {}: {what} is {found:?}, expected {wanted:?}", link.name)))
    };
    // A kernel that does not tell is believed.
    if let LinkDetails::Tun { frames, multi_queue, owner, group } = link.details {
        if !frames {
            return Err(Error::message(format!("Error: Container interface {} not of type tap", link.name)));
        }
        if multi_queue != settings.multi_queue {
            return differs("multiQueue", &settings.multi_queue, &multi_queue);
        }
        if settings.owner.is_some() && owner != settings.owner {
            return differs("owner", &settings.owner, &owner);
        }
        if settings.group.is_some() && group != settings.group {
            return differs("group", &settings.group, &group);
        }
    }
    match settings.bridge {
        Some(bridge) if link.master != Some(find_bridge(netlink, bridge)?.index) => {
            Err(Error::message(format!("tap {} is not a port of bridge {bridge}", link.name)))
        }
        _ => Ok(()),
    }
}
