//! Results of ADD: one type that authors build, the layouts that older versions had, and a result with its version.
//!
//! Three layouts exist: `ip4`/`ip6` (0.1.0, 0.2.0), `ips` with `version` (0.3.0 to 0.4.0), and that of 1.0.0 and
//! 1.1.0, which is [`AddResult`]. 1.1.0 only added keys, and deployed peers read and print them in 1.0.0 too, so those
//! two share one type.
//!
//! See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#add-success).

mod add;
mod convert;
mod ipam;
mod problem;
pub mod v020;
pub mod v040;
mod versioned;

pub use add::{AddResult, Interface, IpConfig};
pub use convert::ConversionError;
pub use ipam::IpamResult;
pub use problem::Problem;
pub use versioned::VersionedResult;
