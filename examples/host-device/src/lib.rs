//! Moves a device of the host into a container, and back: a drop-in for Go's plugin of that name.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `device` | string, the link's name | one of these four is needed; the first counts |
//! | `hwaddr` | hardware address | |
//! | `kernelpath` | string, the device below `/sys/devices/` | |
//! | `pciBusID` | string, the device's address | `runtimeConfig.deviceID` goes before it |
//! | `DPDKMode` | boolean | false. With it, or a driver for it, there is no link: only the IPAM plugin is asked |
//! | `ipam` | object | none: the interface has no addresses |
//! | `dns` | object | what the IPAM plugin says |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | An ADD that fails leaves the device in the container. | It is on the host, with name, addresses and state. Routes are not restored. |
//! | An interface of the name that is there already is noticed when the device has gone. | Before. |
//! | A `prevResult` is dropped. | It stays in the result. |
//! | DEL fails when device, driver or namespace are gone, and without namespace does not ask the IPAM plugin. | It succeeds, and asks. |
//! | DEL takes an interface of another plugin for the device. | It leaves it. |
//! | A device that the kernel itself has brought back keeps its name of the container. | DEL gives it its own. |
//! | The alias stays. | It goes. |
//! | CHECK does not look at the state, nor which device it is. | It does. |
//! | GC does nothing. | It tells the IPAM plugin. |

mod config;
mod find;
mod journey;

use std::path::PathBuf;

use cni_skel::types::VersionedResult;
use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, GcRequest, Plugin, Result, ResultExt,
    StatusRequest,
};
use plugin_attach::addresses::{Inside, Manner};
use plugin_attach::check::{self, Expected};
use plugin_attach::result::{after, dns, interface};
use plugin_attach::single::Place;
use plugin_attach::teardown::netns_if_there;
use plugin_attach::{Owner, Undo};
use plugin_support::kernel::Kernel;
use plugin_support::netns::NetNs;

use self::journey::Before;

pub use self::config::{Config, Runtime, Wanted};

/// The host-device plugin.
#[derive(Debug, CniPlugin)]
#[cni(name = "host-device", about = "moves a device of the host into a container")]
#[cni(config = Config, runtime = Runtime)]
pub struct HostDevice {
    kernel: Kernel,
    sys: PathBuf,
}

impl Default for HostDevice {
    /// On this machine.
    fn default() -> Self {
        Self::on(Kernel::default(), "/sys")
    }
}

impl HostDevice {
    /// A plugin on another kernel, and with another `/sys`, for tests.
    pub fn on(kernel: Kernel, sys: impl Into<PathBuf>) -> Self {
        Self { kernel, sys: sys.into() }
    }
}

#[cni_skel::plugin]
impl Plugin for HostDevice {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let wanted = req.config().wanted(req.runtime())?;
        let dpdk = find::is_dpdk(&self.sys, &wanted)? || req.config().is_dpdk();
        let place = Place::of_add(&self.kernel, req)?;
        let ipam = if req.wants_ipam() { Some(req.ipam()?) } else { None };
        if ipam.is_none() {
            // Old versions know no result without addresses.
            VersionedResult::new(req.result(), req.version())?;
        }
        let device = if dpdk { None } else { Some(self.device(&place, &wanted)?) };

        // Dropped last: the addresses are given back when nobody has them any more.
        let mut lease = None;
        let mut undo = Undo::default();
        let mut own = AddResult::default();
        let mut ips = Vec::new();
        // Before the device goes: what is given can be taken back, and what it had on the host not as a whole.
        if let Some(ipam) = ipam {
            own.dns = req.network_config().dns.clone();
            let lease = lease.insert(ipam.add()?);
            ips.extend(lease.ips());
            own.routes = lease.routes().to_vec();
            own.dns = dns(&own.dns, lease.dns());
            if ips.is_empty() {
                return Err(Error::message("IPAM plugin returned missing IP config"));
            }
        }
        if let Some(before) = &device {
            undo.by("bring the device back", || before.restore(&place));
            let link = journey::send_in(&place, before)?;
            let netlink = &place.container_netlink;
            if ips.is_empty() {
                netlink.set_up(&link).with_context(|| format!("failed to set {:?} up", link.name))?;
            } else {
                let inside = Inside { netns: &place.container, netlink, link: &link };
                inside.configure(&ips, &own.routes, Manner::default())?;
            }
            let link = netlink.link(&link.name)?;
            let index = own.add_interface(interface(&link, Some(req.netns().to_string())));
            own.add_ips_on(index, ips);
        } else {
            own.ips = ips;
        }
        let result = after(req.result(), own);
        // What cannot be told must not be made.
        VersionedResult::new(result.clone(), req.version())?;
        undo.keep();
        lease.map(cni_skel::Lease::commit);
        Ok(result)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        let brought_back = netns_if_there(&self.kernel, req.netns()).and_then(|netns| match netns {
            Some(netns) => self.bring_back(req, &netns),
            None => self.look_for_lost(req),
        });
        // Only then nobody has the addresses any more.
        let given_back = if req.wants_ipam() { req.ipam().and_then(|ipam| ipam.del()) } else { Ok(()) };
        Error::all([brought_back, given_back].into_iter().filter_map(Result::err)).map_or(Ok(()), Err)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let wanted = req.config().wanted(req.runtime())?;
        if req.wants_ipam() {
            req.ipam()?.check()?;
        }
        // The driver's link is not asked for: a device that has gone elsewhere is found to be gone below.
        if req.config().is_dpdk() || find::is_dpdk(&self.sys, &wanted).unwrap_or(false) {
            return Ok(());
        }
        let (place, result) = (Place::of_check(&self.kernel, req)?, req.prev_result());
        let (netlink, ifname) = (&place.container_netlink, &place.owner.ifname);
        let expected = Expected::find(&self.kernel, result, ifname, req.netns(), &place.container)?;
        let link = netlink
            .link(ifname)
            .with_context(|| format!("Container Interface name in prevResult: {ifname} not found"))?;
        if !check::has_mac(&link, expected.interface) {
            let (wanted, found) =
                (expected.interface.mac.as_deref().unwrap_or_default(), check::mac_of(&link));
            let msg = format!("Interface {ifname} Mac {wanted} doesn't match container Mac: {found}");
            return Err(Error::message(msg));
        }
        if !link.is_up() {
            return Err(Error::message(format!("container interface {ifname} is down")));
        }
        if !journey::may_be(&link, Some(&wanted)) {
            let found =
                journey::name_on_host(&link).map_or("none of the host".into(), |name| format!("{name:?}"));
            return Err(Error::message(format!("container interface {ifname} is another device: {found}")));
        }
        if req.wants_ipam() {
            check::addresses(netlink, &link, &expected.ips)?;
            check::routes(netlink, &result.routes)?;
        }
        Ok(())
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        // Which device is free now says nothing of the network, and the runtime names one for each container.
        if req.wants_ipam() { req.ipam()?.status() } else { Ok(()) }
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        if req.wants_ipam() { req.ipam()?.gc() } else { Ok(()) }
    }
}

impl HostDevice {
    /// The device, and that its name in the container is free.
    fn device(&self, place: &Place, wanted: &Wanted) -> Result<Before> {
        let link =
            find::link(&self.sys, &place.host_netlink, wanted).context("failed to find host device")?;
        let ifname = &place.owner.ifname;
        match place.container_netlink.link(ifname) {
            Err(error) if error.is_not_found() => Before::of(&place.host_netlink, link),
            Err(error) => Err(error.into()),
            Ok(_) => Err(Error::message(format!(
                "failed to move link failed to rename device {:?} to {ifname:?}: file exists",
                link.name
            ))),
        }
    }

    fn bring_back(&self, req: &DelRequest<Self>, netns: &NetNs) -> Result<()> {
        let wanted = req.config().wanted(req.runtime()).ok();
        let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
        let container = netns.netlink()?;
        let host = self.kernel.current()?;
        let named = match container.link(&owner.ifname) {
            Err(error) if error.is_not_found() => None,
            found => Some(found?).filter(|link| journey::may_be(link, wanted.as_ref())),
        };
        // Stopped on its way, or renamed since: the alias is its name all the same.
        let by_alias = |links: Vec<plugin_support::netlink::Link>| {
            let Some(Wanted::Name(_)) = &wanted else { return None };
            links.into_iter().find(|link| journey::may_be(link, wanted.as_ref()))
        };
        let link = match named {
            Some(link) => Some(link),
            None => by_alias(container.links()?),
        };
        match link.as_ref().and_then(|link| Some((link, journey::name_on_host(link)?))) {
            Some((link, name)) => journey::send_back(&container, link, &host, name),
            None => Ok(()),
        }
    }

    fn look_for_lost(&self, req: &DelRequest<Self>) -> Result<()> {
        let Ok(wanted) = req.config().wanted(req.runtime()) else { return Ok(()) };
        journey::find_lost(&self.kernel.current()?.netlink()?, &wanted, req.ifname().as_str())
    }
}
