//! Typed `runtimeConfig`: which capabilities a plugin takes.

use crate::types::DecodeError;
use crate::types::config::capability::Values;

/// What the runtime may pass per container: each field is a capability. Derive it; see the
/// [`RuntimeConfig`](macro@crate::RuntimeConfig) derive.
///
/// `()` takes nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which capabilities it takes",
    note = "add `#[derive(cni_skel::RuntimeConfig)]` to `{Self}`"
)]
pub trait RuntimeConfig: Sized {
    /// The capabilities, as configurations name them.
    const CAPABILITIES: &'static [&'static str];

    /// Reads the values that the runtime gave.
    ///
    /// # Errors
    ///
    /// When a value is not of its field's type, with the path. Code 7.
    fn from_values(values: &Values) -> Result<Self, DecodeError>;
}

impl RuntimeConfig for () {
    const CAPABILITIES: &'static [&'static str] = &[];

    fn from_values(_: &Values) -> Result<Self, DecodeError> {
        Ok(())
    }
}
