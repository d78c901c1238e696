//! ADD: tables and rules, in Go's order, and how each is taken back.

use std::net::IpAddr;

use cni_skel::{IpConfig, Result, ResultExt};
use ipnetwork::IpNetwork;
use plugin_attach::Undo;
use plugin_support::netlink::{Handle, Link, MAIN_TABLE, Route, RouteFilter, RouteScope, Rule};

use crate::config::Settings;
use crate::{FIRST_TABLE, gone, of_link, subnet};

/// Sends packets from the addresses to a table that somebody else has filled.
pub(crate) fn rules_to<'a>(
    netlink: &'a Handle,
    ips: &[&IpConfig],
    table: u32,
    undo: &mut Undo<'a>,
) -> Result<()> {
    for ip in ips {
        rule_to(netlink, ip, table, undo).context("failed to add rule")?;
    }
    Ok(())
}

/// Gives each address a table of its own, and takes from the main table what is in them.
pub(crate) fn tables<'a>(
    netlink: &'a Handle,
    ifname: &str,
    ips: &[&IpConfig],
    settings: &Settings,
    undo: &mut Undo<'a>,
) -> Result<()> {
    let mut taken: Vec<u32> =
        netlink.rules().context("Failed to list all rules")?.iter().map(|rule| rule.table).collect();
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        let routes = netlink.routes(&filter.every_table()).context("Failed to list all routes")?;
        taken.extend(routes.iter().map(|route| route.table));
    }
    let link = netlink.link(ifname).with_context(|| format!("Cannot find network interface {ifname}"))?;
    let mut routes = Vec::new();
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        routes.extend(netlink.routes(&filter.dev(&link)).context("Unable to list routes")?);
    }
    // Those that others need come first, when they are added and when they are put back.
    routes.sort_by_key(|route| route.gateway.is_some());

    let mut moved: Vec<&Route> = Vec::new();
    let mut table = FIRST_TABLE;
    for ip in ips {
        while taken.contains(&table) {
            table += 1;
        }
        let rule = rule_to(netlink, ip, table, undo).context("Failed to add rule")?;
        let emptied = link.clone();
        undo.by("empty the table", move || empty(netlink, &emptied, &rule));
        let address = ip.address.address();
        if let Some(gateway) = settings.gateway(address, ip.gateway) {
            let everywhere = IpNetwork::new(unspecified(address), 0).unwrap_or_else(|_| address.into());
            let default = Route::to(everywhere).via(gateway).dev(&link).table(table);
            netlink
                .add_route(&default)
                .with_context(|| format!("Failed to add default route to {gateway}"))?;
        }
        for route in routes.iter().filter(|route| fits(route, ip)) {
            netlink.replace_route(&copied(route, table)).context("Failed to readd route")?;
            if !moved.contains(&route) {
                moved.push(route);
            }
        }
        table += 1;
    }
    if settings.source_hints {
        let hints: Vec<Route> = ips.iter().map(|ip| hint(&link, ip)).collect();
        undo.by("delete the networks with an address to send from", move || {
            hints.iter().try_for_each(|hint| Ok(gone(netlink.delete_route(hint))?))
        });
    }
    let before: Vec<Route> = moved.iter().copied().cloned().collect();
    undo.by("restore the routes of the main table", move || {
        for route in &before {
            netlink.replace_route(route)?;
        }
        Ok(())
    });
    for ip in ips.iter().filter(|_| settings.source_hints) {
        netlink.replace_route(&hint(&link, ip)).context("Failed to add subnet route to main table")?;
    }
    for route in moved {
        let stays = is_link_local(route) || (settings.source_hints && route.scope == Some(RouteScope::Link));
        if !stays {
            gone(netlink.delete_route(route)).context("Failed to delete route")?;
        }
    }
    Ok(())
}

/// The network of an address, with the address to send from.
fn hint(link: &Link, ip: &IpConfig) -> Route {
    Route::to(subnet(ip)).dev(link).source(ip.address.address()).scope(RouteScope::Link)
}

/// Deletes the routes of a link in the table of a rule.
pub(crate) fn empty(netlink: &Handle, link: &Link, rule: &Rule) -> Result<()> {
    if rule.table == MAIN_TABLE || rule.table < FIRST_TABLE {
        return Ok(());
    }
    for filter in [RouteFilter::v4(), RouteFilter::v6()] {
        for route in of_link(netlink, link, filter.table(rule.table))? {
            gone(netlink.delete_route(&route))?;
        }
    }
    Ok(())
}

fn rule_to<'a>(
    netlink: &'a Handle,
    ip: &IpConfig,
    table: u32,
    undo: &mut Undo<'a>,
) -> plugin_support::Result<Rule> {
    let rule = Rule::from_source(ip.address.address(), table);
    netlink.add_rule(&rule)?;
    let added = rule.clone();
    undo.by("delete a rule", move || Ok(gone(netlink.delete_rule(&added))?));
    Ok(rule)
}

/// Whether packets from an address may take a route: one that says neither source nor router, or one in its network.
fn fits(route: &Route, ip: &IpConfig) -> bool {
    let subnet = subnet(ip);
    if route.destination.is_ipv4() != subnet.is_ipv4() {
        return false;
    }
    match (route.source, route.gateway) {
        (None, None) => true,
        (source, gateway) => [source, gateway].into_iter().flatten().any(|ip| subnet.contains(ip)),
    }
}

/// A route in another table; its flags are what the kernel has found out of it.
fn copied(route: &Route, table: u32) -> Route {
    let mut copy = route.clone().table(table);
    copy.onlink = false;
    copy
}

fn is_link_local(route: &Route) -> bool {
    matches!(route.destination.ip(), IpAddr::V6(ip) if ip.is_unicast_link_local())
}

fn unspecified(address: IpAddr) -> IpAddr {
    if address.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) }
}
