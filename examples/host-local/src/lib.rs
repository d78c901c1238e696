//! Gives out addresses of ranges, reserved in files of this host: a drop-in for Go's plugin of that name.
//!
//! | module | decides |
//! | --- | --- |
//! | [`addr`] | what an address is |
//! | [`allocator`] | which addresses an attachment gets |
//! | [`config`] | what the configuration means |
//! | [`range`] | which addresses there are |
//! | [`reservation`] | what stands in a reservation |
//! | [`resolv`] | what of `resolv.conf` goes into a result |
//! | [`store`] | how reservations are kept and found |

pub mod addr;
pub mod allocator;
pub mod config;
pub mod range;
pub mod reservation;
pub mod resolv;
pub mod store;

mod status;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, Cidr, CniPlugin, DelRequest, Error, ErrorCode, GcRequest, IpConfig,
    Plugin, Result, StatusRequest,
};

use self::addr::Addr;
use self::allocator::{Lease, Occupancy as _, allocate};
use self::config::{Args, Config, ConfigError, Runtime};
use self::range::RangeSet;
use self::reservation::{Owner, ValidOwners};
use self::store::Store;

/// The host-local plugin.
#[derive(Debug, CniPlugin)]
#[cni(
    name = "host-local",
    about = "gives out addresses of ranges, reserved in files of this host",
    config = Config,
    runtime = Runtime,
    args = Args,
    errors(ConfigError)
)]
pub struct HostLocal;

impl Plugin for HostLocal {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let config = req.config();
        let settings = config.settings(req.runtime(), req.version())?;
        let requested = config.requested(req.runtime(), req.args());
        let mut result = AddResult::default();
        if let Some(path) = &settings.resolv_conf {
            result.dns = resolv::read(path)?;
        }
        let owner = Owner::new(req.container_id(), req.ifname());
        let mut store = Store::open(config.data_dir()?, req.network())?;
        let leases = allocate(&mut store, &settings.sets, &requested, &owner)?;
        result.ips = leases.iter().map(ip_config).collect::<Result<_>>()?;
        result.routes = settings.routes;
        Ok(result)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        if let Some(mut store) = Store::find(req.config().data_dir()?, req.network())? {
            store.release(&Owner::new(req.container_id(), req.ifname()))?;
        }
        Ok(())
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = req.config().settings(req.runtime(), req.version())?;
        let owner = Owner::new(req.container_id(), req.ifname());
        let mut store = Store::find(req.config().data_dir()?, req.network())?;
        let held = store.as_mut().map(|store| store.held_by(&owner)).transpose()?.unwrap_or_default();
        let reported: Vec<Addr> =
            req.prev_result().ips.iter().map(|ip| Addr::from(ip.address.address())).collect();
        check_addresses(&settings.sets, &held, &reported)
            .map_err(|reason| Error::message(format!("{NOT_FOUND} {}: {reason}", owner.container_id())))
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let Some(mut store) = Store::find(req.config().data_dir()?, req.network())? else { return Ok(()) };
        let attachments = req.valid_attachments().iter();
        let valid =
            ValidOwners::new(attachments.map(|valid| (valid.container_id.as_str(), valid.ifname.as_str())));
        match store.collect_garbage(&valid) {
            Ok(_) => Ok(()),
            Err(errors) => Err(Error::all(errors.into_iter().map(Error::from))
                .unwrap_or_else(|| Error::message("removing stale reservations failed"))),
        }
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let settings = req.config().settings(req.runtime(), req.version())?;
        let unavailable = |error: Error| error.with_code(ErrorCode::PLUGIN_NOT_AVAILABLE);
        if let Some(path) = &settings.resolv_conf {
            resolv::read(path).map_err(|error| unavailable(error.into()))?;
        }
        status::check(req.config().data_dir()?, req.network(), &settings.sets).map_err(unavailable)
    }
}

/// What a failing CHECK starts with, in Go's words.
const NOT_FOUND: &str = "host-local: Failed to find address added by container";

/// The lease as a result tells it: the address with the prefix of its subnet, and the gateway.
fn ip_config(lease: &Lease<'_>) -> Result<IpConfig> {
    let address = Cidr::new(lease.address.ip(), lease.range.subnet().prefix())?;
    Ok(IpConfig::new(address).with_gateway(lease.range.gateway().ip()))
}

/// Compares what is reserved for an attachment with what was reported to have been given to it.
fn check_addresses(sets: &[RangeSet], held: &[Addr], reported: &[Addr]) -> std::result::Result<(), String> {
    for (at, set) in sets.iter().enumerate() {
        let of_set = |address: &&Addr| set.range_of(**address).is_some();
        let Some(first) = held.iter().find(of_set) else {
            return Err(format!("nothing of range set {at} ({set}) is reserved"));
        };
        if !held.iter().filter(of_set).any(|address| reported.contains(address)) {
            return Err(format!("{first} is reserved but prevResult does not have it"));
        }
        // A main plugin may report the gateway, which it has put on its bridge.
        let is_gateway =
            |address: &Addr| set.range_of(*address).is_some_and(|range| range.gateway() == *address);
        let lost =
            reported.iter().filter(of_set).find(|address| !held.contains(address) && !is_gateway(address));
        if let Some(lost) = lost {
            return Err(format!("prevResult has {lost}, which is not reserved"));
        }
    }
    Ok(())
}
