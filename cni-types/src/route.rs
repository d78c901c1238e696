//! One route of a result or an IPAM configuration.

use std::net::IpAddr;

use crate::Cidr;
use crate::wire::{Count, ExtraKeys, OptAddress, OptUint, Required, wire_object};

/// A route in the container.
///
/// `mtu`, `advmss`, `priority`, `table` and `scope` are of 1.1.0. They are read and printed in 0.3.0 and later, as
/// deployed peers do, and dropped for 0.1.0 and 0.2.0 when a result is converted.
///
/// ```
/// use cni_types::Route;
/// let default = Route::new("0.0.0.0/0".parse()?).via("10.1.0.1".parse()?);
/// assert_eq!(serde_json::to_string(&default)?, r#"{"dst":"0.0.0.0/0","gw":"10.1.0.1"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The destination.
    pub dst: Cidr,
    /// The next hop. Absent: the plugin's default for the address family, if it has one.
    pub gw: Option<IpAddr>,
    /// The largest packet along this route, in bytes. 0 reads as absent.
    pub mtu: Option<u64>,
    /// The maximal segment size to advertise, in bytes. 0 reads as absent.
    pub advmss: Option<u64>,
    /// The priority: lower goes first. 0 reads as absent.
    pub priority: Option<u64>,
    /// The routing table. 0 is kept apart from absent.
    pub table: Option<u64>,
    /// The scope of the destination, by the kernel's numbers: 0 global, 253 link, 254 host. 0 is kept apart from absent.
    pub scope: Option<u64>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Route {
        "dst" => dst: Required<Cidr>,
        "gw" => gw: OptAddress,
        "mtu" => mtu: Count,
        "advmss" => advmss: Count,
        "priority" => priority: Count,
        "table" => table: OptUint,
        "scope" => scope: OptUint,
    }
}

impl Route {
    /// A route to a destination, with nothing else set.
    pub fn new(dst: Cidr) -> Self {
        Self {
            dst,
            gw: None,
            mtu: None,
            advmss: None,
            priority: None,
            table: None,
            scope: None,
            extra: ExtraKeys::default(),
        }
    }

    /// The same route by this next hop.
    #[must_use]
    pub fn via(mut self, gw: IpAddr) -> Self {
        self.gw = Some(gw);
        self
    }
}
