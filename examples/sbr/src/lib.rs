//! Routes what a container sends by the address that it sends from, after a plugin that has made an interface: a drop-in for
//! Go's plugin of that name.
//!
//! Each address of the interface gets a routing table, with the routes of the interface that fit it, and a rule that sends
//! packets from it there. An answer then leaves by the interface that the question came by, whatever the default route is.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `table` | number | the first from 100 on that nobody uses. With one, somebody else fills it: only rules are made |
//! | `gateways` | list of one address of each family at most | what the addresses of the result say |
//! | `addSourceHints` | boolean | false; whether the main table keeps the interface's networks |
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results, rules and tables are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | Routes of IPv6 stand in the tables of IPv4 addresses, too. | They do not. |
//! | A route by a router outside of all networks is lost. | It stays in the main table. |
//! | The link-local network leaves the main table. | It stays: packets from there have no rule. |
//! | An interface without addresses of its own loses its routes. | It is refused. |
//! | A table that has routes but no rule is taken for free. | It is passed over. |
//! | An ADD that fails leaves what it has made. | Everything is as it was. |
//! | CHECK does nothing. | It looks for rules and routes. |
//! | DEL fails without namespace, deletes anybody's rules from the addresses, and leaves the tables. | It succeeds, deletes its own, and empties its tables. |
//! | STATUS is always good. | It tells that the kernel has no rules (50). |

mod add;
mod config;

use std::net::IpAddr;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, IpConfig, Plugin, Result,
    ResultExt, StatusRequest,
};
use ipnetwork::IpNetwork;
use plugin_attach::Undo;
use plugin_attach::addresses::network;
use plugin_attach::teardown::netns_if_there;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, Link, Route, RouteFilter, Rule};

pub use self::config::{Config, Settings};

/// The first table that is tried.
const FIRST_TABLE: u32 = 100;

/// The sbr plugin.
#[derive(Debug, Default, CniPlugin)]
#[cni(name = "sbr", about = "routes what a container sends by the address that it sends from", config = Config)]
pub struct Sbr {
    kernel: Kernel,
}

impl Sbr {
    /// A plugin on another kernel, for tests.
    pub fn on(kernel: Kernel) -> Self {
        Self { kernel }
    }
}

#[cni_skel::plugin]
impl Plugin for Sbr {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config())?;
        let ifname = req.ifname().as_str();
        let Some(earlier) = req.prev_result() else {
            let msg = "This plugin must be called as chained plugin: prevResult is missing";
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
        };
        let ips = own_addresses(earlier, ifname)?;
        let netns = self.kernel.netns(req.netns().path())?;
        // Tables are chosen by who comes first.
        netns.lock()?;
        let netlink = netns.netlink()?;
        let mut undo = Undo::default();
        match settings.table {
            Some(table) => add::rules_to(&netlink, &ips, table, &mut undo)?,
            None => add::tables(&netlink, ifname, &ips, &settings, &mut undo)?,
        }
        undo.keep();
        Ok(req.result())
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        // Rules and tables go with the namespace.
        let Some(netns) = netns_if_there(&self.kernel, req.netns())? else { return Ok(()) };
        netns.lock()?;
        let (netlink, ifname) = (netns.netlink()?, req.ifname().as_str());
        let link = match netlink.link(ifname) {
            Err(error) if error.is_not_found() => None,
            link => Some(link?),
        };
        let mut addresses: Vec<IpAddr> = Vec::new();
        if let Some(link) = &link {
            addresses.extend(netlink.addresses(link)?.iter().map(|address| address.network.ip()));
        }
        // Somebody may have taken them away already, with the link or without.
        let said = req.prev_result().and_then(|result| own_addresses(result, ifname).ok());
        addresses.extend(said.iter().flatten().map(|ip| ip.address.address()));

        let mut failures = Vec::new();
        for rule in netlink.rules()?.iter().filter(|rule| is_own(rule, &addresses, req.config().table())) {
            failures.extend(gone(netlink.delete_rule(rule)).context("Failed to delete rule").err());
            if let (Some(link), None) = (&link, req.config().table()) {
                failures.extend(add::empty(&netlink, link, rule).err());
            }
        }
        Error::all(failures).map_or(Ok(()), Err)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        let ifname = req.ifname().as_str();
        let ips = own_addresses(req.prev_result(), ifname)?;
        let netlink = self.kernel.netns(req.netns().path())?.netlink()?;
        let link = netlink.link(ifname).with_context(|| format!("Cannot find network interface {ifname}"))?;
        let rules = netlink.rules()?;
        for ip in ips {
            check_address(&netlink, &link, &rules, ip, &settings)?;
        }
        Ok(())
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        Settings::new(req.config())?;
        let can_work = || -> Result<()> { Ok(self.kernel.current()?.netlink()?.rules().map(drop)?) };
        can_work().context("nothing can be routed by its source").code(ErrorCode::PLUGIN_NOT_AVAILABLE)
    }
}

/// The addresses of an interface, and those that nobody is said to have.
fn own_addresses<'a>(result: &'a AddResult, ifname: &str) -> Result<Vec<&'a IpConfig>> {
    let is_own = |ip: &&IpConfig| {
        let owner = ip.interface.and_then(|index| result.interfaces.get(index));
        owner.is_none_or(|interface| interface.name == ifname)
    };
    let ips: Vec<_> = result.ips.iter().filter(is_own).collect();
    if ips.is_empty() {
        return Err(Error::message(format!("No IP addresses supplied on interface: {ifname}")));
    }
    Ok(ips)
}

/// Whether a rule may be one that an ADD has made for one of these addresses.
fn is_own(rule: &Rule, addresses: &[IpAddr], table: Option<u32>) -> bool {
    let is_in_table = table.map_or(rule.table >= FIRST_TABLE, |table| table == rule.table)
        && rule.table != plugin_support::netlink::MAIN_TABLE;
    let from = |address: &IpAddr| rule.source == Some(IpNetwork::from(*address));
    rule.is_plain && is_in_table && addresses.iter().any(from)
}

/// The network of an address.
fn subnet(ip: &IpConfig) -> IpNetwork {
    let own = network(ip.address);
    IpNetwork::new(own.network(), own.prefix()).unwrap_or(own)
}

fn check_address(
    netlink: &Handle,
    link: &Link,
    rules: &[Rule],
    ip: &IpConfig,
    settings: &Settings,
) -> Result<()> {
    let address = ip.address.address();
    let found = rules.iter().find(|rule| is_own(rule, &[address], settings.table));
    let Some(rule) = found else {
        return Err(Error::message(format!("expected rule for packets from {address} not found")));
    };
    if settings.table.is_some() {
        return Ok(());
    }
    let expected = |routes: &[Route], what: String, is_wanted: &dyn Fn(&Route) -> bool| {
        let there = routes.iter().any(is_wanted);
        let table = rule.table;
        let msg = || format!("expected route {what} of {:?} not found in table {table}", link.name);
        if there { Ok(()) } else { Err(Error::message(msg())) }
    };
    let filter = RouteFilter::family_of(address.into());
    let routes = of_link(netlink, link, filter.table(rule.table))?;
    if let Some(gateway) = settings.gateway(address, ip.gateway) {
        expected(&routes, format!("to the default by {gateway}"), &|route| {
            route.is_default() && route.gateway == Some(gateway)
        })?;
    }
    let subnet = subnet(ip);
    if subnet.prefix() != IpNetwork::from(address).prefix() {
        expected(&routes, format!("to {subnet}"), &|route| route.destination == subnet)?;
        let in_main = of_link(netlink, link, filter)?;
        if settings.source_hints && !in_main.iter().any(|route| route.destination == subnet) {
            return Err(Error::message(format!("expected route to {subnet} not found in the main table")));
        }
    }
    Ok(())
}

/// The routes of a link in a table, which need not be there: asked for table and link, the kernel does not tell which is not.
fn of_link(netlink: &Handle, link: &Link, table: RouteFilter) -> Result<Vec<Route>> {
    let is_own = |route: &Route| {
        route.link == Some(link.index) || route.next_hops.iter().any(|hop| hop.link == link.index)
    };
    Ok(netlink.routes(&table)?.into_iter().filter(is_own).collect())
}

fn gone(deleted: plugin_support::Result<()>) -> plugin_support::Result<()> {
    match deleted {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
