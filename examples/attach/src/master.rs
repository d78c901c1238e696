//! The link below the container's: macvlan, ipvlan and vlan are made on one.

use cni_skel::{Error, ErrorCode, Result, ResultExt};
use plugin_support::Mac;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, Link, LinkKind, NewLink, RouteFilter, RouteType};

use crate::single::Place;

/// Looks for the link of a name or, without one, for that of the default route.
///
/// # Errors
///
/// When there is none.
pub fn find(netlink: &Handle, name: Option<&str>) -> Result<Link> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return of_default_route(netlink) };
    match netlink.link(name) {
        // Go's words for it.
        Err(error) if error.is_not_found() => {
            Err(Error::message(format!("failed to lookup master {name:?}: Link not found")))
        }
        Err(error) => Err(Error::from(error).context(format!("failed to lookup master {name:?}"))),
        Ok(link) => Ok(link),
    }
}

/// The MTU that a link on this one gets; `None` for its own.
///
/// # Errors
///
/// When that is larger. Code 7.
pub fn mtu(bytes: Option<i64>, master: &Link) -> Result<Option<u32>> {
    let bytes = bytes.unwrap_or_default();
    match u32::try_from(bytes) {
        Ok(0) => Ok(None),
        Ok(bytes) if bytes <= master.mtu => Ok(Some(bytes)),
        _ => Err(Error::new(
            ErrorCode::INVALID_NETWORK_CONFIG,
            format!("invalid MTU {bytes}, must be [0, master MTU({})]", master.mtu),
        )),
    }
}

/// The MTU that CHECK looks for, if the configuration says one.
pub fn expected_mtu(bytes: Option<i64>) -> Option<u32> {
    bytes.and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes != 0)
}

/// Makes a link on one of the host, or of the container, in the container.
///
/// # Errors
///
/// When the kernel refuses.
pub fn create(
    place: &Place,
    in_container: bool,
    name: &str,
    kind: LinkKind<'_>,
    mac: Option<Mac>,
    mtu: Option<u32>,
) -> plugin_support::Result<()> {
    let link = NewLink::new(name, kind);
    let link = mac.into_iter().fold(link, NewLink::mac);
    let link = mtu.into_iter().fold(link, NewLink::mtu);
    if in_container {
        place.container_netlink.create(&link)
    } else {
        place.host_netlink.create(&link.netns(&place.container))
    }
}

/// Verifies that a container's link is on the master of a name. Without a name it was the default route's, which may be
/// another by now, so that there is nothing to compare with.
///
/// # Errors
///
/// When there is no such master, or the link is on another.
pub fn check(place: &Place, in_container: bool, name: Option<&str>, link: &Link) -> Result<()> {
    let Some(name) = name else { return Ok(()) };
    let master = find(place.masters(in_container), Some(name))?;
    // One on a link of its own kind is on that one's master: the kernel stacks them so.
    let is_stacked = master.kind == link.kind && !master.is_kind("vlan");
    let below = if is_stacked { master.peer } else { Some(master.index) };
    // Within one namespace the kernel does not say which.
    let is_beside = is_stacked || link.peer_netns.is_none() == in_container;
    if link.peer == below && is_beside {
        return Ok(());
    }
    Err(Error::message(format!("container interface {} is not on master {name:?}", link.name)))
}

/// Verifies that a link could be made on a master of the host. One of a container is not there yet.
///
/// # Errors
///
/// When there is no master (code 50), or its MTU is less than wanted (code 7).
pub fn status(kernel: &Kernel, in_container: bool, name: Option<&str>, bytes: Option<i64>) -> Result<()> {
    if in_container {
        return Ok(());
    }
    let netlink = kernel.current()?.netlink()?;
    mtu(bytes, &find(&netlink, name).code(ErrorCode::PLUGIN_NOT_AVAILABLE)?).map(drop)
}

fn of_default_route(netlink: &Handle) -> Result<Link> {
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        let routes = netlink.routes(&filter)?;
        // One that forbids leads nowhere.
        let leads = routes.iter().filter(|route| route.is_default() && route.kind == RouteType::Unicast);
        let best = leads.min_by_key(|route| route.priority.unwrap_or_default());
        if let Some(index) = best.and_then(|route| route.link.or_else(|| Some(route.next_hops.first()?.link)))
        {
            return Ok(netlink.link_by_index(index)?);
        }
    }
    Err(Error::message("no default route interface found"))
}

#[cfg(test)]
mod tests {
    use plugin_support::netlink::{NewAddress, Peer, Route};
    use plugin_support::testing::FakeKernel;

    use super::*;

    #[test]
    fn the_default_route_with_the_lowest_priority_leads_to_the_master() {
        let netlink = FakeKernel::new().host().netlink().unwrap();
        let told = |name| find(&netlink, name).map(|link| link.name).map_err(|error| error.to_object().msg);
        assert_eq!(told(None).unwrap_err(), "no default route interface found");
        assert_eq!(told(Some("up0")).unwrap_err(), r#"failed to lookup master "up0": Link not found"#);
        for (up, priority) in [("up0", 200), ("up1", 100)] {
            netlink.create(&NewLink::new(up, LinkKind::Veth(Peer::new(format!("{up}p"))))).unwrap();
            let link = netlink.link(up).unwrap();
            netlink.set_up(&link).unwrap();
            let address: std::net::IpAddr = [10, 0, priority, 1].into();
            netlink.add_address(&link, &NewAddress::new(address)).unwrap();
            let everywhere = Route::to(ipnetwork::IpNetwork::new([0; 4].into(), 0).unwrap());
            netlink.add_route(&everywhere.dev(&link).priority(priority.into())).unwrap();
        }
        assert_eq!(told(None).unwrap(), "up1");
        assert_eq!(told(Some("")).unwrap(), "up1", "empty is absent");
        assert_eq!(told(Some("up0")).unwrap(), "up0");
    }

    #[test]
    fn the_masters_mtu_is_the_limit() {
        let netlink = FakeKernel::new().host().netlink().unwrap();
        netlink.create(&NewLink::new("up0", LinkKind::Ifb).mtu(1400)).unwrap();
        let master = netlink.link("up0").unwrap();
        assert_eq!(mtu(None, &master).unwrap(), None);
        assert_eq!(mtu(Some(0), &master).unwrap(), None);
        assert_eq!(mtu(Some(1400), &master).unwrap(), Some(1400));
        for bytes in [-1, 1401, i64::MAX] {
            let error = mtu(Some(bytes), &master).unwrap_err().to_object();
            assert_eq!(error.msg, format!("invalid MTU {bytes}, must be [0, master MTU(1400)]"));
            assert_eq!(error.code(), ErrorCode::INVALID_NETWORK_CONFIG);
        }
    }
}
