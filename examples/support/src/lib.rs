//! What plugins share below CNI: namespaces, netlink, sysctl, firewall transactions, locks.
//!
//! | module | decides |
//! | --- | --- |
//! | [`netns`] | which namespace work runs in |
//! | [`netlink`] | links, addresses and routes, over one synchronous request loop |
//! | `testing` | feature `testing`: network namespaces for tests |
//!
//! Nothing here knows a CNI type: arguments and results are the kernel's, and [`Error`] says what was attempted on which
//! link, address or path. A plugin turns it into its own error with `?` and adds what it was doing.

pub mod netlink;
pub mod netns;
#[cfg(feature = "testing")]
pub mod testing;

mod error;
mod mac;

pub use error::{Errno, Error, Result};
pub use mac::Mac;
