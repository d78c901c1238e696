//! Gives a container an interface that shares the hardware address of a link of the host: a drop-in for Go's plugin of that
//! name.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `master` | string | the only interface of the earlier plugin of a chain, or else the link of the default route |
//! | `mode` | `l2`, `l3` or `l3s` | `l2` |
//! | `mtu` | number, at most the master's | the master's |
//! | `linkInContainer` | boolean | false; whether the master is a link of the container |
//! | `ipam` | object | in a chain: the addresses of the earlier plugin, which the interface takes over; needed otherwise |
//! | `dns` | object | what the IPAM plugin, or the earlier one, says |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | An ADD whose IPAM plugin fails leaves the interface. | Nothing is left, and without addresses nothing is begun. |
//! | The interfaces of a `prevResult` are dropped, and so is name resolution that others give. | They stay in the result. |
//! | An MTU that the master does not have is silently cut. | It is refused. |
//! | DEL fails without a default route, or where the configuration has become wrong. | It looks at neither. |
//! | DEL stops when the IPAM plugin fails, and deletes whatever link has the name. | It goes on, and leaves links of another kind and those that their alias says are another attachment's. |
//! | CHECK without `master` fails always, and does not see a link that is down or on another master. | It passes, and sees them. |
//! | GC does nothing; STATUS asks the IPAM plugin alone. | GC tells the IPAM plugin; STATUS also tells that the master, or the kernel's driver, is missing (50). |

mod config;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, GcRequest, Plugin, Result, ResultExt,
    StatusRequest,
};
use plugin_attach::addresses::Manner;
use plugin_attach::driver;
use plugin_attach::master;
use plugin_attach::single::{self, Addresses, Place, Single};
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Link, LinkDetails, LinkKind};

pub use self::config::{Config, Settings};

/// What the kernel calls such a link.
const KIND: &str = "ipvlan";

/// The ipvlan plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "ipvlan", config = Config)]
#[cni(about = "gives a container an interface that shares the hardware address of a link of the host")]
pub struct Ipvlan {
    kernel: Kernel,
}

impl Ipvlan {
    /// A plugin on another kernel, for tests.
    pub fn on(kernel: Kernel) -> Self {
        Self { kernel }
    }

    fn single(&self, addresses: Addresses, mtu: Option<u32>) -> Single<'_> {
        let manner = Manner { arp_notify: true, ndisc_notify: true, ..Manner::default() };
        Single { kernel: &self.kernel, kind: KIND, addresses, manner, mtu }
    }
}

#[cni_skel::plugin]
impl Plugin for Ipvlan {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config())?;
        let earlier = req.prev_result();
        let addresses = match earlier {
            Some(earlier) if !req.wants_ipam() && !earlier.ips.is_empty() => Addresses::OfChain,
            _ => Addresses::OfIpam,
        };
        if addresses == Addresses::OfIpam {
            req.ipam().map(drop).context("no plugin name provided")?;
        }
        let name = settings.master_after(earlier)?;
        let place = Place::of_add(&self.kernel, req)?;
        let inside = settings.link_in_container;
        let parent = master::find(place.masters(inside), name)?;
        let mtu = master::mtu(settings.mtu, &parent)?;
        self.single(addresses, mtu).add(req, &place, |name| {
            let kind = LinkKind::Ipvlan { parent: &parent, mode: settings.mode };
            master::create(&place, inside, name, kind, None, mtu).context("failed to create ipvlan")
        })
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        single::del(&self.kernel, KIND, req)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        let place = Place::of_check(&self.kernel, req)?;
        let addresses = if req.wants_ipam() { Addresses::OfIpam } else { Addresses::OfChain };
        self.single(addresses, master::expected_mtu(settings.mtu)).check(req, &place, |link| {
            master::check(&place, settings.link_in_container, settings.master, link)?;
            check_mode(link, &settings)
        })
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        // Without a name, an earlier plugin may give the master: there is none yet to ask.
        if settings.master.is_some() || req.wants_ipam() {
            master::status(&self.kernel, settings.link_in_container, settings.master, settings.mtu)?;
        }
        if req.wants_ipam() {
            req.ipam()?.status()?;
        }
        driver::status(&self.kernel, KIND)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        single::gc(req)
    }
}

fn check_mode(link: &Link, settings: &Settings<'_>) -> Result<()> {
    match link.details {
        LinkDetails::Ipvlan { mode } if mode == settings.mode => Ok(()),
        LinkDetails::Ipvlan { mode } => Err(Error::message(format!(
            "Container IPVlan mode {mode} does not match expected value: {}",
            settings.mode
        ))),
        _ => Err(Error::message(format!("container interface {} has no ipvlan mode", link.name))),
    }
}
