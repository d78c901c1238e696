//! Waiting until a link, or what is on it, is as wanted. The kernel tells of changes; nothing is polled.

use std::time::{Duration, Instant};

use netlink_sys::protocols::NETLINK_ROUTE;

use super::socket::Notices;
use super::{Address, Handle, Link};
use crate::error::{Error, Result};
use crate::netns::NetNs;

/// `RTNLGRP_LINK` and `RTNLGRP_IPV6_IFADDR` of `linux/rtnetlink.h`.
const LINK_CHANGES: u32 = 1;
const IPV6_ADDRESS_CHANGES: u32 = 9;

impl NetNs {
    /// Waits until a link is as `wanted`, `limit` at most, and returns it as it was at last, wanted or not.
    ///
    /// A made-up kernel changes nothing by itself, so there this does not wait.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use plugin_support::{netlink::OperState, netns::NetNs};
    /// # let (host, index) = (NetNs::current()?, 2);
    /// let link = host.wait_for_link(index, Duration::from_secs(1), |link| link.oper_state == OperState::Up)?;
    /// # Ok::<(), plugin_support::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if the link is gone.
    pub fn wait_for_link(&self, index: u32, limit: Duration, wanted: impl Fn(&Link) -> bool) -> Result<Link> {
        self.wait(LINK_CHANGES, limit, |netlink| netlink.link_by_index(index), wanted)
    }

    /// Waits until the IPv6 addresses of a link are as `wanted`, `limit` at most, and returns all its addresses as they
    /// were at last, as [`wait_for_link`](Self::wait_for_link) does. What is waited for is the end of duplicate address
    /// detection.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if the link is gone.
    pub fn wait_for_addresses(
        &self,
        link: &Link,
        limit: Duration,
        wanted: impl Fn(&[Address]) -> bool,
    ) -> Result<Vec<Address>> {
        let wanted = |addresses: &Vec<Address>| wanted(addresses);
        self.wait(IPV6_ADDRESS_CHANGES, limit, |netlink| netlink.addresses(link), wanted)
    }

    fn wait<T>(
        &self,
        group: u32,
        limit: Duration,
        read: impl Fn(&Handle) -> Result<T>,
        wanted: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let failed = |errno| Error::os("failed to wait for netlink notifications", errno);
        let netlink = self.netlink()?;
        let seen = read(&netlink)?;
        #[cfg(feature = "testing")]
        if self.fake.is_some() {
            return Ok(seen);
        }
        if wanted(&seen) {
            return Ok(seen);
        }
        let notices = self.run(|| Notices::of(NETLINK_ROUTE, group))?.map_err(failed)?;
        let end = Instant::now() + limit;
        loop {
            // What changed before the notifications were asked for must not be missed, so this comes first.
            let seen = read(&netlink)?;
            let left = end.saturating_duration_since(Instant::now());
            if wanted(&seen) || left.is_zero() {
                return Ok(seen);
            }
            notices.next(left).map_err(failed)?;
        }
    }
}
