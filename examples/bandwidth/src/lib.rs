//! Limits the rate of a container's traffic, after a plugin that has made a veth pair: a drop-in for Go's plugin of that
//! name.
//!
//! What goes to the container waits in a token bucket on the host's end of the pair. What comes from it is redirected to a
//! link of kind `ifb`, and waits there.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `ingressRate`, `ingressBurst` | bits a second, bits; towards the container | not limited |
//! | `egressRate`, `egressBurst` | the same, from the container | not limited |
//! | `runtimeConfig.bandwidth` | an object of these four, which counts if none of them stands beside it | none |
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what is to be limited |
//! | `bucket` | which numbers of the kernel's keep to it |
//! | `end` | where that is done |
//! | `ifb` | which link the container's traffic is sent through, and whose it is |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | Without limits and without `prevResult`, ADD panics. | It is refused. |
//! | One interface of a container can be limited in a network. | All can: the second has an `ifb` of its own, which Go's DEL does not find. |
//! | An ADD that fails leaves what it has made. | Nothing is left. |
//! | DEL leaves qdiscs on the host's end, so that an ADD to the same pair fails. | It takes them off where the namespace, `prevResult`, an alias or the redirection tells which pair it is; a token bucket that is left makes room for that of the next ADD. |
//! | DEL fails when the configuration makes no sense. | It cleans up. |
//! | CHECK passes without token bucket, and does not look at the redirection. | It fails, and looks at everything. |
//! | A burst that takes long to fill overflows a number, and is any. | It is the largest. |
//! | The filter redirects twice. | Once. |
//! | GC does nothing, STATUS is always good. | GC removes links without attachment, and takes off what limits the pairs redirected to them; STATUS tells that the kernel has no `ifb` (50). |

mod bucket;
mod config;
mod end;
mod ifb;

use std::slice;

use cni_skel::types::VersionedResult;
use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, GcRequest, Plugin, Result,
    ResultExt, StatusRequest,
};
use plugin_attach::driver;
use plugin_attach::result::interface;
use plugin_attach::single::Place;
use plugin_attach::teardown::netns_if_there;
use plugin_attach::{Owner, Undo, veth};
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, Link, Qdisc, TokenBucket};

use self::bucket::Clock;

pub use self::bucket::Limit;
pub use self::config::{Config, Limits, Runtime};

/// The bandwidth plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "bandwidth", about = "limits the rate of a container's traffic")]
#[cni(versions = "0.3.0..=1.1.0", config = Config, runtime = Runtime)]
pub struct Bandwidth {
    kernel: Kernel,
}

impl Bandwidth {
    /// A plugin on another kernel, for tests.
    pub fn on(kernel: Kernel) -> Self {
        Self { kernel }
    }
}

#[cni_skel::plugin]
impl Plugin for Bandwidth {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let limits = Limits::new(req.config(), req.runtime())?;
        let Some(earlier) = req.prev_result() else {
            let msg = "must be called as chained plugin: prevResult is missing";
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
        };
        if limits.is_none() {
            return Ok(req.result());
        }
        let clock = Clock::read()?;
        let place = Place::of_add(&self.kernel, req)?;
        let end = end::find(&place, earlier)?;
        let (netlink, mut result) = (&place.host_netlink, req.result());
        let mut undo = Undo::default();
        if let Some(limit) = limits.ingress {
            let leftover = limit_end(netlink, &end, &limit.bucket(clock))?;
            let end = &end;
            undo.by("leave the token bucket as it was", move || {
                netlink.unlimit_rate(end)?;
                leftover.map_or(Ok(()), |leftover| Ok(netlink.limit_rate(end, &leftover)?))
            });
        }
        if let Some(limit) = limits.egress {
            ifb::make_room(netlink, &place.owner)?;
            let ifb = ifb::create(netlink, &place.owner, end.mtu)?;
            undo.by("delete the ifb", || ifb::remove_own(netlink, &place.owner));
            take_ingress(netlink, &end)?;
            undo.by("leave the ingress alone", || Ok(ifb::gone(netlink.leave_ingress(&end))?));
            // Its bucket comes first: nothing passes by it.
            limit_rate(netlink, &ifb, &limit.bucket(clock), "create ifb qdisc")?;
            netlink.redirect_ingress(&end, &ifb).context("add filter")?;
            result.add_interface(interface(&ifb, None));
        }
        // What cannot be told must not be made.
        VersionedResult::new(result.clone(), req.version())?;
        undo.keep();
        Ok(result)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
        let netlink = self.kernel.current()?.netlink()?;
        let mut failures = Vec::new();
        let netns = netns_if_there(&self.kernel, req.netns()).unwrap_or_else(|error| {
            failures.push(error);
            None
        });
        // Without the namespace there is no pair, and nothing on it.
        let alive = netns.is_some();
        let end = match netns.map(|netns| host_end(&netns.netlink()?, &netlink, &owner)).transpose() {
            Ok(end) => end.flatten(),
            Err(error) => {
                failures.push(error);
                None
            }
        };
        let ifbs = ifb::of(&netlink, &owner, end.as_ref(), alive)?;
        let may_be_limited = may_be_limited(Limits::new(req.config(), req.runtime()));
        let clear = |end: &Link| {
            let is_own = veth::key(end).is_some() || end::is_listed(req.prev_result(), end);
            clear(&netlink, end, &ifbs, is_own, may_be_limited)
        };
        if let Some(end) = &end {
            failures.extend(clear(end).err());
        } else {
            // A namespace that nobody named may live on, and the pair with it.
            match end::unseen(&netlink, &owner, req.prev_result(), &ifbs) {
                Ok(ends) => failures.extend(ends.iter().filter_map(|end| clear(end).err())),
                Err(error) => failures.push(error),
            }
        }
        for link in &ifbs {
            let deleted = ifb::gone(netlink.delete(link));
            failures.extend(deleted.with_context(|| format!("failed to delete {:?}", link.name)).err());
        }
        Error::all(failures).map_or(Ok(()), Err)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let limits = Limits::new(req.config(), req.runtime())?;
        if limits.is_none() {
            return Ok(());
        }
        let clock = Clock::read()?;
        let place = Place::of_check(&self.kernel, req)?;
        let end = end::find(&place, req.prev_result())?;
        let netlink = &place.host_netlink;
        if let Some(limit) = limits.ingress {
            check_rate(netlink, &end, &limit.bucket(clock))?;
        }
        let Some(limit) = limits.egress else { return Ok(()) };
        let Some(ifb) = ifb::find(netlink, &place.owner)? else {
            return Err(Error::message("get ifb device: Link not found"));
        };
        if !ifb.is_up() {
            return Err(Error::message(format!("ifb device {} is down", ifb.name)));
        }
        check_rate(netlink, &ifb, &limit.bucket(clock))?;
        if !netlink.redirects(&end)?.contains(&ifb.index) {
            let msg = format!("Failed to find filter: nothing redirects from {} to {}", end.name, ifb.name);
            return Err(Error::message(msg));
        }
        Ok(())
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        Limits::new(req.config(), req.runtime())?;
        let can_work = || -> Result<()> {
            Clock::read()?;
            driver::status(&self.kernel, ifb::KIND)
        };
        can_work().context("no rate can be limited").code(ErrorCode::PLUGIN_NOT_AVAILABLE)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let network = req.network().as_str();
        let valid: Vec<_> = req.valid_attachments().iter().map(|valid| Owner::of(network, valid)).collect();
        let netlink = self.kernel.current()?.netlink()?;
        let stale = ifb::stale(&netlink, network, &valid)?;
        let may_be_limited = may_be_limited(Limits::new(req.config(), req.runtime()));
        let mut failures = Vec::new();
        for (ifb, ends) in &stale {
            // The pair may live on.
            let clear = |end: &Link| {
                let is_own = veth::key(end).is_some_and(|key| veth::key(ifb) == Some(key));
                clear(&netlink, end, slice::from_ref(ifb), is_own, may_be_limited)
            };
            failures.extend(ends.iter().filter_map(|end| clear(end).err()));
            failures.extend(ifb::delete(&netlink, ifb, ends).err());
        }
        Error::all(failures).map_or(Ok(()), Err)
    }
}

/// The host's end of an attachment's link, if there is one that is not another's.
fn host_end(inside: &Handle, host: &Handle, owner: &Owner) -> Result<Option<Link>> {
    let end = match inside.link(&owner.ifname) {
        Err(error) if error.is_not_found() => None,
        found => veth::other_end(&found?, host)?,
    };
    Ok(end.filter(|end| veth::key(end).is_none_or(|key| key == owner.key())))
}

/// Whether an attachment may have a token bucket on the host's end of its pair, by a configuration that may have changed
/// since, or lack what the runtime gave: only one that limits nothing but the other way says no.
fn may_be_limited(limits: Result<Limits>) -> bool {
    limits.map_or(true, |limits| limits.ingress.is_some() || limits.egress.is_none())
}

/// Takes off what limits a pair that lives on. What is redirected to none of the attachment's is not its own, and the same
/// holds for a token bucket on a link of which nobody says that it is, unless the attachment has the redirection and
/// `may_be_limited` there.
fn clear(netlink: &Handle, end: &Link, ifbs: &[Link], is_own: bool, may_be_limited: bool) -> Result<()> {
    let redirects = netlink.redirects(end)?;
    let qdiscs = netlink.qdiscs(end)?;
    let redirected = ifbs.iter().any(|ifb| redirects.contains(&ifb.index));
    // An ADD that was killed may have come no further.
    let unused = is_own && redirects.is_empty() && qdiscs.iter().any(Qdisc::is_ingress);
    if redirected || unused {
        ifb::gone(netlink.leave_ingress(end))?;
    }
    let is_own = is_own || (redirected && may_be_limited);
    if is_own && qdiscs.iter().any(Qdisc::is_rate_limit) {
        ifb::gone(netlink.unlimit_rate(end))?;
    }
    Ok(())
}

/// Limits what goes to a container, and gives the limit that was left there of an earlier attachment, which makes room:
/// nobody may have known the pair when that went. With a redirection beside it, it is in use.
fn limit_end(netlink: &Handle, end: &Link, bucket: &TokenBucket) -> Result<Option<TokenBucket>> {
    const ATTEMPT: &str = "create qdisc";
    match netlink.limit_rate(end, bucket) {
        Err(error) if error.is_exists() => {}
        limited => return limited.map(|()| None).context(ATTEMPT),
    }
    let qdiscs = netlink.qdiscs(end)?;
    let leftover = qdiscs.iter().find(|qdisc| qdisc.is_rate_limit()).and_then(|qdisc| qdisc.bucket);
    let Some(leftover) = leftover.filter(|_| !qdiscs.iter().any(Qdisc::is_ingress)) else {
        return Err(exists(ATTEMPT, end));
    };
    netlink.unlimit_rate(end)?;
    let limited = netlink.limit_rate(end, bucket).context(ATTEMPT);
    if limited.is_err() {
        let _ = netlink.limit_rate(end, &leftover);
    }
    limited.map(|()| Some(leftover))
}

fn limit_rate(netlink: &Handle, link: &Link, bucket: &TokenBucket, attempt: &str) -> Result<()> {
    match netlink.limit_rate(link, bucket) {
        Err(error) if error.is_exists() => Err(exists(attempt, link)),
        limited => limited.context(attempt),
    }
}

fn take_ingress(netlink: &Handle, end: &Link) -> Result<()> {
    match netlink.take_ingress(end) {
        Err(error) if error.is_exists() => Err(exists("create ingress qdisc", end)),
        taken => taken.context("create ingress qdisc"),
    }
}

fn exists(attempt: &str, link: &Link) -> Error {
    Error::message(format!("{attempt}: file exists: {:?} has one already", link.name))
}

fn check_rate(netlink: &Handle, link: &Link, expected: &TokenBucket) -> Result<()> {
    let qdiscs = netlink.qdiscs(link)?;
    let Some(found) = qdiscs.iter().filter(|qdisc| qdisc.is_root()).find_map(|qdisc| qdisc.bucket) else {
        return Err(Error::message(format!("Failed to find qdisc: {:?} has no token bucket", link.name)));
    };
    for (what, found, expected) in [
        ("Rate", found.rate, expected.rate),
        ("Limit", found.limit.into(), expected.limit.into()),
        ("Buffer", found.buffer.into(), expected.buffer.into()),
    ] {
        if found != expected {
            let msg = format!("{what} doesn't match: {found} on {:?}, expected {expected}", link.name);
            return Err(Error::message(msg));
        }
    }
    Ok(())
}
