//! Connects the containers of a host to a bridge, and by it to each other and, as far as wanted, to the world.
//!
//! A pair of links leads from the container to the bridge. With an IPAM plugin, the container gets addresses and routes,
//! and the bridge can be its gateway.
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what the configuration means |
//! | `add`, `del`, `check`, `gc` | the order of work |
//! | `bridge`, `veth`, `vlan` | links |
//! | `container`, `gateway` | addresses and routes, on either side |
//! | `masq`, `macspoof` | rules of the firewall: Go's, so that either plugin undoes the other's work |
//! | `names` | what belongs to which attachment |
//! | `undo` | what a failed ADD takes back |

mod add;
mod bridge;
mod check;
mod config;
mod container;
mod del;
mod gateway;
mod gc;
mod macspoof;
mod masq;
mod names;
mod undo;
mod veth;
mod vlan;

use std::fmt;
use std::rc::Rc;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, ErrorCode, GcRequest, Plugin, Result,
    ResultExt, StatusRequest,
};
use plugin_support::firewall::probe::Backend;
use plugin_support::firewall::{SystemTools, Tools};
use plugin_support::kernel::Kernel;

pub use self::config::{Args, Config, Masquerade, Runtime, Settings, Vlans};

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

impl Plugin for Bridge {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        add::add(self, req)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        del::del(self, req)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        check::check(self, req)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config(), req.network_config())?;
        let masquerade = settings.masquerade.filter(|_| settings.ipam);
        let masquerades = match masquerade.map(|masquerade| masquerade.backend) {
            None => Ok(()),
            Some(Some(backend)) => backend.check(&*self.tools),
            Some(None) => Backend::detect(&*self.tools).map(drop),
        };
        masquerades.context("ipMasq is not possible").code(ErrorCode::PLUGIN_NOT_AVAILABLE)?;
        if settings.mac_spoof_check {
            let usable = Backend::Nftables.check(&*self.tools);
            usable.context("macspoofchk is not possible").code(ErrorCode::PLUGIN_NOT_AVAILABLE)?;
        }
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
