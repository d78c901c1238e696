//! Puts an interface of a container into a routing domain, after a plugin that has made it: a drop-in for Go's plugin of
//! that name.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `vrfname` | string, the domain's link | needed |
//! | `table` | number, the domain's routing table | that of the domain, or the first that nobody uses |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | A table of the kernel's, or one that rules or routes use, can be taken for free. | It is passed over. |
//! | An ADD that fails leaves a domain without interfaces. | Nothing is left. |
//! | CHECK does not look at the table, nor whether the domain is up. | It does. |
//! | DEL fails when interface or namespace are gone, or the configuration makes no sense, and takes an interface out of whatever it is a port of. | It succeeds, and leaves ports of others. |
//! | STATUS is always good. | It tells that the configuration makes no sense (7), or that the kernel's driver is missing (50). |

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, Plugin, Result, ResultExt,
    StatusRequest,
};
use plugin_attach::Undo;
use plugin_attach::driver;
use plugin_attach::teardown::netns_if_there;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{
    Handle, Link, LinkChange, LinkDetails, LinkKind, NewAddress, NewLink, RouteFilter,
};

/// Tables of the kernel's: default, main, local.
const RESERVED: std::ops::RangeInclusive<u32> = 253..=255;

/// The keys of the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub struct Config {
    vrfname: Option<String>,
    table: Option<u32>,
}

impl Config {
    fn name(&self) -> Result<&str> {
        self.vrfname.as_deref().filter(|name| !name.is_empty()).ok_or_else(|| {
            let msg = "configuration is expected to have a valid vrf name: vrfname is missing";
            Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg)
        })
    }

    /// 0 means none in particular.
    fn table(&self) -> Option<u32> {
        self.table.filter(|table| *table != 0)
    }
}

/// The vrf plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "vrf", about = "puts an interface of a container into a routing domain")]
#[cni(versions = "0.3.1..=1.1.0", config = Config)]
pub struct Vrf {
    kernel: Kernel,
}

impl Vrf {
    /// A plugin on another kernel, for tests.
    pub fn on(kernel: Kernel) -> Self {
        Self { kernel }
    }
}

#[cni_skel::plugin]
impl Plugin for Vrf {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let name = req.config().name()?;
        if req.prev_result().is_none() {
            let msg = "missing prevResult from earlier plugin";
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
        }
        let netlink = self.kernel.netns(req.netns().path())?.netlink()?;
        let mut undo = Undo::default();
        put_in(&netlink, req.ifname().as_str(), name, req.config().table(), &mut undo)
            .context("cmdAdd failed")?;
        undo.keep();
        Ok(req.result())
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        // Both go with the namespace.
        let Some(netns) = netns_if_there(&self.kernel, req.netns())? else { return Ok(()) };
        let (Ok(name), netlink) = (req.config().name(), netns.netlink()?) else { return Ok(()) };
        let Ok(Some((vrf, _))) = find(&netlink, name) else { return Ok(()) };
        match netlink.link(req.ifname().as_str()) {
            Ok(link) if link.master == Some(vrf.index) => {
                gone(netlink.change(&link, &LinkChange::new().no_master()))
                    .with_context(|| format!("resetMaster: could reset master to {}", link.name))?;
            }
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
        // Whoever made it, the last one out puts out the light.
        if netlink.links()?.iter().any(|link| link.master == Some(vrf.index)) {
            return Ok(());
        }
        Ok(gone(netlink.delete(&vrf))?)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let (name, ifname) = (req.config().name()?, req.ifname().as_str());
        let netlink = self.kernel.netns(req.netns().path())?.netlink()?;
        let Some((vrf, table)) = find(&netlink, name)? else {
            return Err(Error::message(format!("Link not found: no VRF {name}")));
        };
        is_table(name, table, req.config().table())?;
        if !vrf.is_up() {
            return Err(Error::message(format!("VRF {name} is down")));
        }
        match netlink.link(ifname) {
            Ok(link) if link.master == Some(vrf.index) => Ok(()),
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Err(Error::message(format!("Failed to find {ifname} associated to vrf {name}"))),
        }
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        req.config().name()?;
        driver::status(&self.kernel, "vrf")
    }
}

/// Puts an interface into a domain, which is made if there is none.
fn put_in<'a>(
    netlink: &'a Handle,
    ifname: &str,
    name: &str,
    table: Option<u32>,
    undo: &mut Undo<'a>,
) -> Result<()> {
    let link = free_link(netlink, ifname)?;
    let vrf = if let Some((vrf, found)) = find(netlink, name)? {
        is_table(name, found, table)?;
        vrf
    } else {
        let vrf = create(netlink, name, table)?;
        let made = vrf.clone();
        undo.by("delete the domain", move || Ok(gone(netlink.delete(&made))?));
        netlink.set_up(&vrf).with_context(|| format!("could not set link up for VRF {name}"))?;
        vrf
    };
    enslave(netlink, &link, &vrf)
}

/// The domain of a name, with its table.
fn find(netlink: &Handle, name: &str) -> Result<Option<(Link, u32)>> {
    let link = match netlink.link(name) {
        Err(error) if error.is_not_found() => return Ok(None),
        link => link?,
    };
    match link.details {
        LinkDetails::Vrf { table } => Ok(Some((link, table))),
        _ => Err(Error::message(format!("Netlink {name} is not a VRF"))),
    }
}

fn is_table(name: &str, found: u32, wanted: Option<u32>) -> Result<()> {
    match wanted {
        Some(wanted) if wanted != found => {
            let msg =
                format!("VRF {name} already exist with different routing table {found}, expected {wanted}");
            Err(Error::message(msg))
        }
        _ => Ok(()),
    }
}

/// The interface, which must be no port of anything.
fn free_link(netlink: &Handle, ifname: &str) -> Result<Link> {
    let link = netlink.link(ifname).with_context(|| format!("could not get link by name {ifname}"))?;
    let Some(master) = link.master else { return Ok(link) };
    let master = netlink.link_by_index(master).with_context(|| {
        format!("interface {ifname} has already a master set, could not retrieve the name")
    })?;
    Err(Error::message(format!("interface {ifname} has already a master set: {}", master.name)))
}

/// Makes a domain, down.
fn create(netlink: &Handle, name: &str, table: Option<u32>) -> Result<Link> {
    let table = table.map_or_else(|| free_table(netlink), Ok)?;
    netlink
        .create(&NewLink::new(name, LinkKind::Vrf { table }))
        .and_then(|()| netlink.link(name))
        .with_context(|| format!("could not add VRF {name}"))
}

/// The first table that neither domains nor rules nor routes use.
fn free_table(netlink: &Handle) -> Result<u32> {
    let mut taken: Vec<u32> = netlink.rules()?.iter().map(|rule| rule.table).collect();
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        taken.extend(netlink.routes(&filter.every_table())?.iter().map(|route| route.table));
    }
    taken.extend(netlink.links()?.iter().filter_map(|link| match link.details {
        LinkDetails::Vrf { table } => Some(table),
        _ => None,
    }));
    let free = (1..u32::MAX).find(|table| !RESERVED.contains(table) && !taken.contains(table));
    free.ok_or_else(|| Error::message("findFreeRoutingTableID: Failed to find an available routing id"))
}

/// Puts a link into a domain. The kernel takes it down and up for that, and with it go its IPv6 addresses.
fn enslave(netlink: &Handle, link: &Link, vrf: &Link) -> Result<()> {
    let (name, ifname) = (&vrf.name, &link.name);
    let before =
        netlink.addresses(link).with_context(|| format!("failed getting ipv6 addresses for {ifname}"))?;
    let put_in = netlink.change(link, &LinkChange::new().master(vrf));
    put_in.with_context(|| format!("could not set vrf {name} as master of {ifname}"))?;
    let restored = || -> Result<()> {
        let after = netlink
            .addresses(link)
            .with_context(|| format!("failed getting ipv6 new addresses for {ifname}"))?;
        let is_lost = |network: &ipnetwork::IpNetwork| {
            network.is_ipv6() && !after.iter().any(|address| address.network == *network)
        };
        for network in before.iter().map(|address| address.network).filter(is_lost) {
            netlink
                .add_address(link, &NewAddress::new(network))
                .with_context(|| format!("could not restore address {network} to {ifname} @ {name}"))?;
        }
        Ok(())
    };
    restored().inspect_err(|_| {
        // The failure that led here is told.
        let _ = netlink.change(link, &LinkChange::new().no_master());
    })
}

fn gone(deleted: plugin_support::Result<()>) -> plugin_support::Result<()> {
    match deleted {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
