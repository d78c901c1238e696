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
//!
//! Where it leaves Go's on purpose:
//!
//! | Go | here | pinned by |
//! | --- | --- | --- |
//! | ADD, DEL and CHECK read every file of the network | they ask an index beside the directory | `the_directory_is_read_once_and_then_only_after_a_foreign_change` |
//! | the lock is held for each address | for the whole call | `parallel_adds_of_both_share_no_address_and_lose_none` |
//! | a failing ADD gives back whatever the attachment holds | what it reserved itself | `a_failing_add_frees_no_older_address` |
//! | a requested address is given to an attachment that has one | it is refused, as it is without a request | `c59_a_second_add_is_refused_and_told_what_is_held` |
//! | which of several requested addresses of a set is given is chance | the first; the others are refused and the reason told | `c103_requested_addresses_come_with_and_without_prefix_and_by_three_ways` |
//! | a file without content keeps its address for ever | it reserves nothing | `an_empty_file_loses_no_address` |
//! | the gateway of a range may be given out by another range | a gateway is never given out | `a_set_is_used_range_by_range_to_the_end_of_the_address_space` |
//! | DEL removes any file in which the attachment stands | files that are named by an address | `del_frees_what_is_its_own_and_nothing_that_looks_like_it` |
//! | DEL makes the directory, and fails if a range is wrong | it does neither | `del_needs_neither_good_ranges_nor_a_directory` |
//! | CHECK passes if the attachment holds anything | the address that was reported must be held | `check_verifies_the_address_itself` |
//! | DEL does not wait for the disk, so a power cut may bring an address back that nobody will free | it waits | `what_a_power_cut_must_not_undo_is_on_the_disk_first` |
//! | GC does nothing | it frees what no valid attachment holds | `c54_gc_frees_what_no_valid_attachment_holds` |
//! | STATUS succeeds always | 50 when a set is exhausted or the directory cannot be written | `status_says_50_when_a_pool_is_exhausted` |
//! | faults of the configuration have code 999 | code 7; the texts contain Go's | `errors_contain_gos_words` |
//! | IPv6 subnets may hold IPv4-mapped addresses | they are refused: their files would be those of IPv4 | `mapped_addresses_are_ipv4_ones` |

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
#[derive(Debug, Default, CniPlugin)]
#[cni(
    name = "host-local",
    about = "gives out addresses of ranges, reserved in files of this host",
    config = Config,
    runtime = Runtime,
    args = Args,
    errors(ConfigError)
)]
pub struct HostLocal;

#[cni_skel::plugin]
impl Plugin for HostLocal {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let config = req.config();
        let settings = config.settings(req.runtime(), req.version())?;
        let requested = config.requested(req.runtime(), req.args())?;
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
            store.settle()?;
        }
        Ok(())
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let settings = req.config().settings(req.runtime(), req.version())?;
        let owner = Owner::new(req.container_id(), req.ifname());
        let reported: Vec<Addr> =
            req.prev_result().ips.iter().map(|ip| Addr::from(ip.address.address())).collect();
        let mut verdict = check_addresses(&settings.sets, &[], &reported);
        if let Some(mut store) = Store::find(req.config().data_dir()?, req.network())? {
            verdict = check_addresses(&settings.sets, &store.held_by(&owner)?, &reported);
            if verdict.is_err() {
                // Not an error because of a file that someone has written into, which the index does not notice.
                store.rebuild()?;
                verdict = check_addresses(&settings.sets, &store.held_by(&owner)?, &reported);
            }
        }
        verdict.map_err(|reason| Error::message(format!("{NOT_FOUND} {}: {reason}", owner.container_id())))
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let Some(mut store) = Store::find(req.config().data_dir()?, req.network())? else { return Ok(()) };
        let attachments = req.valid_attachments().iter();
        let valid = ValidOwners::new(attachments.map(|valid| (valid.container_id(), valid.ifname())));
        match store.collect_garbage(&valid) {
            Ok(_) => Ok(store.settle()?),
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
