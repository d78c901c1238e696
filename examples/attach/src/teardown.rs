//! DEL and GC of pairs of links: whatever there is of an attachment, and no error for what is gone.
//!
//! A failure does not keep the rest from going, and the addresses are given back in any case.

use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::thread;

use cni_skel::types::config::Attachment;
use cni_skel::{AddResult, CniPlugin, DelRequest, Error, Netns, Result, ResultExt};
use plugin_support::firewall::Tools;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{AddressScope, Handle, Link};
use plugin_support::netns::NetNs;

use crate::masquerade::{IP_MASQ, Known, Masquerade, Rules};
use crate::owner::{Owner, network_key};
use crate::veth;

/// What was found of the attachment in the kernel.
#[derive(Debug, Default)]
struct Found {
    /// The container's link, and what it is seen by.
    link: Option<(Handle, Link)>,
    /// The other end of that, on the host.
    host_end: Option<Link>,
    /// The addresses of that link.
    addresses: Vec<IpAddr>,
    /// Without it: those of the container's other links.
    alive: Vec<IpAddr>,
}

/// Rules of an attachment that only one plugin makes.
#[derive(Clone, Copy)]
pub struct MoreRules<'a> {
    /// The key of the configuration that asks for them.
    pub key: &'static str,
    /// Whether it does.
    pub wanted: bool,
    /// What removes them.
    pub remove: &'a dyn Fn(&Owner) -> Result<()>,
}

impl Found {
    /// Whether the host's end says that such rules were made.
    fn tells_of(&self, rules: &str) -> bool {
        self.host_end.as_ref().is_some_and(|end| veth::tells_of(end, rules))
    }
}

impl fmt::Debug for MoreRules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MoreRules")
            .field("key", &self.key)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

/// The namespace of a container that may be gone.
///
/// # Errors
///
/// When something is there, but cannot be opened.
pub fn netns_if_there(kernel: &Kernel, netns: Option<&Netns>) -> Result<Option<NetNs>> {
    let Some(path) = netns.map(Netns::path) else { return Ok(None) };
    match kernel.netns(path) {
        Err(error) if error.is_not_found() || error.is_not_a_directory() => Ok(None),
        // What an unmounted namespace leaves behind: a plain file.
        Err(plugin_support::Error::NotNetns { .. } | plugin_support::Error::NotNsFile { .. }) => Ok(None),
        opened => opened.map(Some).with_context(|| format!("failed to open netns {path:?}")),
    }
}

/// Deletes the pair of an attachment, with its rules that masquerade and those that `more_rules` removes, and lets the
/// IPAM plugin take its addresses back. Rules are looked for if the configuration asks for them, or if the host's end says
/// that they were made: there may be no program to look with. What is then not found, or cannot be removed before the
/// pair is gone, GC removes.
///
/// # Errors
///
/// Whatever could not be done.
pub fn pair<P: CniPlugin>(
    kernel: &Kernel,
    tools: &dyn Tools,
    req: &DelRequest<P>,
    masquerade: Option<Masquerade>,
    more_rules: Option<MoreRules<'_>>,
) -> Result<()> {
    let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
    let mut failures = Vec::new();
    let mut found = find(kernel, req.netns(), &owner, masquerade.is_some()).unwrap_or_else(|error| {
        failures.push(error);
        Found::default()
    });
    let known = known(req.prev_result(), &owner, &mut found);
    let masquerade = masquerade.or_else(|| found.tells_of(IP_MASQ).then(Masquerade::default));
    let more_rules = more_rules.filter(|rules| rules.wanted || found.tells_of(rules.key));
    let link = found.link;
    let ipam = req.wants_ipam().then(|| req.ipam());
    let remove_link = || {
        let removed = match link {
            Some((netlink, _)) => veth::delete(&netlink, &owner.ifname),
            None => remove_hidden(kernel, &owner),
        };
        // Only then nobody has the addresses any more.
        let given_back = ipam.map_or(Ok(()), |ipam| ipam?.del());
        [removed, given_back].into_iter().filter_map(Result::err).collect()
    };
    if masquerade.is_none() && more_rules.is_none() {
        failures.extend::<Vec<_>>(remove_link());
    } else {
        let remove_rules = || {
            let masquerade =
                masquerade.map(|settings| Rules { tools, owner: &owner, settings }.remove(&known));
            let more = more_rules.map(|rules| (rules.remove)(&owner));
            [masquerade, more].into_iter().flatten().filter_map(Result::err).collect()
        };
        failures.extend(at_once(remove_link, remove_rules));
    }
    Error::all(failures).map_or(Ok(()), Err)
}

/// Deletes the pairs that are labelled as a network's, save for those of valid attachments.
///
/// # Errors
///
/// When the kernel refuses; the others are deleted all the same.
pub fn collect_pairs(kernel: &Kernel, network: &str, valid: &[Attachment]) -> Result<()> {
    let of_network = network_key(network);
    let valid: HashSet<_> = valid.iter().map(|valid| Owner::of(network, valid).key()).collect();
    let is_stale = |key: &str| key.starts_with(&of_network) && !valid.contains(key);
    veth::delete_labelled(&kernel.current()?.netlink()?, is_stale)
}

/// Both at once: the kernel lets whoever deletes a link, or a rule, wait for a grace period.
fn at_once(first: impl FnOnce() -> Vec<Error> + Send, second: impl FnOnce() -> Vec<Error>) -> Vec<Error> {
    thread::scope(|scope| {
        let first = thread::Builder::new().name("link".into()).spawn_scoped(scope, first);
        let rest = second();
        let mut failures = match first {
            Ok(first) => first.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => vec![Error::from(error).context("failed to start a thread")],
        };
        failures.extend(rest);
        failures
    })
}

fn find(kernel: &Kernel, netns: Option<&Netns>, owner: &Owner, masquerades: bool) -> Result<Found> {
    let mut found = Found::default();
    let Some(netns) = netns_if_there(kernel, netns)? else { return Ok(found) };
    let netlink = netns.netlink()?;
    let link = match netlink.link(&owner.ifname) {
        Err(error) if error.is_not_found() => None,
        link => Some(link?).filter(|link| link.is_kind("veth")),
    };
    let host_end = match &link {
        Some(link) => veth::other_end(link, &kernel.current()?.netlink()?)?,
        None => None,
    };
    // One that is labelled as another attachment's is of one whose ADD came first: the one that is to be undone has then
    // failed, and never had this link. Without a label, it is taken for ours.
    let is_own = host_end.as_ref().and_then(veth::key).is_none_or(|key| key == owner.key());
    let link = link.filter(|_| is_own);
    found.host_end = host_end.filter(|_| is_own);
    if masquerades || found.tells_of(IP_MASQ) {
        match &link {
            Some(link) => found.addresses = global_addresses(&netlink, link)?,
            None => {
                for link in netlink.links()? {
                    found.alive.extend(global_addresses(&netlink, &link)?);
                }
            }
        }
    }
    found.link = link.map(|link| (netlink, link));
    Ok(found)
}

/// Deletes the pair where the container's end was not seen: its namespace cannot be entered but lives on, or someone has
/// renamed the link.
fn remove_hidden(kernel: &Kernel, owner: &Owner) -> Result<()> {
    let key = owner.key();
    veth::delete_labelled(&kernel.current()?.netlink()?, |found| found == key)
}

/// What is known of the attachment's masquerade.
fn known(prev_result: Option<&AddResult>, owner: &Owner, found: &mut Found) -> Known {
    let mut addresses = std::mem::take(&mut found.addresses);
    if let Some(result) = prev_result {
        let own = result.container_interface(&owner.ifname);
        let ips = result.ips.iter().filter(|ip| ip.interface.is_none() || ip.interface == own);
        addresses.extend(ips.map(|ip| ip.address.address()));
    }
    let addresses = Some(addresses).filter(|addresses| !addresses.is_empty());
    Known { addresses, alive: std::mem::take(&mut found.alive) }
}

fn global_addresses(netlink: &Handle, link: &Link) -> Result<Vec<IpAddr>> {
    let addresses = netlink.addresses(link)?;
    let global = addresses.iter().filter(|address| address.scope == AddressScope::Universe);
    Ok(global.map(|address| address.network.ip()).collect())
}
