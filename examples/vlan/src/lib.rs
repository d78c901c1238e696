//! Gives a container an interface into a VLAN of a link of the host: a drop-in for Go's plugin of that name.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `master` | string | needed |
//! | `vlanId` | number from 0 to 4094 | 0 |
//! | `mtu` | number, at most the master's | the master's |
//! | `linkInContainer` | boolean | false; whether the master is a link of the container |
//! | `ipam` | object | needed |
//! | `dns` | object | what the IPAM plugin says |
//!
//! The kernel has one link for each VLAN of a master: a second container cannot have the same.
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | An ADD whose IPAM plugin fails, or whose name is taken, leaves the interface. | Nothing is left, and without an IPAM plugin nothing is begun. |
//! | A `prevResult` is dropped, and so is name resolution that the IPAM plugin gives. | They stay in the result. |
//! | DEL fails once the master is gone, or where the configuration has become wrong. | It looks at neither. |
//! | DEL stops when the IPAM plugin fails, and deletes whatever link has the name. | It goes on, and leaves links of another kind and those that their alias says are another attachment's. |
//! | CHECK tells of a wrong VLAN as "promisc", and does not see a link that is down or on another master. | It tells, and sees them. |
//! | CHECK fails when a later plugin of the chain has changed the MTU. | It passes, if the result says so or cannot. |
//! | GC does nothing; STATUS asks the IPAM plugin alone. | GC tells the IPAM plugin; STATUS also tells that the master, or the kernel's driver, is missing (50). |

mod config;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, Context, DelRequest, Error, GcRequest, Plugin, Result,
    ResultExt, StatusRequest,
};
use plugin_attach::addresses::Manner;
use plugin_attach::driver;
use plugin_attach::master;
use plugin_attach::single::{self, Addresses, Place, Single};
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Link, LinkDetails, LinkKind};

pub use self::config::{Config, Settings};

/// What the kernel calls such a link.
const KIND: &str = "vlan";

/// The vlan plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "vlan", about = "gives a container an interface into a VLAN of a link of the host", config = Config)]
pub struct Vlan {
    kernel: Kernel,
}

impl Vlan {
    /// A plugin on another kernel, for tests.
    pub fn on(kernel: Kernel) -> Self {
        Self { kernel }
    }

    fn single(&self, mtu: Option<u32>) -> Single<'_> {
        let (addresses, manner) = (Addresses::OfIpam, Manner::default());
        Single { kernel: &self.kernel, kind: KIND, addresses, manner, mtu }
    }
}

#[cni_skel::plugin]
impl Plugin for Vlan {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config())?;
        has_ipam(req)?;
        let place = Place::of_add(&self.kernel, req)?;
        let inside = settings.link_in_container;
        let parent = master::find(place.masters(inside), Some(settings.master))?;
        let mtu = master::mtu(settings.mtu, &parent)?;
        self.single(mtu).add(req, &place, |name| {
            let kind = LinkKind::Vlan { parent: &parent, id: settings.id };
            master::create(&place, inside, name, kind, None, mtu).context("failed to create vlan")
        })
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        single::del(&self.kernel, KIND, req)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        has_ipam(req)?;
        let place = Place::of_check(&self.kernel, req)?;
        self.single(master::expected_mtu(settings.mtu)).check(req, &place, |link| {
            master::check(&place, settings.link_in_container, Some(settings.master), link)?;
            check_id(link, settings.id)
        })
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        has_ipam(req)?;
        master::status(&self.kernel, settings.link_in_container, Some(settings.master), settings.mtu)?;
        req.ipam()?.status()?;
        driver::status(&self.kernel, KIND)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        single::gc(req)
    }
}

/// There is nothing to make without addresses, as Go has it.
fn has_ipam(req: &Context<Vlan>) -> Result<()> {
    req.ipam().map(drop).context("failed to execute IPAM delegate: no plugin name provided")
}

fn check_id(link: &Link, wanted: u16) -> Result<()> {
    match link.details {
        LinkDetails::Vlan { id } if id == wanted => Ok(()),
        LinkDetails::Vlan { id } => Err(Error::message(format!(
            "Error: Tuning link {} configured vlanId is {wanted}, current value is {id}",
            link.name
        ))),
        _ => Err(Error::message(format!("container interface {} has no VLAN", link.name))),
    }
}
