//! Connects the containers of a host to a bridge, and by it to each other and, as far as wanted, to the world.
//!
//! A pair of links leads from the container to the bridge. With an IPAM plugin, the container gets addresses and routes,
//! and the bridge can be its gateway.
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what the configuration means |
//! | `add`, `check`, `gc` | the order of work |
//! | `bridge`, `veth`, `vlan` | links |
//! | `gateway` | the bridge's addresses |
//! | `macspoof`, `names` | rules of the firewall: Go's, so that either plugin undoes the other's work |
//!
//! What it shares with other plugins, such as masquerade, is in `plugin-attach`.
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | A failed ADD leaves the pair of links, and gateway addresses on the bridge. | Nothing is left but the bridge, a VLAN's gateway link and the wish to forward packets. |
//! | Without the container's namespace, DEL leaves the rules of masquerade and macspoofchk. | They are found by their names. So is a pair of links that nobody can reach from inside, by an alias of the host's end. |
//! | A `prevResult` is dropped. | It stays in the result. |
//! | DEL deletes whatever link has the name. | A link that the alias says is another attachment's stays: the ADD that is undone has failed because of it. |
//! | GC does nothing; STATUS asks the IPAM plugin alone. | GC removes pairs and rules of no valid attachment and tells the IPAM plugin. It starts `nft` and, with IPAM, `iptables-save` and `ip6tables-save`, whether or not the configuration still asks for rules, as it may have when they were made; DEL does so if it finds the container's end, and the alias of the host's says that they were made. STATUS also tells that a firewall program is missing (50). |
//! | CHECK of a bridge without IPAM always fails, as does that of a container whose bridge took another port's hardware address. | Both pass. CHECK also looks at the port's settings, VLANs, rules, gateway and forwarding. |
//! | A bridge without ports has no hardware address; if it then becomes a gateway, ADD fails. | The bridge has an address of its own from the start, and so has the host's end of a pair. |
//! | `isDefaultGateway` adds a default route beside one that IPAM gives without a router, and ADD fails. | One is enough. |
//! | Two IPv4 gateways of one ADD contradict each other. | They do not. |
//! | An existing bridge without VLAN filtering lets all VLANs mix; an MTU that it does not have goes unnoticed. | Filtering is switched on; the MTU is warned of. |
//! | The link of a VLAN's gateway takes router advertisements. | It takes none. |
//! | All interfaces of a container in a network share an iptables chain, which the first DEL empties. | It goes with the last. |
//! | IPv6 settings are touched without IPv6 addresses; the gateway's IPv6 address can be used after a second or two. | They are left alone; the address can be used at once, unless `enabledad` is set. |
//! | A container that has another's address is announced before the port lets anything pass: for half a minute nobody reaches it. | It is announced once the port does. |
//! | A malformed MAC, an unknown `ipMasqBackend` and the like are noticed half way. | Everything that the configuration can tell is refused before anything is made. |

mod add;
mod bridge;
mod check;
mod config;
mod gateway;
mod gc;
mod macspoof;
mod names;
mod veth;
mod vlan;

use std::fmt;
use std::rc::Rc;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, ErrorCode, GcRequest, Plugin, Result,
    ResultExt, StatusRequest,
};
use plugin_attach::Owner;
use plugin_attach::teardown::{self, MoreRules};
use plugin_support::firewall::probe::Backend;
use plugin_support::firewall::{SystemTools, Tools};
use plugin_support::kernel::Kernel;

pub use self::config::{Args, Config, Runtime, Settings, Vlans};

/// The bridge plugin.
#[derive(CniPlugin)]
#[cni(name = "bridge", about = "connects containers to a bridge")]
#[cni(config = Config, runtime = Runtime, args = Args)]
pub struct Bridge {
    tools: Rc<dyn Tools>,
    kernel: Kernel,
}

impl Default for Bridge {
    /// On this machine.
    fn default() -> Self {
        Self { tools: Rc::new(SystemTools::default()), kernel: Kernel::default() }
    }
}

impl Bridge {
    /// A plugin that runs other programs on another kernel, for tests.
    pub fn on(tools: Rc<dyn Tools>, kernel: Kernel) -> Self {
        Self { tools, kernel }
    }
}

#[cni_skel::plugin]
impl Plugin for Bridge {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        add::add(self, req)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        let masquerade = req.config().masquerade().filter(|_| req.wants_ipam());
        let remove = |owner: &Owner| macspoof::remove(&*self.tools, owner);
        let wanted = req.config().mac_spoof_check();
        let checks = MoreRules { key: macspoof::KEY, wanted, remove: &remove };
        teardown::pair(&self.kernel, &*self.tools, req, masquerade, Some(checks))
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        check::check(self, req)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config(), req.network_config())?;
        let masquerade = settings.masquerade.filter(|_| settings.ipam);
        masquerade.map_or(Ok(()), |masquerade| masquerade.status(&*self.tools))?;
        if settings.mac_spoof_check {
            let usable = Backend::Nftables.check(&*self.tools);
            usable.context("macspoofchk is not possible").code(ErrorCode::PLUGIN_NOT_AVAILABLE)?;
        }
        let usable = bridge::could_be(&self.kernel.current()?.netlink()?, &settings.bridge);
        usable.code(ErrorCode::PLUGIN_NOT_AVAILABLE)?;
        if settings.ipam { req.ipam()?.status() } else { Ok(()) }
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        gc::gc(self, req)
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("tools", &self.tools).field("kernel", &self.kernel).finish()
    }
}
