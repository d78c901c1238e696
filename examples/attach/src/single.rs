//! The whole of a plugin whose interface is one link in the container: what such plugins have in common is all but the link.
//!
//! The link is made under a name that nobody else has, and gets its own when it is complete. Until kernel 6.13 or so a name
//! must also be free where the request comes from, which is why Go's plugins do the same. The name says whose the link is:
//! DEL finds it also where ADD was killed.

use cni_skel::types::VersionedResult;
use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, Context, DelRequest, Dns, Error, GcRequest, IpConfig,
    Lease, Result, ResultExt, Route,
};
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, Link, LinkChange};
use plugin_support::netns::NetNs;

use crate::addresses::{Inside, Manner};
use crate::check::{self, Expected, Wanted};
use crate::owner::Owner;
use crate::result::{after, dns, interface};
use crate::teardown::netns_if_there;
use crate::undo::Undo;
use crate::veth;

/// A plugin of this sort, with its settings.
#[derive(Clone, Copy, Debug)]
pub struct Single<'a> {
    /// What answers.
    pub kernel: &'a Kernel,
    /// The link's kind, in the kernel's words.
    pub kind: &'static str,
    /// Where its addresses come from.
    pub addresses: Addresses,
    /// What it does beside having addresses.
    pub manner: Manner,
    /// Its MTU, if the configuration says one.
    pub mtu: Option<u32>,
}

/// Where the addresses of a link come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// From nowhere: whoever uses the link gives it some.
    None,
    /// From the earlier plugin of the chain, whose addresses it takes over.
    OfChain,
    /// From the configuration's IPAM plugin.
    OfIpam,
}

/// Where a link is made: the host and the container, and whose it will be.
#[derive(Debug)]
pub struct Place {
    /// The host's namespace.
    pub host: NetNs,
    /// The host's links.
    pub host_netlink: Handle,
    /// The container's namespace.
    pub container: NetNs,
    /// The container's links.
    pub container_netlink: Handle,
    /// The attachment.
    pub owner: Owner,
}

impl Addresses {
    /// From the IPAM plugin, if the configuration names one.
    pub fn if_wanted<P: CniPlugin>(req: &Context<P>) -> Self {
        if req.wants_ipam() { Self::OfIpam } else { Self::None }
    }
}

impl Place {
    /// The place of an ADD.
    ///
    /// # Errors
    ///
    /// When a namespace cannot be entered.
    pub fn of_add<P: CniPlugin>(kernel: &Kernel, req: &AddRequest<P>) -> Result<Self> {
        let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
        Self::new(kernel, req.netns().path(), owner)
    }

    /// The place of a CHECK.
    ///
    /// # Errors
    ///
    /// When a namespace cannot be entered.
    pub fn of_check<P: CniPlugin>(kernel: &Kernel, req: &CheckRequest<P>) -> Result<Self> {
        let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
        Self::new(kernel, req.netns().path(), owner)
    }

    fn new(kernel: &Kernel, path: &std::path::Path, owner: Owner) -> Result<Self> {
        let container = kernel.netns(path).with_context(|| format!("failed to open netns {path:?}"))?;
        let host = kernel.current()?;
        let (host_netlink, container_netlink) = (host.netlink()?, container.netlink()?);
        Ok(Self { host, host_netlink, container, container_netlink, owner })
    }

    /// The links among which that below the container's is.
    pub fn masters(&self, in_container: bool) -> &Handle {
        if in_container { &self.container_netlink } else { &self.host_netlink }
    }

    /// Whether the container's name for the link is free; `attempt` is what an error begins with.
    fn is_free(&self, attempt: &str) -> Result<()> {
        match self.container_netlink.link(&self.owner.ifname) {
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
            Ok(link) => Err(Error::message(format!(
                "{attempt}: file exists: {:?} is in netns {:?} already",
                link.name,
                self.container.path()
            ))),
        }
    }
}

impl Single<'_> {
    /// ADD: everything, or nothing. `make` makes a link of the name that it is given in the container, down.
    ///
    /// # Errors
    ///
    /// When the interface cannot be made, or not be told in the configuration's version.
    pub fn add<P: CniPlugin>(
        &self,
        req: &AddRequest<P>,
        place: &Place,
        make: impl FnOnce(&str) -> Result<()>,
    ) -> Result<AddResult> {
        let addresses = self.addresses;
        let (ifname, netlink) = (place.owner.ifname.as_str(), &place.container_netlink);
        let ipam = if addresses == Addresses::OfIpam { Some(req.ipam()?) } else { None };
        if addresses == Addresses::None {
            // Old versions know no result without addresses.
            VersionedResult::new(req.result(), req.version())?;
        }
        let rename = format!("failed to rename {} to {ifname:?}", P::NAME);
        place.is_free(&rename)?;

        let name = place.owner.temporary_name();
        // Dropped last: the addresses are given back when nobody has them any more.
        let mut lease: Option<Lease> = None;
        let mut undo = Undo::default();

        // From an ADD that was killed, as nobody else makes such names.
        veth::delete(netlink, &name)?;
        undo.by("delete the container's link", || veth::delete(netlink, &name));
        make(&name)?;
        let link = netlink.link(&name).with_context(|| format!("failed to refetch {} {name:?}", P::NAME))?;
        let made = link.clone();
        undo.by("delete the container's link", move || Ok(veth::gone(netlink.delete(&made))?));
        netlink.change(&link, &LinkChange::new().name(ifname).alias(&place.owner.key())).context(rename)?;
        let renamed =
            netlink.link(ifname).with_context(|| format!("failed to refetch {} {ifname:?}", P::NAME))?;

        let mut own = AddResult::default();
        own.dns = req.network_config().dns.clone();
        let (mut ips, mut routes) = (Vec::new(), Vec::new());
        match (ipam, req.prev_result()) {
            (Some(ipam), _) => {
                let lease = lease.insert(ipam.add()?);
                ips.extend(lease.ips());
                routes.extend_from_slice(lease.routes());
                own.dns = dns(&own.dns, lease.dns());
                if ips.is_empty() {
                    return Err(Error::message("IPAM plugin returned missing IP config"));
                }
            }
            (None, Some(earlier)) if addresses == Addresses::OfChain => {
                ips.extend_from_slice(&earlier.ips);
                routes.extend_from_slice(&earlier.routes);
            }
            _ => {}
        }
        let done = self.set_up(place, &renamed, &ips, &routes)?;

        let eth0 = interface(&done, Some(req.netns().to_string()));
        let result = if addresses == Addresses::OfChain {
            taken_over(req.result(), &own.dns, eth0)
        } else {
            let index = own.add_interface(eth0);
            own.add_ips_on(index, ips);
            own.routes = routes;
            // What an earlier plugin of the chain has made stays in the result.
            after(req.result(), own)
        };
        // What cannot be told must not be made.
        VersionedResult::new(result.clone(), req.version())?;
        undo.keep();
        lease.map(Lease::commit);
        Ok(result)
    }

    fn set_up(&self, place: &Place, link: &Link, ips: &[IpConfig], routes: &[Route]) -> Result<Link> {
        let Place { container, container_netlink: netlink, owner, .. } = place;
        if ips.is_empty() {
            netlink.set_up(link).with_context(|| format!("failed to set {:?} UP", link.name))?;
        } else {
            let inside = Inside { netns: container, netlink, link };
            inside.configure(ips, routes, self.manner)?;
        }
        // As it is now: the kernel may have adapted it to the link below.
        Ok(netlink.link(&owner.ifname)?)
    }

    /// CHECK: `look` compares what only this kind of link has.
    ///
    /// # Errors
    ///
    /// When something is not as ADD has made it.
    pub fn check<P: CniPlugin>(
        &self,
        req: &CheckRequest<P>,
        place: &Place,
        look: impl FnOnce(&Link) -> Result<()>,
    ) -> Result<()> {
        if self.addresses == Addresses::OfIpam {
            req.ipam()?.check()?;
        }
        let (result, netlink) = (req.prev_result(), &place.container_netlink);
        let ifname = &place.owner.ifname;
        let expected = Expected::find(self.kernel, result, ifname, req.netns(), &place.container)?;
        let lost = "Container Interface name in prevResult:";
        let wanted = Wanted { kind: self.kind, lost, up: true, mtu: self.mtu };
        let link = check::link(netlink, expected.interface, wanted)?;
        look(&link)?;
        if self.addresses == Addresses::None {
            // Whatever addresses there are, others have given them.
            return Ok(());
        }
        check::addresses(netlink, &link, &expected.ips)?;
        check::routes(netlink, &result.routes)
    }
}

/// The result of an earlier plugin, whose addresses are now on this interface.
fn taken_over(mut earlier: AddResult, configured: &Dns, eth0: cni_skel::Interface) -> AddResult {
    let index = earlier.add_interface(eth0);
    earlier.ips.iter_mut().for_each(|ip| ip.interface = Some(index));
    earlier.dns = dns(configured, &earlier.dns);
    earlier
}

/// DEL: deletes the container's link and lets the IPAM plugin take its addresses back. That there is none is fine.
///
/// # Errors
///
/// Whatever could not be done; the rest is.
pub fn del<P: CniPlugin>(kernel: &Kernel, kind: &str, req: &DelRequest<P>) -> Result<()> {
    let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
    let removed = netns_if_there(kernel, req.netns())
        .and_then(|netns| netns.map_or(Ok(()), |netns| remove(&netns.netlink()?, kind, &owner)));
    // Only then nobody has the addresses any more.
    let given_back = if req.wants_ipam() { req.ipam().and_then(|ipam| ipam.del()) } else { Ok(()) };
    Error::all([removed, given_back].into_iter().filter_map(Result::err)).map_or(Ok(()), Err)
}

/// GC: the links go with their namespaces, so that only addresses are left to collect.
///
/// # Errors
///
/// Those of the IPAM plugin.
pub fn gc<P: CniPlugin>(req: &GcRequest<P>) -> Result<()> {
    if req.wants_ipam() { req.ipam()?.gc() } else { Ok(()) }
}

/// Deletes what an attachment has of a container's links: also one that somebody has renamed, or that ADD did not come to
/// give its name. A link that is labelled as another attachment's stays: the ADD that is undone has failed because of it.
fn remove(netlink: &Handle, kind: &str, owner: &Owner) -> Result<()> {
    let (key, temporary) = (owner.key(), owner.temporary_name());
    let is_own = |link: &&Link| {
        let labelled = veth::key(link);
        let named = link.name == temporary || (link.name == owner.ifname && labelled.is_none());
        link.is_kind(kind) && (named || labelled == Some(key.as_str()))
    };
    let links = netlink.links()?;
    let failures = links.iter().filter(is_own).filter_map(|link| {
        let deleted = veth::gone(netlink.delete(link));
        deleted.with_context(|| format!("failed to delete {:?}", link.name)).err()
    });
    Error::all(failures.collect::<Vec<_>>()).map_or(Ok(()), Err)
}
