//! Gives a container an interface that leads nowhere: a drop-in for Go's plugin of that name.
//!
//! It is there for its addresses, which the container then has whatever else happens to it.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `ipam` | object | needed |
//! | `dns` | object | what the IPAM plugin says |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | A link of the same name on the host can be in the way. | It is not. |
//! | A `prevResult` is dropped, and so is name resolution that the configuration asks for. | They are in the result. |
//! | DEL fails without an IPAM plugin, stops when that fails, and deletes whatever link has the name. | It goes on, and leaves links of another kind and those that their alias says are another attachment's. |
//! | CHECK does not look at routes. | It does. |
//! | GC does nothing; STATUS asks the IPAM plugin alone. | GC tells the IPAM plugin; STATUS also tells that the kernel's driver is missing (50). |

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, Context, DelRequest, GcRequest, Plugin, Result,
    ResultExt, StatusRequest,
};
use plugin_attach::addresses::Manner;
use plugin_attach::driver;
use plugin_attach::single::{self, Addresses, Place, Single};
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{LinkKind, NewLink};

/// What the kernel calls such a link.
const KIND: &str = "dummy";

/// The dummy plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "dummy", about = "gives a container an interface that leads nowhere")]
pub struct Dummy {
    kernel: Kernel,
}

impl Dummy {
    /// A plugin on another kernel, for tests.
    pub fn on(kernel: Kernel) -> Self {
        Self { kernel }
    }

    fn single(&self) -> Single<'_> {
        let (addresses, manner) = (Addresses::OfIpam, Manner::default());
        Single { kernel: &self.kernel, kind: KIND, addresses, manner, mtu: None }
    }
}

#[cni_skel::plugin]
impl Plugin for Dummy {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        has_ipam(req)?;
        let place = Place::of_add(&self.kernel, req)?;
        self.single().add(req, &place, |name| {
            let created = place.container_netlink.create(&NewLink::new(name, LinkKind::Dummy));
            created.context("failed to create dummy")
        })
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        single::del(&self.kernel, KIND, req)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        has_ipam(req)?;
        let place = Place::of_check(&self.kernel, req)?;
        self.single().check(req, &place, |_| Ok(()))
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        has_ipam(req)?;
        req.ipam()?.status()?;
        driver::status(&self.kernel, KIND)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        single::gc(req)
    }
}

/// There is nothing to make without addresses.
fn has_ipam(req: &Context<Dummy>) -> Result<()> {
    req.ipam().map(drop).context("dummy interface requires an IPAM configuration")
}
