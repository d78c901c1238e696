//! Forwards ports of the host to a container, by iptables or nftables.
//!
//! It comes after a plugin that gives the container its addresses, and forwards to the first of each family. Connections
//! arrive from other machines, from the host itself (for IPv4 also by 127.0.0.1; the kernel routes nothing from or to
//! `::1`), from other containers, and from the container itself.
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what the configuration means |
//! | `rules` | which connections lead where, and whom that gets in the way of |
//! | `names` | what rules of an attachment are called |
//! | `iptables`, `nft` | what that is in the kernel: Go's layout, so that either plugin undoes the other's work |
//! | `firewall` | which of them |
//! | `store` | what is remembered for DEL |
//! | `gc` | what belongs to no valid attachment |
//! | `host` | what else the host needs |
//!
//! # Where it leaves Go's plugin
//!
//! Keys, rules and texts are Go's, and what either plugin has set up, the other takes down. On purpose otherwise:
//!
//! | Go | here |
//! | --- | --- |
//! | A port that another container has is forwarded to whoever comes first in the rules. | ADD fails with code 100 and names the other container. Interfaces of one container may share a port. |
//! | A `hostIP` that is none is accepted, and nothing forwarded. | Refused, with the path to the key. |
//! | A missing protocol, and with nftables `TCP`, fails. | TCP. |
//! | nftables: rules are keyed by the container; DEL for one network takes those of all. | Told apart by address, with the help of a record. |
//! | nftables: `conditionsV4` and `conditionsV6` of the last ADD count for all containers. | Each mapping has its own. |
//! | A repeated ADD adds rules, or leaves those to an old address in front. | It replaces. |
//! | DEL without mappings, after a change of `backend` or of the network's name leaves rules. | DEL goes by the record of ADD, in `dataDir` (default `/run/cni/portmap`). |
//! | DEL fails for mappings that ADD has refused. | DEL reads no mappings. |
//! | Without mappings, `iptables` is run twice. | Nothing is run. |
//! | CHECK looks at the container's chain (iptables), or counts rules (nftables). | At every rule, shared ones included, and at `route_localnet`. |
//! | UDP flows are forgotten by ADD alone. | By DEL as well. |
//! | GC does nothing, STATUS is always good. | Both work. Go's nftables rules do not tell their network: GC leaves them. |
//! | 19 to 27 programs for an ADD. | At most three a family: to choose the backend, to read, to change. |

mod config;
mod firewall;
mod gc;
mod host;
mod iptables;
mod names;
mod nft;
mod rules;
mod store;

use std::fmt;
use std::io::Write as _;
use std::net::IpAddr;
use std::rc::Rc;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, Cidr, CniPlugin, Context, DelRequest, Error, ErrorCode, GcRequest,
    Plugin, Result, ResultExt, StatusRequest,
};
use plugin_support::atomic;
use plugin_support::firewall::probe::Backend;
use plugin_support::firewall::{Family, SystemTools, Tools};
use plugin_support::kernel::Kernel;
use plugin_support::records::{Found, Records};

use self::firewall::{FAMILIES, Firewall, Ports};
use self::rules::{Claim, Forwarding, Owner, Removal, container_addresses, family_of};
use self::store::{Record, records};

pub use self::config::{Config, Mapping, Mark, Runtime, Settings};
pub use self::rules::PORT_TAKEN;

/// The portmap plugin.
#[derive(CniPlugin)]
#[cni(name = "portmap", about = "forwards ports of the host to a container", config = Config, runtime = Runtime)]
pub struct Portmap {
    tools: Rc<dyn Tools>,
    kernel: Kernel,
}

impl Default for Portmap {
    /// On this machine.
    fn default() -> Self {
        Self { tools: Rc::new(SystemTools::default()), kernel: Kernel::default() }
    }
}

#[cni_skel::plugin]
impl Plugin for Portmap {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config(), req.network_config())?;
        let Some(prev_result) = req.prev_result() else {
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, "must be called as chained plugin"));
        };
        let addresses = container_addresses(prev_result, req.ifname().as_str());
        let forwardings = Forwarding::all(&settings, &addresses);
        if !forwardings.is_empty() {
            let owner = Owner::new(req, req.container_id().as_str(), req.ifname().as_str());
            self.set_up(&owner, &settings, &forwardings, &records(req.config().data_dir()))?;
        }
        Ok(prev_result.clone())
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        let owner = Owner::new(req, req.container_id().as_str(), req.ifname().as_str());
        let store = records(req.config().data_dir());
        let _lock = store.lock_if_any()?;
        let others = store.others(&owner.container_id, &owner.ifname)?;
        let ports = match store.find(&owner.container_id, &owner.ifname)? {
            Found::Record(record) => self.take_down(&record, &others)?,
            Found::Nothing if !req.runtime().has_mappings() => return Ok(()),
            // Rules that another plugin made, or an ADD whose record is lost.
            Found::Damaged | Found::Nothing => {
                let addresses = req.prev_result().map(|result| container_addresses(result, &owner.ifname));
                self.take_down_unrecorded(&owner, &addresses.unwrap_or_default(), &others)?
            }
        };
        self.forget_udp(&ports);
        Ok(store.remove(&owner.container_id, &owner.ifname)?)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config(), req.network_config())?;
        let owner = Owner::new(req, req.container_id().as_str(), req.ifname().as_str());
        let forwardings = Forwarding::all(&settings, &container_addresses(req.prev_result(), &owner.ifname));
        if forwardings.is_empty() {
            return Ok(());
        }
        let recorded = match records(req.config().data_dir()).find(&owner.container_id, &owner.ifname)? {
            Found::Record(record) => Some(record.backend),
            Found::Damaged | Found::Nothing => None,
        };
        // What made the rules, whatever the configuration has come to ask for since.
        let backend = match recorded.or(settings.backend) {
            Some(backend) => backend,
            None => firewall::choose(&*self.tools, &families_of(&forwardings))?,
        };
        self.by(backend).check(&owner, &forwardings)?;
        for container in forwardings.iter().filter_map(Forwarding::reached_from_localhost) {
            host::check_localhost(&self.kernel, container)?;
        }
        Ok(())
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config(), req.network_config())?;
        let can_work = || -> plugin_support::Result<()> {
            match settings.backend {
                Some(backend) => backend.check(&*self.tools)?,
                None => firewall::choose(&*self.tools, &FAMILIES[..1]).map(drop)?,
            }
            atomic::check_writable(req.config().data_dir())
        };
        can_work().context("no port can be forwarded").code(ErrorCode::PLUGIN_NOT_AVAILABLE)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let store = records(req.config().data_dir());
        let _lock = store.lock_if_any()?;
        self.collect(req.network().as_str(), req.valid_attachments(), &store)
    }
}

impl Portmap {
    /// A plugin that runs other programs on another kernel, for tests.
    pub fn on(tools: Rc<dyn Tools>, kernel: Kernel) -> Self {
        Self { tools, kernel }
    }

    fn by(&self, backend: Backend) -> Firewall<'_> {
        Firewall { backend, tools: &*self.tools }
    }

    /// Makes the rules and what belongs to them, all or nothing.
    fn set_up(
        &self,
        owner: &Owner,
        settings: &Settings,
        forwardings: &[Forwarding],
        store: &Records<Record>,
    ) -> Result<()> {
        let backend = match settings.backend {
            Some(backend) => backend,
            None => firewall::choose(&*self.tools, &families_of(forwardings))?,
        };
        let _lock = store.lock()?;
        let others = store.others(&owner.container_id, &owner.ifname)?;
        let record = Record::new(owner, backend, forwardings.iter().map(|f| f.container.address()).collect());
        match store.find(&owner.container_id, &owner.ifname)? {
            // Set up once before, and otherwise: nobody else would take that down.
            Found::Record(old) if old != record => drop(self.take_down(&old, &others)?),
            _ => {}
        }
        store.write(&record)?;
        let done = self.make(owner, backend, forwardings, &others, store);
        if done.is_err() {
            match self.take_down(&record, &others) {
                Ok(_) => store.remove(&owner.container_id, &owner.ifname)?,
                // The record stays, for DEL.
                Err(error) => warn(&format!("cannot undo a failed ADD: {}", error.to_object().msg)),
            }
        }
        done
    }

    fn make(
        &self,
        owner: &Owner,
        backend: Backend,
        forwardings: &[Forwarding],
        others: &[Record],
        store: &Records<Record>,
    ) -> Result<()> {
        // Whoever has a record has told its network.
        let known = store.all()?;
        let network_of = |container_id: &str| {
            let found = known.iter().find(|record| names::nft_comment(&record.container_id) == container_id);
            found.map(|record| record.network.clone())
        };
        let refuse =
            |forwarding: &Forwarding, claims: &[Claim]| match forwarding.clash(owner, claims, network_of) {
                Some(error) => Err(error),
                None => Ok(()),
            };
        self.by(backend).add(owner, forwardings, &addresses_in(&owner.network, others), refuse)?;
        for container in forwardings.iter().filter_map(Forwarding::reached_from_localhost) {
            host::allow_localhost(&self.kernel, container).context("unable to enable route_localnet")?;
        }
        // Only now, so that what comes in between follows the new rules.
        let ports: Vec<_> =
            forwardings.iter().map(|forwarding| (forwarding.family, forwarding.udp_ports())).collect();
        self.forget_udp(&ports);
        Ok(())
    }

    /// Removes the rules of a record.
    fn take_down(&self, record: &Record, others: &[Record]) -> Result<Vec<Ports>> {
        let removal = Removal {
            network: record.network.clone(),
            container_id: record.container_id.clone(),
            addresses: Some(record.addresses.clone()),
            others: addresses_in(&record.network, others),
            has_unknown: false,
        };
        match self.by(record.backend).remove(&record.families(), &[removal]) {
            // A program that is not there cannot remove anything, nor can it ever: that must not keep a container.
            Err(error) if firewall::is_missing(&error) => {
                let backend = record.backend;
                warn(&format!("rules of {backend}, if any, cannot be removed: {}", error.to_object().msg));
                Ok(Vec::new())
            }
            removed => removed,
        }
    }

    /// Removes what there is of a container, by whichever backend.
    fn take_down_unrecorded(
        &self,
        owner: &Owner,
        addresses: &[Cidr],
        others: &[Record],
    ) -> Result<Vec<Ports>> {
        let addresses: Vec<_> = addresses.iter().map(Cidr::address).collect();
        let removal = Removal {
            network: owner.network.clone(),
            container_id: owner.container_id.clone(),
            addresses: Some(addresses).filter(|addresses| !addresses.is_empty()),
            others: others.iter().flat_map(|record| record.addresses.clone()).collect(),
            has_unknown: false,
        };
        let attempts = [
            (Backend::Iptables, &FAMILIES[..1]),
            (Backend::Iptables, &FAMILIES[1..]),
            (Backend::Nftables, &FAMILIES),
        ];
        let (mut ports, mut failures, mut any_works) = (Vec::new(), Vec::new(), false);
        for (backend, families) in attempts {
            match self.by(backend).remove(families, std::slice::from_ref(&removal)) {
                Ok(found) => {
                    any_works = true;
                    ports.extend(found);
                }
                Err(error) if firewall::is_missing(&error) => {}
                Err(error) => failures.push(error),
            }
        }
        // What does not work here was not used by ADD; unless nothing works, and then nobody can tell.
        if !any_works && let Some(error) = Error::all(failures) {
            return Err(error.context("no firewall is usable"));
        }
        Ok(ports)
    }

    /// Forgets UDP flows. A container is not without network because of a few packets that go astray.
    fn forget_udp(&self, ports: &[Ports]) {
        if let Err(error) = host::forget_udp(&self.kernel, ports) {
            let error = Error::from(error).to_object().msg;
            warn(&format!("failed to delete stale UDP conntrack entries: {error}"));
        }
    }
}

impl Owner {
    fn new(context: &Context<Portmap>, container_id: &str, ifname: &str) -> Self {
        Self {
            network: context.network().to_string(),
            container_id: container_id.to_owned(),
            ifname: ifname.to_owned(),
        }
    }
}

impl Record {
    fn families(&self) -> Vec<Family> {
        FAMILIES
            .into_iter()
            .filter(|family| self.addresses.iter().any(|address| family_of(*address) == *family))
            .collect()
    }
}

fn families_of(forwardings: &[Forwarding]) -> Vec<Family> {
    forwardings.iter().map(|forwarding| forwarding.family).collect()
}

/// The addresses of these interfaces that are in a network.
fn addresses_in(network: &str, records: &[Record]) -> Vec<IpAddr> {
    records
        .iter()
        .filter(|record| record.network == network)
        .flat_map(|record| record.addresses.clone())
        .collect()
}

/// Tells a person of something that the runtime need not know.
fn warn(text: &str) {
    // Nobody to tell is no reason to fail.
    let _ = writeln!(std::io::stderr(), "portmap: {text}");
}

impl fmt::Debug for Portmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Portmap").field("tools", &self.tools).field("kernel", &self.kernel).finish()
    }
}

#[cfg(test)]
mod tests;
