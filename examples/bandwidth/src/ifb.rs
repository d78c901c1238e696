//! The link that what comes from a container is sent through, so that it can be limited: names, owners, and what goes.
//!
//! Go's plugin calls it after network and container, so that a container's second interface cannot have one. Here the first
//! interface gets Go's name, by which Go's plugin deletes it, and any other a name of its own. An alias says whose it is;
//! Go's have none, and belong to the interface whose traffic is redirected to them.

use std::collections::{HashMap, HashSet};

use cni_skel::{Error, Result, ResultExt};
use plugin_attach::owner::{Owner, digest, network_key};
use plugin_attach::veth;
use plugin_support::netlink::{Handle, Link, LinkChange, LinkKind, NewLink};

/// What the kernel calls such a link.
pub(crate) const KIND: &str = "ifb";
/// What the names start with, and how many digits of a hash follow.
const PREFIX: &str = "bwp";
const DIGITS: usize = 12;

/// The name that Go's plugin gives.
fn shared_name(network: &str, container_id: &str) -> String {
    format!("{PREFIX}{}", digest(&[network, container_id], DIGITS))
}

/// The names that an attachment's may have, the one to be preferred first.
fn names(owner: &Owner) -> [String; 2] {
    let own = format!("{PREFIX}{}", digest(&[&owner.key()], DIGITS));
    [shared_name(&owner.network, &owner.container_id), own]
}

/// Makes an attachment's, up.
pub(crate) fn create(netlink: &Handle, owner: &Owner, mtu: u32) -> Result<Link> {
    // Under a name that nobody else has, until it says whose it is.
    let temporary = owner.temporary_name();
    delete_named(netlink, &temporary)?;
    // As Go's: what waits is in the token bucket.
    let link = NewLink::new(&temporary, LinkKind::Ifb).mtu(mtu).tx_queue(0);
    netlink.create(&link).context("adding link")?;
    let made = netlink.link(&temporary).and_then(|link| settle(netlink, owner, &link));
    if made.is_err() {
        // It may have its name already.
        let _ = remove_own(netlink, owner);
    }
    made.context("adding link")
}

/// Gives it its name and sets it up.
fn settle(netlink: &Handle, owner: &Owner, link: &Link) -> plugin_support::Result<Link> {
    let [shared, own] = names(owner);
    let label = owner.label();
    match netlink.change(link, &LinkChange::new().name(&shared).alias(&label)) {
        Err(error) if error.is_exists() => {
            netlink.change(link, &LinkChange::new().name(&own).alias(&label))?;
        }
        changed => changed?,
    }
    netlink.set_up(link)?;
    netlink.link_by_index(link.index)
}

/// Makes room for an attachment's: what is left of an ADD that was killed goes, and one in use is an error.
pub(crate) fn make_room(netlink: &Handle, owner: &Owner) -> Result<()> {
    for name in names(owner) {
        let Some(link) = find_named(netlink, &name)? else { continue };
        let is_own = veth::key(&link).is_none_or(|key| key == owner.key());
        if !is_own || !link.is_kind(KIND) {
            continue;
        }
        if redirecting(netlink, &link)?.is_empty() {
            gone(netlink.delete(&link))?;
        } else if veth::key(&link).is_some() {
            return Err(Error::message(format!(
                "adding link: file exists: {name:?} limits interface {:?} of this container already",
                owner.ifname
            )));
        }
    }
    Ok(())
}

/// The one that an attachment has, if any. One of Go's may be that of another of the container's interfaces.
pub(crate) fn find(netlink: &Handle, owner: &Owner) -> Result<Option<Link>> {
    let key = owner.key();
    let mut found = None;
    for name in names(owner) {
        let link = find_named(netlink, &name)?.filter(|link| link.is_kind(KIND));
        match link {
            Some(link) if veth::key(&link) == Some(key.as_str()) => return Ok(Some(link)),
            Some(link) if veth::key(&link).is_none() => found = found.or(Some(link)),
            _ => {}
        }
    }
    Ok(found)
}

/// What DEL removes: all that are labelled as the attachment's, and one of Go's unless the traffic of another of the
/// container's interfaces, whose host end is not `end`, is redirected to it. `alive` tells whether the container may have
/// other interfaces.
pub(crate) fn of(netlink: &Handle, owner: &Owner, end: Option<&Link>, alive: bool) -> Result<Vec<Link>> {
    let (key, [shared, _], temporary) = (owner.key(), names(owner), owner.temporary_name());
    let mut found = Vec::new();
    for link in netlink.links()? {
        if !link.is_kind(KIND) {
            continue;
        }
        let is_own = match veth::key(&link) {
            Some(labelled) => labelled == key,
            None if link.name == shared && alive => {
                let users = redirecting(netlink, &link)?;
                users.iter().all(|user| end.is_some_and(|end| end.index == user.index))
            }
            None => link.name == shared || link.name == temporary,
        };
        if is_own {
            found.push(link);
        }
    }
    Ok(found)
}

/// What GC removes: those of the network whose attachment is not valid, and those without owner that nobody uses. Each with
/// those whose traffic is redirected to it.
pub(crate) fn stale(netlink: &Handle, network: &str, valid: &[Owner]) -> Result<Vec<(Link, Vec<Link>)>> {
    let of_network = network_key(network);
    let keys: HashSet<_> = valid.iter().map(Owner::key).collect();
    let shared: HashSet<_> =
        valid.iter().map(|owner| shared_name(&owner.network, &owner.container_id)).collect();
    let may_be_stale = |link: &&Link| match veth::key(link) {
        _ if !link.is_kind(KIND) => false,
        Some(key) => key.starts_with(&of_network) && !keys.contains(key),
        None => is_name(&link.name) && !shared.contains(&link.name),
    };
    let links = netlink.links()?;
    let candidates: Vec<_> = links.iter().filter(may_be_stale).cloned().collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    // Each pair is asked once, however many are stale.
    let mut users: HashMap<u32, Vec<Link>> = HashMap::new();
    for link in links.iter().filter(|link| link.is_kind("veth")) {
        for to in redirects(netlink, link)?.into_iter().collect::<HashSet<_>>() {
            users.entry(to).or_default().push(link.clone());
        }
    }
    let with_users = |link: Link| {
        let users = users.remove(&link.index).unwrap_or_default();
        (link, users)
    };
    let is_stale = |(link, users): &(Link, Vec<Link>)| veth::key(link).is_some() || users.is_empty();
    Ok(candidates.into_iter().map(with_users).filter(is_stale).collect())
}

/// Deletes one. What `users` redirect to it still would be lost, so that the redirection goes first.
pub(crate) fn delete(netlink: &Handle, link: &Link, users: &[Link]) -> Result<()> {
    for user in users {
        if redirects(netlink, user)?.contains(&link.index) {
            gone(netlink.leave_ingress(user))?;
        }
    }
    gone(netlink.delete(link)).with_context(|| format!("failed to delete {:?}", link.name))
}

/// Deletes all that are labelled as an attachment's, or not yet.
pub(crate) fn remove_own(netlink: &Handle, owner: &Owner) -> Result<()> {
    delete_named(netlink, &owner.temporary_name())?;
    for name in names(owner) {
        match find_named(netlink, &name)? {
            Some(link) if veth::key(&link) == Some(owner.key().as_str()) => {
                delete(netlink, &link, &redirecting(netlink, &link)?)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whose traffic is redirected to a link.
fn redirecting(netlink: &Handle, to: &Link) -> Result<Vec<Link>> {
    let mut users = Vec::new();
    for link in netlink.links()?.into_iter().filter(|link| link.is_kind("veth")) {
        if redirects(netlink, &link)?.contains(&to.index) {
            users.push(link);
        }
    }
    Ok(users)
}

/// Which links a link's traffic is redirected to.
fn redirects(netlink: &Handle, link: &Link) -> Result<Vec<u32>> {
    match netlink.redirects(link) {
        // It has gone meanwhile.
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        redirects => Ok(redirects?),
    }
}

fn is_name(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|hex| hex.len() == DIGITS && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn find_named(netlink: &Handle, name: &str) -> Result<Option<Link>> {
    match netlink.link(name) {
        Err(error) if error.is_not_found() => Ok(None),
        found => Ok(Some(found?)),
    }
}

fn delete_named(netlink: &Handle, name: &str) -> Result<()> {
    find_named(netlink, name)?.map_or(Ok(()), |link| Ok(gone(netlink.delete(&link))?))
}

pub(crate) fn gone(deleted: plugin_support::Result<()>) -> plugin_support::Result<()> {
    match deleted {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_interface_has_gos_name_and_any_other_its_own() {
        let [first, second] = ["eth0", "net1"].map(|ifname| names(&Owner::new("n1", "c1", ifname)));
        assert_eq!(first[0], second[0]);
        assert_ne!(first[1], second[1]);
        assert!(first.iter().chain(&second).all(|name| is_name(name) && name.len() == 15));
        assert!(!is_name("bwp") && !is_name("bwp-from-somebody") && !is_name("eth0"));
    }
}
