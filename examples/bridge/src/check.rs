//! CHECK: everything that ADD made is as it was.
//!
//! What later plugins of the chain, or containers on the same bridge, change by right is not looked at.

mod host;

use cni_skel::types::result::{Interface, IpConfig};
use cni_skel::{AddResult, CheckRequest, Error, Result, ResultExt};
use plugin_attach::Owner;
use plugin_attach::check::{self as attached, Wanted};
use plugin_attach::masquerade::Rules;

use crate::config::Settings;
use crate::{Bridge, macspoof};

pub(crate) fn check(plugin: &Bridge, req: &CheckRequest<Bridge>) -> Result<()> {
    let settings = Settings::new(req.config(), req.network_config())?;
    let path = req.netns().path();
    let netns = plugin.kernel.netns(path).with_context(|| format!("failed to open netns {path:?}"))?;
    if settings.ipam {
        req.ipam()?.check()?;
    }
    let result = req.prev_result();
    let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
    let found = attached::Expected::find(&plugin.kernel, result, &owner.ifname, req.netns(), &netns)?;
    let expected = Expected::of(result, &found, &settings);

    let (netlink, host) = (netns.netlink()?, plugin.kernel.current()?);
    let host_netlink = host.netlink()?;
    let bridge = host::check_bridge(&host_netlink, expected.bridge, &settings)?;
    let link = attached::link(
        &netlink,
        expected.container,
        Wanted { kind: "veth", lost: "Interface name", up: settings.link_up, mtu: settings.mtu },
    )?;
    let port = host::check_port(&host_netlink, &expected, &bridge, &link, &settings)?;
    if settings.mac_spoof_check {
        let mac =
            link.mac.ok_or_else(|| Error::message(format!("{:?} has no hardware address", link.name)))?;
        macspoof::check(&*plugin.tools, &owner, &port.name, mac)?;
    }
    if !settings.ipam {
        return Ok(());
    }
    attached::addresses(&netlink, &link, &expected.ips)?;
    attached::routes(&netlink, &result.routes)?;
    host::check_gateway(&host, &host_netlink, &bridge, result, &expected.ips, &settings)?;
    if let Some(masquerade) = settings.masquerade {
        let addresses: Vec<_> = expected.ips.iter().map(|ip| ip.address).collect();
        Rules { tools: &*plugin.tools, owner: &owner, settings: masquerade }.check(&addresses)?;
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
    fn of(result: &'a AddResult, found: &attached::Expected<'a>, settings: &Settings) -> Self {
        let on_host = || result.interfaces.iter().filter(|interface| interface.sandbox.is_none());
        Self {
            bridge: on_host().find(|interface| interface.name == settings.bridge),
            container: found.interface,
            on_host: on_host().filter(|interface| interface.name != settings.bridge).collect(),
            ips: found.ips.clone(),
        }
    }
}
