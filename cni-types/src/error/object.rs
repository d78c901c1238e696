//! The object that a plugin prints when it fails.

use std::fmt;

use crate::error::{DecodeError, ErrorCode};
use crate::wire::{self, ExtraKeys, wire_object};

/// What a failed plugin prints on stdout: `{"cniVersion": …, "code": …, "msg": …, "details": …}`.
///
/// ```
/// use cni_types::{ErrorCode, ErrorObject};
///
/// let error = ErrorObject::new(ErrorCode::TRY_AGAIN, "the pool is being refilled").with_details("net \"a\"");
/// assert!(error.is_try_again());
/// let read = ErrorObject::decode(br#"{"cniVersion":"1.0.0","code":11,"msg":"later"}"#)?;
/// assert!(read.is_try_again());
/// # Ok::<(), cni_types::DecodeError>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#error).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorObject {
    /// The version of the configuration, as text: an error must not fail for the version it reports.
    pub cni_version: Option<String>,
    /// The code; see [`ErrorObject::code`].
    code: u64,
    /// A short message.
    pub msg: String,
    /// A longer message; empty means none.
    pub details: String,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

impl ErrorObject {
    /// An error with a code and a short message.
    pub fn new(code: ErrorCode, msg: impl Into<String>) -> Self {
        Self { code: code.value(), msg: msg.into(), ..Self::default() }
    }

    /// Adds the longer message.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// Adds the version that the error is reported in.
    #[must_use]
    pub fn with_version(mut self, version: impl fmt::Display) -> Self {
        self.cni_version = Some(version.to_string());
        self
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::new(self.code)
    }

    /// Replaces the code.
    pub fn set_code(&mut self, code: ErrorCode) {
        self.code = code.value();
    }

    /// Reads an error object as another plugin printed it.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object, or a key has a wrong type.
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        wire::decode("error object", json)
    }

    /// The JSON text as plugins print it: indented by four spaces, without a final newline.
    pub fn to_json(&self) -> String {
        wire::to_pretty_json(self)
    }

    /// Whether the condition is transient, so that the runtime should try again later (code 11).
    pub fn is_try_again(&self) -> bool {
        self.code() == ErrorCode::TRY_AGAIN
    }

    /// Whether the container is unknown, so that no DEL is needed (code 3).
    #[doc(alias = "unknown container")]
    pub fn needs_no_cleanup(&self) -> bool {
        self.code() == ErrorCode::UNKNOWN_CONTAINER
    }

    /// Whether the versions do not match (code 1).
    pub fn is_incompatible_version(&self) -> bool {
        self.code() == ErrorCode::INCOMPATIBLE_CNI_VERSION
    }

    /// Whether STATUS said that ADD cannot be served (codes 50 and 51).
    pub fn is_not_available(&self) -> bool {
        matches!(self.code(), ErrorCode::PLUGIN_NOT_AVAILABLE | ErrorCode::LIMITED_CONNECTIVITY)
    }
}

wire_object! {
    ErrorObject {
        "cniVersion" => cni_version: wire::OptText,
        "code" => code: wire::Uint64,
        "msg" => msg: wire::Text,
        "details" => details: wire::TextIfAny,
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.msg.as_str(), self.details.as_str()) {
            ("", "") => f.write_str("no message")?,
            (msg, "") => f.write_str(msg)?,
            ("", details) => f.write_str(details)?,
            (msg, details) => write!(f, "{msg}: {details}")?,
        }
        write!(f, " (code {})", self.code)
    }
}

impl std::error::Error for ErrorObject {}
