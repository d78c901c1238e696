//! Connects a container to its host by a pair of links of its own: a drop-in for Go's plugin of that name.
//!
//! The host's end has the container's gateway as its address, and the host a route to the container. Everything that the
//! container sends goes to the host, also what is for its own network. There is no bridge.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `ipam` | object | needed: there is nothing to make without addresses |
//! | `ipMasq` | boolean | false; whether what leaves the container's network gets the host's address |
//! | `ipMasqBackend` | `iptables` or `nftables` | whichever works |
//! | `mtu` | number | the kernel's |
//! | `dns` | object | what the IPAM plugin says |
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what the configuration means |
//! | `add`, `check` | the order of work |
//! | `plan` | which addresses and routes each end needs |
//!
//! # IPv6 at once
//!
//! Go's plugin waits two seconds until the kernel has found that nobody else has the container's IPv6 address. Here nobody
//! looks. RFC 4862 demands duplicate address detection of an interface unless its `DupAddrDetectTransmits` is zero
//! (section 5.4), and leaves that number to the node and the kind of link (section 5.1). This link has two ends, and both
//! get their addresses here, from one answer of the IPAM plugin: there is no third node that could have one of them. For
//! links between two nodes that negotiate their identifiers, PPP, RFC 5072 calls detection redundant for the same reason
//! (section 5). So it is off at the container's end (`accept_dad`), and left out for the gateway's address.
//!
//! # Where this differs from Go's plugin
//!
//! Keys, results and what is in the kernel are the same, and either plugin undoes what the other has made. But:
//!
//! | Go | here |
//! | --- | --- |
//! | A dual stack ADD takes two seconds. | It takes none of them, see above. |
//! | What fails early after the IPAM plugin's ADD keeps the addresses; a failed ADD leaves the pair of links. | Nothing is left but the wish to forward packets. |
//! | A name that is taken in the container is noticed after the IPAM plugin has given addresses. | Before. |
//! | A `prevResult` is dropped. | It stays in the result. |
//! | An address without gateway, of a network of one address, or in the network of another fails half way. | The first is refused before anything is made, the others work. |
//! | A container has one interface in a network. | It may have several. |
//! | The host's route to the container is left out if another container has the address. | ADD fails. |
//! | DEL stops when the IPAM plugin fails, and without the container's namespace leaves the rules of masquerade. | It goes on, and finds them by their names, and the pair of links by an alias of the host's end. |
//! | DEL deletes whatever link has the name. | A link that the alias says is another attachment's stays. |
//! | CHECK looks at the container's end alone. | It also looks at the host's end, its addresses, routes, forwarding and rules, and at the routes to and by the gateway. |
//! | GC does nothing; STATUS asks the IPAM plugin alone. | GC removes pairs and rules of no valid attachment and tells the IPAM plugin. It starts `iptables-save`, `ip6tables-save` and `nft`, whether or not the configuration still asks for `ipMasq`, as it may have when they were made; DEL does so if it finds the container's end, and the alias of the host's says that they were made. STATUS also tells that a firewall program is missing (50). |

mod add;
mod check;
mod config;
mod plan;

use std::fmt;
use std::rc::Rc;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, GcRequest, Plugin, Result,
    StatusRequest,
};
use plugin_attach::{masquerade, teardown};
use plugin_support::firewall::{SystemTools, Tools};
use plugin_support::kernel::Kernel;

pub use self::config::{Config, Settings};

/// The ptp plugin.
#[derive(CniPlugin)]
#[cni(name = "ptp", about = "connects a container to its host by a pair of links of its own", config = Config)]
pub struct Ptp {
    tools: Rc<dyn Tools>,
    kernel: Kernel,
}

impl Default for Ptp {
    /// On this machine.
    fn default() -> Self {
        Self { tools: Rc::new(SystemTools::default()), kernel: Kernel::default() }
    }
}

impl Ptp {
    /// A plugin that runs other programs on another kernel, for tests.
    pub fn on(tools: Rc<dyn Tools>, kernel: Kernel) -> Self {
        Self { tools, kernel }
    }
}

#[cni_skel::plugin]
impl Plugin for Ptp {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        add::add(self, req)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        teardown::pair(&self.kernel, &*self.tools, req, req.config().masquerade(), None)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        check::check(self, req)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        let ipam = req.ipam()?;
        settings.masquerade.map_or(Ok(()), |masquerade| masquerade.status(&*self.tools))?;
        ipam.status()
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let (network, valid) = (req.network().as_str(), req.valid_attachments());
        let mut failures = Vec::new();
        failures.extend(teardown::collect_pairs(&self.kernel, network, valid).err());
        // The configuration may have said `ipMasq` when they were made.
        let is_wanted = req.config().masquerade().is_some();
        failures.extend(masquerade::collect(&*self.tools, network, valid, is_wanted).err());
        // When nobody has the addresses any more.
        if req.wants_ipam() {
            failures.extend(req.ipam().and_then(|ipam| ipam.gc()).err());
        }
        Error::all(failures).map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Ptp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ptp").field("tools", &self.tools).field("kernel", &self.kernel).finish()
    }
}
