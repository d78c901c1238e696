//! The firewalld backend: containers' addresses are sources of a zone, by the methods of the service's D-Bus interface that
//! Go's plugin calls.
//!
//! `busctl` makes the calls. It comes with the bus of nearly every machine that runs firewalld, and costs a fraction of
//! `firewall-cmd`, which starts Python; a D-Bus library would be the larger part of this plugin.

use std::net::IpAddr;

use cni_skel::{Error, Result, ResultExt};
use plugin_support::firewall::{Call, Outcome, Tools};

use crate::rules::host_network;

const SERVICE: &str = "org.fedoraproject.FirewallD1";

/// Whether the service's name has an owner on the system bus. Without a bus, or the program, it has none.
pub(crate) fn is_running(tools: &dyn Tools) -> bool {
    let bus = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"];
    let outcome = tools.run(&call(bus, ["NameHasOwner", "s", SERVICE]));
    outcome.is_ok_and(|outcome| outcome.success && outcome.stdout.trim() == "b true")
}

/// Puts addresses into a zone. One that is there already stays.
///
/// # Errors
///
/// When the program is missing, or the service refuses.
pub(crate) fn add(tools: &dyn Tools, zone: &str, addresses: &[IpAddr]) -> Result<()> {
    for address in addresses {
        let attempt = || format!("failed to add the address {} to {zone} zone", host_network(*address));
        let outcome = source(tools, "addSource", zone, *address).with_context(attempt)?;
        if !outcome.success && !outcome.stderr.contains("ZONE_ALREADY_SET") {
            return Err(refused(&outcome).context(attempt()));
        }
    }
    Ok(())
}

/// Takes addresses out of a zone. One that is not there is no error, nor is a service that is not there: nothing outlives
/// it.
///
/// # Errors
///
/// When the program is missing, or the service refuses. The other addresses are gone then.
pub(crate) fn remove(tools: &dyn Tools, zone: &str, addresses: &[IpAddr]) -> Result<()> {
    const GONE: [&str; 4] =
        ["UNKNOWN_SOURCE", "INVALID_ZONE", "was not provided by any", "connect to bus: No such file"];
    let mut errors = Vec::new();
    for address in addresses {
        let attempt = || format!("failed to remove the address {} from {zone} zone", host_network(*address));
        match source(tools, "removeSource", zone, *address).with_context(attempt) {
            Ok(outcome) if outcome.success || GONE.iter().any(|text| outcome.stderr.contains(text)) => {}
            Ok(outcome) => errors.push(refused(&outcome).context(attempt())),
            Err(error) => errors.push(error),
        }
    }
    Error::all(errors).map_or(Ok(()), Err)
}

/// Verifies that addresses are in a zone.
///
/// # Errors
///
/// When one is not, or nobody can tell.
pub(crate) fn check(tools: &dyn Tools, zone: &str, addresses: &[IpAddr]) -> Result<()> {
    for address in addresses {
        let missing = || format!("failed to find the address {} in {zone} zone", host_network(*address));
        let outcome = source(tools, "querySource", zone, *address).with_context(missing)?;
        if !outcome.success {
            return Err(refused(&outcome).context(missing()));
        }
        if outcome.stdout.trim() != "b true" {
            return Err(Error::message(missing()));
        }
    }
    Ok(())
}

/// Calls a method about a source of a zone.
fn source(tools: &dyn Tools, method: &str, zone: &str, address: IpAddr) -> plugin_support::Result<Outcome> {
    let zones = [SERVICE, "/org/fedoraproject/FirewallD1", "org.fedoraproject.FirewallD1.zone"];
    tools.run(&call(zones, [method, "ss", zone, &host_network(address)]))
}

/// A call of a method: service, object and interface, then method, signature and arguments.
fn call<const N: usize>(target: [&str; 3], words: [&str; N]) -> Call {
    let options = ["--system", "call", "--"];
    Call::new("busctl", options.into_iter().chain(target).chain(words).map(str::to_owned))
}

fn refused(outcome: &Outcome) -> Error {
    Error::message(format!("busctl: {}: {}", outcome.status, outcome.stderr.trim()))
}
