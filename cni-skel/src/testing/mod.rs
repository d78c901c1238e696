//! Run a plugin's handlers without root, without a network namespace and without a process.
//!
//! ```
//! use cni_skel::testing::Invocation;
//! # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
//! # #[derive(CniPlugin)]
//! # #[cni(name = "nothing")]
//! # struct Nothing;
//! # impl Plugin for Nothing {
//! #     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
//! #         let mut result = req.result();
//! #         result.add_interface(req.interface());
//! #         Ok(result)
//! #     }
//! #     fn del(&self, _: &DelRequest<Self>) -> Result<()> { Ok(()) }
//! # }
//!
//! let outcome = Invocation::add("c1", "/run/netns/x", "eth0")
//!     .config(serde_json::json!({"cniVersion": "1.0.0", "name": "n", "type": "nothing"}))
//!     .run(&Nothing);
//! outcome.assert_success();
//! assert_eq!(outcome.result().interfaces[0].name, "eth0");
//!
//! let outcome = Invocation::add("c1", "/run/netns/x", "a-name-that-is-too-long").run(&Nothing);
//! outcome.assert_error(4);
//! ```
//!
//! An [`Invocation`] is the whole of what a runtime would give: environment and stdin. The dispatch is the real one,
//! every check included, and reads nothing else, so tests may run side by side.
//!
//! With the feature `conformance`, one line checks a plugin against the whole of the spec: see `conformance`.

#[cfg(feature = "conformance")]
mod conformance;
mod invocation;
mod outcome;

/// A call of a scripted delegate.
pub use cni_invoke::testing::RecordedCall as DelegateCall;
/// What a scripted delegate does.
pub use cni_invoke::testing::Reply as DelegateReply;
#[cfg(feature = "conformance")]
pub use conformance::{Conformance, conformance, conformance_of};
pub use invocation::Invocation;
pub use outcome::Outcome;
