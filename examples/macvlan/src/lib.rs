//! Gives a container an interface with a hardware address of its own on a link of the host: a drop-in for Go's plugin of
//! that name.
//!
//! The container is then on the host's network like another machine. It cannot reach the host itself by that link.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `master` | string | the link of the default route |
//! | `mode` | `bridge`, `private`, `vepa` or `passthru` | `bridge` |
//! | `mtu` | number, at most the master's | the master's |
//! | `mac`, `runtimeConfig.mac`, `MAC` of `CNI_ARGS` | hardware address; the runtime's goes first, `mac` last | random |
//! | `linkInContainer` | boolean | false; whether the master is a link of the container |
//! | `bcqueuelen` | number | the kernel's 1000; how many broadcasts may wait |
//! | `ipam` | object | none: the interface has no addresses |
//! | `dns` | object | what the IPAM plugin says |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | An ADD whose IPAM plugin fails leaves the interface. | Nothing is left. |
//! | A `prevResult` is dropped, and so is name resolution that the IPAM plugin gives. | They stay in the result. |
//! | A default route that forbids is taken for one that leads to a master. | It is passed over, and of several the one that is used is taken. |
//! | DEL stops when the IPAM plugin fails, and deletes whatever link has the name. | It goes on, and leaves links of another kind and those that their alias says are another attachment's. |
//! | CHECK demands that the master exists. | It demands that the interface is on it, is up, and has the MTU, the queue and the routes to its networks, too. |
//! | CHECK of a container on the default route's link fails when that route changes. | It passes. |
//! | GC does nothing; STATUS asks the IPAM plugin alone. | GC tells the IPAM plugin; STATUS also tells that the master, or the kernel's driver, is missing (50). |
//! | A malformed MAC is noticed half way. | Everything that the configuration can tell is refused before anything is made. |

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

pub use self::config::{Args, Config, Runtime, Settings};

/// What the kernel calls such a link.
const KIND: &str = "macvlan";

/// The macvlan plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "macvlan", about = "gives a container an interface of its own on a link of the host")]
#[cni(config = Config, runtime = Runtime, args = Args)]
pub struct Macvlan {
    kernel: Kernel,
}

impl Macvlan {
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
impl Plugin for Macvlan {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config())?;
        let mac = req.config().mac(req.runtime(), req.args())?;
        let place = Place::of_add(&self.kernel, req)?;
        let inside = settings.link_in_container;
        let parent = master::find(place.masters(inside), settings.master)?;
        let mtu = master::mtu(settings.mtu, &parent)?;
        self.single(Addresses::if_wanted(req), mtu).add(req, &place, |name| {
            let (mode, broadcast_queue) = (settings.mode, settings.broadcast_queue);
            let kind = LinkKind::Macvlan { parent: &parent, mode, broadcast_queue };
            let mac = mac.map(|mac| mac.bytes().into());
            master::create(&place, inside, name, kind, mac, mtu).context("failed to create macvlan")
        })
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        single::del(&self.kernel, KIND, req)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        let place = Place::of_check(&self.kernel, req)?;
        let single = self.single(Addresses::if_wanted(req), master::expected_mtu(settings.mtu));
        single.check(req, &place, |link| {
            master::check(&place, settings.link_in_container, settings.master, link)?;
            check_details(link, &settings)
        })
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        master::status(&self.kernel, settings.link_in_container, settings.master, settings.mtu)?;
        if req.wants_ipam() {
            req.ipam()?.status()?;
        }
        driver::status(&self.kernel, KIND)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        single::gc(req)
    }
}

fn check_details(link: &Link, settings: &Settings<'_>) -> Result<()> {
    let LinkDetails::Macvlan { mode, broadcast_queue } = link.details else {
        return Err(Error::message(format!("container interface {} has no macvlan mode", link.name)));
    };
    if mode != settings.mode {
        return Err(Error::message(format!(
            "container macvlan mode {mode} does not match expected value: {}",
            settings.mode
        )));
    }
    match (settings.broadcast_queue, broadcast_queue) {
        (Some(wanted), Some(found)) if wanted != found => Err(Error::message(format!(
            "container interface {} has bcqueuelen {found}, expected {wanted}",
            link.name
        ))),
        _ => Ok(()),
    }
}
