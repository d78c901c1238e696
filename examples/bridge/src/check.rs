//! CHECK: everything that ADD made is as it was.
//!
//! What later plugins of the chain, or containers on the same bridge, change by right is not looked at.

mod container;
mod host;

use cni_skel::types::result::{Interface, IpConfig};
use cni_skel::{AddResult, CheckRequest, Error, Result, ResultExt};
use plugin_support::netlink::Link;

use crate::config::Settings;
use crate::names::Owner;
use crate::{Bridge, macspoof, masq};

pub(crate) fn check(plugin: &Bridge, req: &CheckRequest<Bridge>) -> Result<()> {
    let settings = Settings::new(req.config(), req.network_config())?;
    let path = req.netns().path();
    let netns = plugin.kernel.netns(path).with_context(|| format!("failed to open netns {path:?}"))?;
    if settings.ipam {
        req.ipam()?.check()?;
    }
    let result = req.prev_result();
    let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
    let expected = Expected::of(result, &settings, &owner.ifname, |sandbox| {
        sandbox == req.netns().to_string() || plugin.kernel.netns(sandbox).is_ok_and(|other| other == netns)
    })
    .ok_or_else(|| sandbox_differs(result, &owner.ifname, &req.netns().to_string()))?;

    let (netlink, host) = (netns.netlink()?, plugin.kernel.current()?);
    let host_netlink = host.netlink()?;
    let bridge = host::check_bridge(&host_netlink, expected.bridge, &settings)?;
    let link = container::check_link(&netlink, expected.container, &settings)?;
    let port = host::check_port(&host_netlink, &expected, &bridge, &link, &settings)?;
    if settings.mac_spoof_check {
        let mac =
            link.mac.ok_or_else(|| Error::message(format!("{:?} has no hardware address", link.name)))?;
        macspoof::check(&*plugin.tools, &owner, &port.name, mac)?;
    }
    if !settings.ipam {
        return Ok(());
    }
    container::check_addresses(&netlink, &link, &expected.ips)?;
    container::check_routes(&netlink, &result.routes)?;
    host::check_gateway(&host, &host_netlink, &bridge, result, &expected.ips, &settings)?;
    if let Some(masquerade) = settings.masquerade {
        let addresses: Vec<_> = expected.ips.iter().map(|ip| ip.address).collect();
        masq::Rules { tools: &*plugin.tools, owner: &owner, settings: masquerade }.check(&addresses)?;
    }
    Ok(())
}

/// What ADD said it has made.
struct Expected<'a> {
    bridge: Option<&'a Interface>,
    container: &'a Interface,
    /// What may be the host's end of the pair.
    on_host: Vec<&'a Interface>,
    /// The addresses of the container's interface.
    ips: Vec<&'a IpConfig>,
}

impl<'a> Expected<'a> {
    /// `None` without the container's interface.
    fn of(
        result: &'a AddResult,
        settings: &Settings,
        ifname: &str,
        is_netns: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let is_container = |interface: &&Interface| {
            interface.name == ifname && interface.sandbox.as_deref().is_some_and(&is_netns)
        };
        let index = result.interfaces.iter().position(|interface| is_container(&interface))?;
        let on_host = || result.interfaces.iter().filter(|interface| interface.sandbox.is_none());
        let own = |ip: &&IpConfig| ip.interface.is_none_or(|owner| owner == index);
        Some(Self {
            bridge: on_host().find(|interface| interface.name == settings.bridge),
            container: &result.interfaces[index],
            on_host: on_host().filter(|interface| interface.name != settings.bridge).collect(),
            ips: result.ips.iter().filter(own).collect(),
        })
    }
}

fn sandbox_differs(result: &AddResult, ifname: &str, netns: &str) -> Error {
    let named = result.interfaces.iter().find(|interface| interface.name == ifname);
    let sandbox = named.and_then(|interface| interface.sandbox.as_deref()).unwrap_or_default();
    Error::message(format!(
        "Sandbox in prevResult {sandbox} doesn't match configured netns: {netns} ({ifname:?})"
    ))
}

/// Whether a link has the hardware address that a result says; one that says none is right.
fn has_mac(link: &Link, expected: &Interface) -> bool {
    let Some(expected) = expected.mac.as_deref() else { return true };
    link.mac.is_some_and(|mac| mac.to_string().eq_ignore_ascii_case(expected))
}

/// The hardware address of a link, for people.
fn mac_of(link: &Link) -> String {
    link.mac.map_or_else(|| "none".to_owned(), |mac| mac.to_string())
}
