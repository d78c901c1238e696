//! What the derives' expansions call. Not public API: it changes with the derives, whose version is pinned.
//!
//! Functions rather than code in the expansion, so that a missing bound is told in one sentence on the author's type.

use std::error::Error;

pub use serde::de::DeserializeOwned;

pub use crate::schema::{Json, Schema};

use crate::error::CodedError;
use crate::types::DecodeError;
use crate::types::config::capability::Values;

/// The error as one that knows its code, if it is of this type.
pub fn coded<'e, T: CodedError + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn CodedError> {
    error.downcast_ref::<T>().map(|error| error as &dyn CodedError)
}

/// The value of a capability, or what the field holds when the runtime gave none.
///
/// # Errors
///
/// When the value is not of the type.
pub fn capability<T: DeserializeOwned + WhenAbsent>(values: &Values, name: &str) -> Result<T, DecodeError> {
    Ok(values.decode(name)?.unwrap_or_else(T::when_absent))
}

/// What a field holds when the runtime says nothing of it: the type's default.
///
/// A trait of its own for its message alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value for when the runtime gives none",
    note = "use `Option<{Self}>`, or implement `Default` for `{Self}`"
)]
pub trait WhenAbsent {
    /// The value.
    fn when_absent() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> WhenAbsent for T {
    fn when_absent() -> Self {
        Self::default()
    }
}
