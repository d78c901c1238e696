//! ADD: everything, or nothing but the bridge.

use cni_skel::types::VersionedResult;
use cni_skel::{AddRequest, AddResult, Cidr, Error, Lease, Result, ResultExt};
use plugin_attach::addresses::{Detection, Inside, Manner};
use plugin_attach::masquerade::{Known, Rules};
use plugin_attach::result::{after, interface};
use plugin_attach::veth::{Place, create, delete};
use plugin_attach::{Owner, Undo, host, warn};
use plugin_support::netlink::{Handle, Link};
use plugin_support::netns::NetNs;

use crate::config::Settings;
use crate::gateway::{self, Plan};
use crate::{Bridge, bridge, macspoof, veth, vlan};

/// Where the container's gateway addresses are: on the bridge, or on its link into a VLAN.
struct Gateway {
    link: Link,
    is_bridge: bool,
    addresses: Vec<Cidr>,
    plan: Plan,
}

pub(crate) fn add(plugin: &Bridge, req: &AddRequest<Bridge>) -> Result<AddResult> {
    // Whatever is wrong with the request is told before anything is touched.
    let settings = Settings::new(req.config(), req.network_config())?;
    let mac = req.config().mac(req.runtime(), req.args())?;
    let ipam = if settings.ipam { Some(req.ipam()?) } else { None };
    if ipam.is_none() {
        // Old versions know no result without addresses.
        VersionedResult::new(AddResult::default(), req.version())?;
    }
    let owner = Owner::new(req.network().as_str(), req.container_id().as_str(), req.ifname().as_str());
    let path = req.netns().path();
    let netns = plugin.kernel.netns(path).with_context(|| format!("failed to open netns {path:?}"))?;
    let host = plugin.kernel.current()?;
    let (host_netlink, netlink) = (host.netlink()?, netns.netlink()?);
    let place =
        Place { host: &host, host_netlink: &host_netlink, container: &netns, container_netlink: &netlink };
    let tools = &*plugin.tools;
    let ifname = owner.ifname.as_str();

    // Dropped last: the addresses are given back when nobody has them any more.
    let mut lease: Option<Lease> = None;
    let mut undo = Undo::default();

    let bridge = bridge::ensure(&host, &host_netlink, &settings)?;
    let port = create(place, ifname, mac, settings.mtu)?;
    undo.by("delete the container's link", || delete(&netlink, ifname));
    let port = veth::attach(place, &port, &bridge, &owner, &settings)?;
    let link = netlink.link(ifname).with_context(|| format!("failed to lookup {ifname:?}"))?;
    if settings.mac_spoof_check {
        let mac =
            link.mac.ok_or_else(|| Error::message(format!("{ifname:?} has no hardware address to check")))?;
        macspoof::add(tools, &owner, &port.name, mac)?;
        undo.by("remove the rules of macspoofchk", || macspoof::remove(tools, &owner));
    }

    let mut result = AddResult::default();
    let mut gateway = None;
    if let Some(ipam) = ipam {
        let lease = lease.insert(ipam.add()?);
        let mut ips: Vec<_> = lease.ips().collect();
        if ips.is_empty() {
            return Err(Error::message("IPAM plugin returned missing IP config"));
        }
        result.routes = lease.routes().to_vec();
        result.dns = lease.dns().clone();
        let gateways = gateway::complete(&mut ips, &mut result.routes, &settings);
        if !gateways.is_empty() {
            gateway = Some(Gateway::find(&host, &host_netlink, &bridge, gateways, &settings)?);
        }
        let detection = if settings.detect_duplicates { Detection::MustBeOn } else { Detection::Off };
        let manner = Manner { arp_notify: true, ndisc_notify: true, detection };
        let inside = Inside { netns: &netns, netlink: &netlink, link: &link };
        inside.configure(&ips, &result.routes, manner)?;
        if let Some(masquerade) = settings.masquerade {
            let rules = Rules { tools, owner: &owner, settings: masquerade };
            let addresses: Vec<_> = ips.iter().map(|ip| ip.address).collect();
            rules.add(&addresses)?;
            let known =
                Known { addresses: Some(addresses.iter().map(Cidr::address).collect()), ..Known::default() };
            undo.by("remove the masquerade rules", {
                let owner = &owner;
                move || Rules { tools, owner, settings: masquerade }.remove(&known)
            });
        }
        result.add_ips_on(2, ips);
    } else if settings.link_up {
        netlink.set_up(&link).with_context(|| format!("failed to set {ifname:?} up"))?;
    }

    let port = if settings.link_up {
        let port = veth::settled(&host, &host_netlink, port.index)?;
        if !result.ips.is_empty() {
            veth::announce(&netlink, &link)?;
        }
        port
    } else {
        host_netlink.link_by_index(port.index)?
    };
    let bridge = host_netlink.link_by_index(bridge.index)?;
    if let Some(mtu) = settings.mtu.filter(|mtu| bridge.mtu < *mtu) {
        warn(&format!("mtu: {:?} has {}, less than the {mtu} of the configuration", bridge.name, bridge.mtu));
    }
    let interfaces = [(&bridge, None), (&port, None), (&link, Some(req.netns().to_string()))];
    let vlan_gateway =
        gateway.as_ref().filter(|gateway| !gateway.is_bridge).map(|gateway| (&gateway.link, None));
    for (link, sandbox) in interfaces.into_iter().chain(vlan_gateway) {
        result.add_interface(interface(link, sandbox));
    }
    if let Some(dns) = &settings.dns {
        result.dns.clone_from(dns);
    }
    // What an earlier plugin of the chain has made stays in the result.
    let result = after(req.result(), result);
    // What cannot be told must not be made.
    VersionedResult::new(result.clone(), req.version())?;
    // Last, as others share it: whatever fails before leaves nothing on the bridge.
    if let Some(gateway) = &gateway {
        gateway.set_up(&host, &host_netlink, &bridge, settings.detect_duplicates)?;
    }
    undo.keep();
    lease.map(Lease::commit);
    Ok(result)
}

impl Gateway {
    /// Finds the link, or makes that into the VLAN, and what is to be changed about it.
    fn find(
        host: &NetNs,
        netlink: &Handle,
        bridge: &Link,
        addresses: Vec<Cidr>,
        settings: &Settings,
    ) -> Result<Self> {
        let vlan_gateway = settings.vlan_gateway().zip(settings.vlans.as_ref());
        let link = match &vlan_gateway {
            None => bridge.clone(),
            Some((name, vlans)) => vlan::ensure_gateway(host, netlink, bridge, name, vlans)
                .context("failed to create vlan interface")?,
        };
        let existing = netlink.addresses(&link)?;
        let mut gateway = Self { link, is_bridge: vlan_gateway.is_none(), addresses, plan: Plan::default() };
        gateway.plan = Plan::new(&gateway.link, &existing, &gateway.addresses, settings.force_address)
            .context(gateway.context())?;
        Ok(gateway)
    }

    /// Makes it the gateway.
    fn set_up(&self, netns: &NetNs, netlink: &Handle, bridge: &Link, detect_duplicates: bool) -> Result<()> {
        host::enable_forwarding(netns, self.addresses.iter().map(Cidr::address))?;
        if self.is_bridge && !self.plan.add.is_empty() {
            bridge::keep_mac(netlink, bridge).context(self.context())?;
        }
        self.plan.apply(netlink, &self.link, detect_duplicates).context(self.context())
    }

    fn context(&self) -> &'static str {
        if self.is_bridge {
            "failed to set bridge addr"
        } else {
            "failed to set vlan interface for bridge with addr"
        }
    }
}
