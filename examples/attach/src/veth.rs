//! A pair of links: one end in the container, the other on the host.

use cni_skel::{Error, MacAddr, Result, ResultExt};
use plugin_support::netlink::{Handle, Link, LinkKind, NewLink, Peer};
use plugin_support::netns::NetNs;

use crate::owner::{Owner, key_of, random_mac, random_veth};

/// How many names are tried for the host's end, until one is free.
const NAMES: usize = 10;

/// What comes between label and rules. No name in a label has it.
const RULES: &str = ", rules: ";

/// Where a pair is made.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The host's namespace.
    pub host: &'a NetNs,
    /// The host's links.
    pub host_netlink: &'a Handle,
    /// The container's namespace.
    pub container: &'a NetNs,
    /// The container's links.
    pub container_netlink: &'a Handle,
}

/// Asserts that the container has no such link yet.
///
/// # Errors
///
/// When it has, or the kernel does not say.
pub fn assert_free(place: Place<'_>, ifname: &str) -> Result<()> {
    match place.container_netlink.link(ifname) {
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(Error::message(format!(
            "container veth name ({ifname:?}) already exists: {ifname:?} is in netns {:?}",
            place.container.path()
        ))),
    }
}

/// Makes a pair, both ends down: `ifname` in the container, and a name of nobody on the host. Gives the latter.
///
/// # Errors
///
/// When the container has such a link already, or the kernel refuses; nothing is made then.
pub fn create(place: Place<'_>, ifname: &str, mac: Option<MacAddr>, mtu: Option<u32>) -> Result<String> {
    for _ in 0..NAMES {
        let name = random_veth();
        // With an address that was asked for, nobody on the host gives the link another one behind our back.
        let peer = Peer::new(&name).netns(place.host).mac(random_mac());
        let peer = mtu.into_iter().fold(peer, Peer::mtu);
        let link = NewLink::new(ifname, LinkKind::Veth(peer));
        let link = mtu.into_iter().fold(link, NewLink::mtu);
        let link = mac.into_iter().fold(link, |link, mac| link.mac(mac.bytes()));
        match place.container_netlink.create(&link) {
            Ok(()) => return Ok(name),
            Err(error) if error.is_exists() => {}
            Err(error) => return Err(error).context("failed to make veth pair"),
        }
        if place.container_netlink.link(ifname).is_ok() {
            let netns = place.container.path();
            return Err(Error::message(format!(
                "container veth name ({ifname:?}) peer provided ({name:?}) already exists: {ifname:?} is in netns {netns:?}"
            )));
        }
    }
    Err(Error::message(format!("failed to find a unique veth name: {NAMES} random ones were all taken")))
}

/// Deletes the container's link, and with it the host's end. That there is none is fine.
///
/// # Errors
///
/// When the kernel refuses.
pub fn delete(netlink: &Handle, ifname: &str) -> Result<()> {
    let deleted = netlink.link(ifname).and_then(|link| netlink.delete(&link));
    gone(deleted).with_context(|| format!("failed to delete {ifname:?}"))
}

/// Deletes the pairs whose host's end has a label with a wanted key.
///
/// # Errors
///
/// When the kernel refuses; the others are deleted all the same.
pub fn delete_labelled(netlink: &Handle, wanted: impl Fn(&str) -> bool) -> Result<()> {
    let links = netlink.links()?;
    let labelled = |link: &&Link| link.is_kind("veth") && key(link).is_some_and(&wanted);
    let failures = links.iter().filter(labelled).filter_map(|link| {
        gone(netlink.delete(link)).with_context(|| format!("failed to delete {:?}", link.name)).err()
    });
    Error::all(failures.collect::<Vec<_>>()).map_or(Ok(()), Err)
}

/// The key of the label that a link has.
pub fn key(link: &Link) -> Option<&str> {
    link.alias.as_deref().and_then(key_of)
}

/// The alias of a host's end: the attachment's label, and which rules of the firewall ADD makes for it, in the words of the
/// configuration. DEL finds these whatever the configuration says by then.
pub fn alias<'a>(owner: &Owner, rules: impl IntoIterator<Item = &'a str>) -> String {
    let rules = rules.into_iter().collect::<Vec<_>>().join(" ");
    if rules.is_empty() { owner.label() } else { format!("{}{RULES}{rules}", owner.label()) }
}

/// Whether a host's end says that such rules were made. Without alias it says nothing.
pub fn tells_of(link: &Link, rules: &str) -> bool {
    let told = link.alias.as_deref().and_then(|alias| alias.rsplit_once(RULES));
    told.is_some_and(|(_, told)| told.split(' ').any(|word| word == rules))
}

/// The other end of a link, in another namespace.
///
/// # Errors
///
/// When the kernel refuses. That there is no such link is none.
pub fn other_end(link: &Link, elsewhere: &Handle) -> Result<Option<Link>> {
    let Some(index) = link.peer.filter(|_| link.is_kind("veth")) else { return Ok(None) };
    match elsewhere.link_by_index(index) {
        // Indexes are only unique within a namespace: it must say the same of this one.
        Ok(other) => Ok(Some(other).filter(|other| other.is_kind("veth") && other.peer == Some(link.index))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn gone(deleted: plugin_support::Result<()>) -> plugin_support::Result<()> {
    match deleted {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use plugin_support::testing::FakeKernel;

    use super::*;

    #[test]
    fn a_link_tells_of_its_rules() {
        let netlink = FakeKernel::new().host().netlink().unwrap_or_else(|error| panic!("{error}"));
        let lo = netlink.link("lo").unwrap_or_else(|error| panic!("{error}"));
        let long = Owner::new(&"n".repeat(300), &"c".repeat(300), "eth0");
        for owner in [Owner::new("n1", "c1", "eth0"), long] {
            for made in [&[][..], &["a"], &["a", "bc"]] {
                let alias = alias(&owner, made.iter().copied());
                // The kernel takes no longer ones.
                assert!(alias.len() < 256);
                let link = Link { alias: Some(alias), ..lo.clone() };
                assert_eq!(key(&link), Some(owner.key().as_str()));
                for rules in ["a", "bc", "b", ""] {
                    assert_eq!(tells_of(&link, rules), made.contains(&rules), "{link:?}: {rules:?}");
                }
            }
        }
        assert!(!tells_of(&lo, "a"));
    }
}
