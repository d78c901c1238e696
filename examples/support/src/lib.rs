//! What plugins share below CNI: namespaces, netlink, sysctl, firewall transactions, locks, records.
//!
//! | module | decides |
//! | --- | --- |
//! | [`atomic`] | how a file comes to be as a whole |
//! | [`bounded`] | how much of a file is read |
//! | [`conntrack`] | which tracked connections to forget |
//! | [`firewall`] | how `iptables` and `nft` are run, one transaction a call |
//! | [`kernel`] | where namespaces come from: the seam for tests without root |
//! | [`lock`] | who may touch a store |
//! | [`netlink`] | links, addresses and routes, over one synchronous request loop |
//! | [`netns`] | which namespace work runs in |
//! | [`records`] | how a plugin remembers what it did for an attachment |
//! | [`state_dir`] | which directories state may be kept in |
//! | [`sysctl`] | which file of `/proc/sys` a key means |
//! | `testing` | feature `testing`: what tests of plugins need: namespaces, a made-up kernel, scripted programs |
//!
//! Nothing here knows a CNI type: arguments and results are the kernel's, and [`Error`] says what was attempted on which
//! link, address or path. A plugin turns it into its own error with `?` and adds what it was doing.

pub mod atomic;
pub mod bounded;
pub mod conntrack;
pub mod firewall;
pub mod kernel;
pub mod lock;
pub mod netlink;
pub mod netns;
pub mod records;
pub mod state_dir;
pub mod sysctl;
#[cfg(feature = "testing")]
pub mod testing;

mod error;
mod mac;

pub use error::{Errno, Error, Result};
pub use mac::Mac;
