//! What plugins that make an interface share: from an IPAM plugin's answer to an interface that works, and back.
//!
//! Below CNI is `plugin-support`, which knows links and rules; this crate knows attachments, and what is made for one.
//! A plugin adds which links it makes, and from which keys.
//!
//! | module | decides |
//! | --- | --- |
//! | [`addresses`] | how a link gets addresses and routes, and how duplicates are found |
//! | [`check`] | whether link, addresses and routes are as ADD said |
//! | [`driver`] | whether the kernel has what makes links of a kind |
//! | [`host`] | what the host must let happen: forwarding, and no router advertisements |
//! | [`keys`] | what keys that many plugins have may say |
//! | [`masquerade`] | which rules of the firewall hide addresses behind the host's |
//! | [`master`] | which link the container's is made on |
//! | [`owner`] | what belongs to which attachment |
//! | [`result`] | how a result comes to be |
//! | [`single`] | the whole of a plugin whose interface is one link in the container |
//! | [`teardown`] | what DEL finds and removes |
//! | `testing` | feature `testing`: nodes, made-up and real, and what holds for every such plugin |
//! | [`undo`] | what a failed ADD takes back |
//! | [`veth`] | pairs of links, one end of them on the host |

pub mod addresses;
pub mod check;
pub mod driver;
pub mod host;
pub mod keys;
pub mod masquerade;
pub mod master;
pub mod owner;
pub mod result;
pub mod single;
pub mod teardown;
#[cfg(feature = "testing")]
pub mod testing;
pub mod undo;
pub mod veth;

pub use self::owner::Owner;
pub use self::undo::{Undo, warn};
