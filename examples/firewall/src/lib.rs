//! Lets a container's traffic through the host's firewall, and keeps containers of different bridges apart: a drop-in for
//! Go's plugin of that name.
//!
//! It comes after a plugin that gives the container its addresses. By itself it connects nothing.
//!
//! | key | type | default |
//! | --- | --- | --- |
//! | `backend` | `iptables`, `nftables` or `firewalld` | firewalld if its name has an owner on the system bus, else iptables; nftables if that is not installed and `nft` works |
//! | `iptablesAdminChainName` | text | `CNI-ADMIN`: an administrator's chain, before the plugin's own rules, by iptables or nftables |
//! | `firewalldZone` | text | `trusted` |
//! | `ingressPolicy` | `open`, `same-bridge` or `isolated` | `open` |
//! | `dataDir` | path | `/run/cni/firewall`: records of what ADD did |
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what the configuration means |
//! | `rules` | what there is to be, and what is to go |
//! | `iptables` | what that is in iptables: Go's rules, so that either plugin undoes the other's work |
//! | `nft` | what that is in nftables |
//! | `firewalld` | how the service is asked |
//! | `store` | what is remembered for DEL and GC |
//!
//! # Where it leaves Go's plugin
//!
//! | Go | here |
//! | --- | --- |
//! | DEL without `prevResult` removes nothing. | It goes by the record of ADD. |
//! | DEL ignores all errors. | It tells those that leave rules behind; a program that is not installed is none. |
//! | DEL removes the rules of an address that another container has by now. | They stay. |
//! | Any unknown backend is the default. | Refused, with code 7. |
//! | An unknown `ingressPolicy` is refused when the other rules are made. | Before anything is. A failed ADD leaves nothing. |
//! | CHECK makes missing chains. | It changes nothing. |
//! | CHECK looks at no isolation rules, nor at what firewalld answers. | At both, and at the order of the chains: what lets through must not come before what keeps apart. |
//! | A new rule in FORWARD can come before those that keep containers apart, and the administrator's chain after others. | The order is put right by every ADD. |
//! | Isolation rules stay for ever. | Until the last container goes that asks for them, by its record. They stay on a bridge that there is while others are let through that have no record, such as those of Go's plugin. Of two policies on a bridge, the stricter holds. |
//! | Both programs are needed, whatever the addresses. | That of the family. |
//! | GC does nothing, STATUS is always good. | Both work. Containers that Go's plugin has set up have no record: GC leaves them. |
//! | 10 to 25 programs for an ADD. | Two a family, or two in all by nftables: to read, and to change. Two to choose, if `backend` is not set. One to ask nft about the name of an administrator's chain that is to be made. |
//! | No nftables backend. | One, with a table of its own. Beside firewalld, it keeps containers apart where iptables is not installed. |
//!
//! # nftables
//!
//! The rules are in the table `inet cni_plugins_firewall`. What they drop is dropped: `ingressPolicy` means the same as by
//! iptables. What they accept, another table may drop all the same, by a rule or by the policy of a chain such as the
//! `FORWARD` of a host with Docker; only that table's own rules can lift that. The ADD that makes the chains warns of such
//! policies. So this backend lets containers through
//!
//! - where nobody else drops what is forwarded, which takes no rules at all;
//! - where the chain `forward` of this table has the policy `drop`. It is made with `accept`, and the plugin never changes
//!   it: to forward nothing but containers' traffic, add the table and the chain with that policy when the host starts.
//!
//! An administrator's rules go into the chain `CNI-ADMIN` of the table, before or after the first ADD; that chain is never
//! flushed or deleted. Whoever reloads the whole ruleset by `flush ruleset` removes the rules of all containers: CHECK
//! tells, and an ADD brings back its own container's.

mod config;
mod firewalld;
mod iptables;
mod nft;
mod rules;
mod store;

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, Context, DelRequest, Error, ErrorCode, GcRequest, Plugin,
    Result, ResultExt, StatusRequest,
};
use plugin_attach::owner::network_key;
use plugin_attach::{Owner, warn};
use plugin_support::atomic;
use plugin_support::firewall::probe::Backend as Rules;
use plugin_support::firewall::{SystemTools, Tools};
use plugin_support::kernel::Kernel;
use plugin_support::records::Records;

use self::rules::{Removal, Wanted};
use self::store::{Record, records};

pub use self::config::{Backend, Config, IngressPolicy, Settings};

/// The firewall plugin.
#[derive(CniPlugin)]
#[cni(name = "firewall", about = "lets a container's traffic through the host's firewall")]
#[cni(versions = "0.4.0..=1.1.0", config = Config)]
pub struct Firewall {
    tools: Rc<dyn Tools>,
    kernel: Kernel,
}

impl Default for Firewall {
    /// On this machine.
    fn default() -> Self {
        Self { tools: Rc::new(SystemTools::default()), kernel: Kernel::default() }
    }
}

/// Whether nftables is asked for what its comments tell, where no record does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looking {
    /// No: the record tells everything.
    Not,
    /// Yes, as far as that is possible.
    May,
    /// Yes, as the configuration names that backend.
    Must,
}

#[cni_skel::plugin]
impl Plugin for Firewall {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config())?;
        let Some(prev_result) = req.prev_result() else {
            return Err(Error::new(
                ErrorCode::INVALID_NETWORK_CONFIG,
                "missing prevResult from earlier plugin",
            ));
        };
        let bridge = settings.bridge(prev_result)?;
        let addresses = addresses_of(prev_result);
        if !addresses.is_empty() {
            let backend = settings.backend.unwrap_or_else(|| self.choose());
            let owner = owner(req, req.container_id().as_str(), req.ifname().as_str());
            let Owner { network, container_id, ifname } = owner.clone();
            let zone = settings.zone.clone();
            let ingress_policy = bridge.is_some().then_some(settings.ingress_policy);
            let record =
                Record { network, container_id, ifname, backend, zone, bridge, ingress_policy, addresses };
            self.set_up(&owner, &settings, &record, &records(req.config().data_dir()))?;
        }
        Ok(prev_result.clone())
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        let owner = owner(req, req.container_id().as_str(), req.ifname().as_str());
        let store = records(req.config().data_dir());
        let _lock = store.lock_if_any()?;
        let (mut own, others) = split(store.all()?, |record| record.is_of(&owner));
        let told = req.prev_result().map(addresses_of).unwrap_or_default();
        let mut looking = Looking::Not;
        match own.first_mut() {
            Some(record) => {
                let unknown: Vec<_> = told.into_iter().filter(|ip| !record.addresses.contains(ip)).collect();
                record.addresses.extend(unknown);
            }
            // Rules that another plugin made, or an ADD whose record is lost.
            None => {
                looking = match req.config().backend() {
                    Ok(Some(Backend::Nftables)) => Looking::Must,
                    Ok(Some(_)) => Looking::Not,
                    _ => Looking::May,
                };
                own.extend(self.guessed(&owner, req.config(), &told));
            }
        }
        let key = owner.key();
        let is_own = |found: &str| found == key;
        self.take_down(&own, &others, looking, &is_own)?;
        Ok(store.remove(&owner.container_id, &owner.ifname)?)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        let owner = owner(req, req.container_id().as_str(), req.ifname().as_str());
        let known = records(req.config().data_dir()).all()?;
        // What made the rules, whatever the configuration has come to ask for since.
        let recorded = known.iter().find(|record| record.is_of(&owner)).map(|record| record.backend);
        let backend = recorded.or(settings.backend).unwrap_or_else(|| self.choose());
        let bridge = settings.bridge(req.prev_result())?;
        let addresses = addresses_of(req.prev_result());
        if backend == Backend::Firewalld {
            firewalld::check(&*self.tools, &settings.zone, &addresses)?;
        }
        match self.rules_by(backend, settings.ingress_policy) {
            None => Ok(()),
            Some(Rules::Iptables) => {
                iptables::check(&*self.tools, &wanted(&settings, backend, bridge, addresses))
            }
            Some(Rules::Nftables) => {
                nft::check(&*self.tools, &owner, &wanted(&settings, backend, bridge, addresses))
            }
        }
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = Settings::new(req.config())?;
        let can_work = || -> Result<Backend> {
            let backend = settings.backend.unwrap_or_else(|| self.choose());
            if settings.backend == Some(Backend::Firewalld) && !firewalld::is_running(&*self.tools) {
                return Err(Error::message("firewalld is not on the system bus"));
            }
            match self.rules_by(backend, settings.ingress_policy) {
                None => {}
                Some(Rules::Iptables) => {
                    iptables::works(&*self.tools).map_err(|error| self.probed(&settings, error.into()))?;
                }
                Some(Rules::Nftables) => Rules::Nftables.check(&*self.tools)?,
            }
            atomic::check_writable(req.config().data_dir())?;
            Ok(backend)
        };
        let backend = can_work()
            .context("no container's traffic can be let through")
            .code(ErrorCode::PLUGIN_NOT_AVAILABLE)?;
        if backend == Backend::Nftables {
            nft::check_admin_chain(&*self.tools, &settings.admin_chain)?;
        }
        Ok(())
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let store = records(req.config().data_dir());
        let _lock = store.lock_if_any()?;
        let valid = req.valid_attachments();
        let valid: HashSet<_> = valid.iter().map(|valid| (valid.container_id(), valid.ifname())).collect();
        let is_dead = |record: &Record| {
            record.network == req.network().as_str()
                && !valid.contains(&(record.container_id.as_str(), record.ifname.as_str()))
        };
        let (dead, others) = split(store.all()?, is_dead);
        let of_network = network_key(req.network().as_str());
        let valid: HashSet<_> = req
            .valid_attachments()
            .iter()
            .map(|valid| Owner::of(req.network().as_str(), valid).key())
            .collect();
        let is_orphan = |key: &str| key.starts_with(&of_network) && !valid.contains(key);
        let looking = match req.config().backend() {
            Ok(Some(Backend::Nftables)) => Looking::Must,
            _ => Looking::May,
        };
        self.take_down(&dead, &others, looking, &is_orphan)?;
        Ok(dead.iter().try_for_each(|record| store.remove(&record.container_id, &record.ifname))?)
    }
}

impl Firewall {
    /// A plugin that runs other programs on another kernel, for tests.
    pub fn on(tools: Rc<dyn Tools>, kernel: Kernel) -> Self {
        Self { tools, kernel }
    }

    /// The backend for when none is asked for.
    fn choose(&self) -> Backend {
        if firewalld::is_running(&*self.tools) {
            return Backend::Firewalld;
        }
        match self.choose_rules() {
            Rules::Iptables => Backend::Iptables,
            Rules::Nftables => Backend::Nftables,
        }
    }

    /// Rules of nftables let nothing through that those of iptables drop; so they are for hosts that do not have iptables,
    /// not for those where it fails.
    fn choose_rules(&self) -> Rules {
        let tools = &*self.tools;
        let is_installed = !matches!(iptables::works(tools), Err(plugin_support::Error::ToolMissing { .. }));
        if is_installed || Rules::Nftables.check(tools).is_err() { Rules::Iptables } else { Rules::Nftables }
    }

    /// What was looked for, if nobody has said which program it is to be, and there is none.
    fn probed(&self, settings: &Settings, error: Error) -> Error {
        if settings.backend.is_some() || !is_missing(&error) {
            return error;
        }
        let nft = Rules::Nftables.check(&*self.tools).map_err(|nft| Error::from(nft).to_object().msg);
        let probed = |nft| format!("no usable firewall: nftables: {nft}; iptables");
        nft.err().map(probed).into_iter().fold(error, Error::context)
    }

    /// Who makes the rules. firewalld has its own, and keeps nothing apart.
    fn rules_by(&self, backend: Backend, policy: IngressPolicy) -> Option<Rules> {
        match backend {
            Backend::Firewalld if policy == IngressPolicy::Open => None,
            Backend::Firewalld => Some(self.choose_rules()),
            Backend::Iptables => Some(Rules::Iptables),
            Backend::Nftables => Some(Rules::Nftables),
        }
    }

    /// Lets traffic through, all or nothing.
    fn set_up(
        &self,
        owner: &Owner,
        settings: &Settings,
        record: &Record,
        store: &Records<Record>,
    ) -> Result<()> {
        let _lock = store.lock()?;
        let (old, mut others) = split(store.all()?, |record| record.is_of(owner));
        // Who had an address of this network before has it no more, and must not take this container's rules along.
        let of_network =
            |other: &&mut Record| other.network == record.network && other.backend == record.backend;
        for other in others.iter_mut().filter(of_network) {
            let count = other.addresses.len();
            other.addresses.retain(|address| !record.addresses.contains(address));
            if other.addresses.len() < count {
                store.write(other)?;
            }
        }
        // Set up once before, and otherwise: nobody else would take that down.
        if old.iter().any(|old| old != record) {
            let staying = [others.clone(), vec![record.clone()]].concat();
            self.take_down(&old, &staying, Looking::Not, &|_| false)?;
        }
        store.write(record)?;
        let done = self.make(owner, settings, record);
        if done.is_err() {
            match self.take_down(std::slice::from_ref(record), &others, Looking::Not, &|_| false) {
                Ok(()) => store.remove(&record.container_id, &record.ifname)?,
                // The record stays, for DEL.
                Err(error) => warn(&format!("cannot undo a failed ADD: {}", error.to_object().msg)),
            }
        }
        done
    }

    fn make(&self, owner: &Owner, settings: &Settings, record: &Record) -> Result<()> {
        let (bridge, addresses) = (record.bridge.clone(), record.addresses.clone());
        let wanted = wanted(settings, record.backend, bridge, addresses);
        if record.backend == Backend::Firewalld {
            firewalld::add(&*self.tools, &record.zone, &record.addresses)?;
        }
        match self.rules_by(record.backend, settings.ingress_policy) {
            None => Ok(()),
            Some(Rules::Iptables) => iptables::add(&*self.tools, &wanted)
                .map_err(|error| self.probed(settings, error))
                .context("unable to set up iptables rules"),
            Some(Rules::Nftables) => {
                let is_first =
                    nft::add(&*self.tools, owner, &wanted).context("unable to set up nftables rules")?;
                if is_first {
                    self.warn_of_droppers();
                }
                Ok(())
            }
        }
    }

    /// Tells of policies that a person may not have thought of. That they cannot be looked for is no matter.
    fn warn_of_droppers(&self) {
        for chain in nft::droppers(&*self.tools).unwrap_or_default() {
            warn(&format!(
                "the policy of nftables chain {chain:?} is to drop what is forwarded, which no rule of this plugin \
                 lifts: add rules for containers to its table, or use another backend"
            ));
        }
    }

    /// Removes what records say, except for what other records say as well, and what nftables has of attachments whose key
    /// is doomed. What fails does not stop the rest.
    fn take_down(
        &self,
        records: &[Record],
        others: &[Record],
        looking: Looking,
        is_doomed: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let mut errors = Vec::new();
        for record in records.iter().filter(|record| record.backend == Backend::Firewalld) {
            let free = free_addresses(std::slice::from_ref(record), others, Backend::Firewalld);
            errors.extend(firewalld::remove(&*self.tools, &record.zone, &free).err());
        }
        let is_gone = |bridge: &str| {
            let link = self.kernel.current().and_then(|netns| netns.netlink()?.link(bridge));
            link.is_err_and(|error| error.is_not_found())
        };
        let by_iptables = removal(records, others, Backend::Iptables);
        errors.extend(iptables::remove(&*self.tools, &by_iptables, &is_gone));
        let by_nft = removal(records, others, Backend::Nftables);
        if looking != Looking::Not || !by_nft.is_empty() {
            let keys: HashSet<_> = records.iter().map(Record::key).collect();
            let is_doomed = |key: &str| keys.contains(key) || is_doomed(key);
            match nft::remove(&*self.tools, &by_nft, is_doomed, is_gone) {
                // Nothing says that there are any.
                Err(error) if by_nft.is_empty() && looking != Looking::Must => {
                    if !is_missing(&error) {
                        warn(&format!("cannot look for rules of nftables: {}", error.to_object().msg));
                    }
                }
                removed => errors.extend(removed.err()),
            }
        }
        // A program that is not there cannot remove anything, nor can it ever: that must not keep a container.
        let (missing, errors): (Vec<_>, Vec<_>) = errors.into_iter().partition(is_missing);
        for error in missing {
            warn(&format!("rules, if any, cannot be removed: {}", error.to_object().msg));
        }
        Error::all(errors).map_or(Ok(()), Err)
    }

    /// What there may be of a container that has no record.
    fn guessed(&self, owner: &Owner, config: &Config, addresses: &[IpAddr]) -> Vec<Record> {
        if addresses.is_empty() {
            return Vec::new();
        }
        let backends = match config.backend() {
            Ok(Some(backend)) => vec![backend],
            // It may have begun or ceased to run since.
            _ if firewalld::is_running(&*self.tools) => vec![Backend::Firewalld, Backend::Iptables],
            _ => vec![Backend::Iptables],
        };
        let Owner { network, container_id, ifname } = owner.clone();
        let zone = config.zone().to_owned();
        let addresses = addresses.to_vec();
        let backend = Backend::Iptables;
        let record = Record {
            network,
            container_id,
            ifname,
            backend,
            zone,
            bridge: None,
            ingress_policy: None,
            addresses,
        };
        backends.into_iter().map(|backend| Record { backend, ..record.clone() }).collect()
    }
}

fn owner(context: &Context<Firewall>, container_id: &str, ifname: &str) -> Owner {
    Owner::new(context.network().as_str(), container_id, ifname)
}

/// What iptables or nftables is to have.
fn wanted(settings: &Settings, backend: Backend, bridge: Option<String>, addresses: Vec<IpAddr>) -> Wanted {
    let lets_through = backend != Backend::Firewalld;
    Wanted {
        admin_chain: lets_through.then(|| settings.admin_chain.clone()),
        addresses: if lets_through || bridge.is_some() { addresses } else { Vec::new() },
        isolation: bridge.map(|bridge| (bridge, settings.ingress_policy)),
    }
}

/// All addresses of a result, as Go's plugin takes them, each once.
fn addresses_of(result: &AddResult) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for ip in &result.ips {
        if !addresses.contains(&ip.address.address()) {
            addresses.push(ip.address.address());
        }
    }
    addresses
}

/// What goes with these records, of what a backend made: iptables and nftables keep apart for firewalld as well.
fn removal(records: &[Record], others: &[Record], backend: Backend) -> Removal {
    let by_it = |record: &&Record| [backend, Backend::Firewalld].contains(&record.backend);
    let mut bridges = Vec::new();
    let of_records: BTreeSet<_> =
        records.iter().filter(by_it).filter_map(|record| record.bridge.as_ref()).collect();
    for bridge in of_records {
        for policy in [IngressPolicy::SameBridge, IngressPolicy::Isolated] {
            if !others.iter().filter(by_it).any(|other| other.asks_for(bridge, policy)) {
                bridges.push((bridge.clone(), policy));
            }
        }
    }
    let kept = addresses_in(others, backend).collect();
    Removal { addresses: free_addresses(records, others, backend), kept, bridges }
}

/// The addresses that a backend has let through.
fn addresses_in(records: &[Record], backend: Backend) -> impl Iterator<Item = IpAddr> {
    records.iter().filter(move |record| record.backend == backend).flat_map(|record| record.addresses.clone())
}

/// Those that no other record has. Of two records of an address, one may stand for Go's.
fn free_addresses(records: &[Record], others: &[Record], backend: Backend) -> Vec<IpAddr> {
    let kept: HashSet<_> = addresses_in(others, backend).collect();
    let free: BTreeSet<_> =
        addresses_in(records, backend).filter(|address| !kept.contains(address)).collect();
    free.into_iter().collect()
}

fn split(records: Vec<Record>, is_first: impl Fn(&Record) -> bool) -> (Vec<Record>, Vec<Record>) {
    records.into_iter().partition(is_first)
}

/// Whether the program is not installed, so that it cannot have made anything here.
fn is_missing(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(plugin_support::Error::ToolMissing { .. }))
}

impl fmt::Debug for Firewall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Firewall").field("tools", &self.tools).field("kernel", &self.kernel).finish()
    }
}

#[cfg(test)]
mod tests;
