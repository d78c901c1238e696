//! The host's end of the container's link, where everything is made.

use cni_skel::{AddResult, Error, Interface, Result};
use plugin_attach::single::Place;
use plugin_attach::{Owner, veth};
use plugin_support::netlink::{Handle, Link};

/// The host's end of the container's interface, which the result of an earlier plugin must list.
///
/// # Errors
///
/// When there is none, or the result does not say so.
pub(crate) fn find(place: &Place, result: &AddResult) -> Result<Link> {
    let ifname = &place.owner.ifname;
    if result.interfaces.is_empty() {
        return Err(Error::message(format!(
            "no interfaces provided: prevResult must list the host's end of {ifname:?}, without sandbox"
        )));
    }
    let no_peer = |why: &str| Error::message(format!("container interface {ifname} has no veth peer: {why}"));
    let inside = match place.container_netlink.link(ifname) {
        Err(error) if error.is_not_found() => return Err(no_peer("Link not found")),
        found => found?,
    };
    if !inside.is_kind("veth") {
        return Err(no_peer(&format!("it is a {}", inside.kind.as_deref().unwrap_or("device"))));
    }
    let Some(end) = veth::other_end(&inside, &place.host_netlink)? else {
        let index = inside.peer.unwrap_or_default();
        return Err(Error::message(format!("veth peer with index {index} is not in host ns")));
    };
    let listed = result.interfaces.iter().filter(|interface| interface.name == end.name);
    let sandboxes: Vec<_> =
        listed.map(|interface| interface.sandbox.as_deref().unwrap_or_default()).collect();
    if sandboxes.contains(&"") {
        return Ok(end);
    }
    let found = match sandboxes.first() {
        Some(sandbox) => format!("lists it with sandbox {sandbox:?}, which the host's end must not have"),
        None => "does not list it".into(),
    };
    Err(Error::message(format!(
        "no veth peer of container interface found in host ns: that of {ifname:?} is {:?}, and prevResult {found}",
        end.name
    )))
}

/// Whether a result says that a link is the host's.
pub(crate) fn is_listed(result: Option<&AddResult>, end: &Link) -> bool {
    listed(result).any(|found| found.name == end.name)
}

/// The host's ends of an attachment's pair that live on where the container's is not seen: by an alias, by what is
/// redirected to its own `ifbs`, or by a result, unless the name is another link's by now.
pub(crate) fn unseen(
    netlink: &Handle,
    owner: &Owner,
    result: Option<&AddResult>,
    ifbs: &[Link],
) -> Result<Vec<Link>> {
    let key = owner.key();
    let mut ends = Vec::new();
    for link in netlink.links()?.into_iter().filter(|link| link.is_kind("veth")) {
        let labelled = veth::key(&link);
        if labelled.is_some_and(|labelled| labelled != key) {
            continue;
        }
        let redirects = match netlink.redirects(&link) {
            // It has gone meanwhile.
            Err(error) if error.is_not_found() => continue,
            redirects => redirects?,
        };
        let is_own = if redirects.is_empty() {
            labelled.is_some() || listed(result).any(|listed| is_same(listed, &link))
        } else {
            ifbs.iter().any(|ifb| redirects.contains(&ifb.index))
        };
        if is_own {
            ends.push(link);
        }
    }
    Ok(ends)
}

/// Whether a link is the one that a result lists, as far as that tells.
fn is_same(listed: &Interface, link: &Link) -> bool {
    let mac = link.mac.map(|mac| mac.to_string());
    let listed_mac = listed.mac.as_deref().filter(|mac| !mac.is_empty());
    listed.name == link.name
        && listed_mac.is_none_or(|listed| mac.is_some_and(|mac| mac.eq_ignore_ascii_case(listed)))
}

/// The host's links of a result.
fn listed(result: Option<&AddResult>) -> impl Iterator<Item = &Interface> {
    let interfaces = result.map(|result| result.interfaces.as_slice()).unwrap_or_default();
    interfaces.iter().filter(|interface| interface.sandbox.as_deref().unwrap_or_default().is_empty())
}
